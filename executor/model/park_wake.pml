/* Parking a slot against waking it: a message must not be left behind, and the
 * slot must not get two carriers.
 *
 * Models slot.poke, slot.seat (slot.go), carrier.idle, carrier.wait, view
 * (carrier.go) and port.notify (port.go), with a port that stays armed.
 *
 *	notify: stores pub, looks at state      idle: state = parked, looks at pub
 *
 * BUG_NO_LOOK    the leaver does not look at pub again
 * BUG_LOOK_FIRST the leaver looks before it stores the state
 * BUG_NO_CAS     poke stores the state it wants
 */
#include "slot.h"

#define SENDERS  2
#define MESSAGES 2

byte pub;			/* port.pub */
byte head;			/* port.head */
byte spares;			/* slot.spares */
chan spare = [1] of { bit };	/* slot.spare */

proctype carrier()
{
	byte seen;
	bit ok;
sit:
	own(true);
	state = HELD;
loop:
	do
	:: head < pub -> own(true); head++
	:: else -> break
	od;
	own(true);
	spares++;
	seen = head;
#ifdef BUG_LOOK_FIRST
	ok = (pub != seen);
	leave(PARKED);
	if
	:: ok -> take(PARKED, HELD, ok)
	:: else
	fi;
#else
	leave(PARKED);
	ok = false;
#ifndef BUG_NO_LOOK
	if
	:: pub != seen -> take(PARKED, HELD, ok)
	:: else
	fi;
#endif
#endif
	if
	:: ok -> spares--; goto loop
	:: else
	fi;
	spare?1;
	goto sit
}

proctype sender()
{
	byte sent, st;
	bit ok;
	do
	:: sent == MESSAGES -> break
	:: else ->
		sent++;
		pub++;			/* under the lane's lock */
		st = state;
		if
		:: st == PARKED ->
#ifdef BUG_NO_CAS
			ok = true;
			d_step { state = SEATING; owners++; assert(owners == 1) }
#else
			take(PARKED, SEATING, ok)
#endif
			;
			if
			:: ok && spares > 0 ->
				spares--;
				assert(nfull(spare));	/* the send never blocks */
				spare!1
			:: ok && spares == 0 -> run carrier()
			:: !ok
			fi
		:: else
		fi
	od
}

init {
	byte i;
	atomic { for (i : 1 .. SENDERS) { run sender() } }
	timeout;
	assert(pub == SENDERS * MESSAGES && head == pub)
}
