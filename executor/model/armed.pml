/* A slot stops watching a port against a sender that counts on it. The port
 * must be watched again, and it must be in one list only.
 *
 * Models slot.disarm (carrier.go), port.notify, port.arm (port.go), slot.poll
 * (slot.go), with watchIdle = 0: every port is disarmed before parking. The
 * senders publish under the lane's lock and notify outside of it.
 *
 *	disarm: armed = 0, looks at pub         notify: stores pub, looks at armed
 *
 * BUG_NO_LOOK  disarm does not look at pub again
 * BUG_NO_CAS   disarm arms the port again without a CAS
 * BUG_NO_POKE  arm puts the port into the list and wakes nobody
 */
#include "slot.h"

#define SENDERS  2
#define MESSAGES 2

byte pub, head;
bit armed;
byte inq;			/* the port's places in slot.inq */
byte watched;			/* and in slot.active */
bool token;			/* in slot.spare */

active proctype carrier()
{
	bit ok;
wait:
	token -> token = false;
	state = HELD;
loop:
	own(true);
	d_step { watched = watched + inq; inq = 0; assert(watched <= 1) }	/* poll: Swap */
	do
	:: watched > 0 && head < pub -> head++
	:: else -> break
	od;
	if
	:: watched > 0 ->
		armed = 0;
#ifdef BUG_NO_LOOK
		watched = 0
#else
		if
		:: pub != head ->
#ifdef BUG_NO_CAS
			ok = true; armed = 1;
#else
			d_step { ok = (armed == 0); armed = 1 };
#endif
			if
			:: ok -> goto loop	/* still watched */
			:: else -> watched = 0	/* a sender has put it into inq */
			fi
		:: else -> watched = 0
		fi
#endif
	:: else
	fi;
	leave(PARKED);
	if
	:: inq > 0 ->
		take(PARKED, HELD, ok);
		if
		:: ok -> goto loop
		:: else
		fi
	:: else
	fi;
	goto wait
}

proctype sender()
{
	byte sent;
	bit ok;
	do
	:: sent == MESSAGES -> break
	:: else ->
		sent++;
		pub++;
		if
		:: armed == 0 ->
			d_step { ok = (armed == 0); armed = 1 };
			if
			:: ok ->
				d_step { inq++; assert(inq == 1) }	/* CAS loop of arm */
#ifndef BUG_NO_POKE
				goto poke
#endif
			:: else
			fi
		:: else ->
poke:			take(PARKED, SEATING, ok);
			if
			:: ok -> assert(!token); token = true
			:: else
			fi
		fi
	od
}

init {
	byte i;
	atomic { for (i : 1 .. SENDERS) { run sender() } }
	timeout;
	assert(pub == SENDERS * MESSAGES && head == pub)
}
