/* A handler waits, its slot stays vacant: the handler may take it back with one
 * CAS, or whoever brings work seats a carrier, and then the handler queues.
 *
 * Models slot.give, carrier.retake (await.go), slot.pollResume, slot.poke
 * (slot.go), carrier.yieldTo, carrier.idle (carrier.go). Each message's handler
 * calls Await once, and what the first one waits for is another message.
 *
 *	giver:   state = vacant, looks at what others brought, CAS(vacant -> seating)
 *	bringer: brings, looks at state, CAS(vacant -> seating)
 *	handler: CAS(vacant -> held), else into resume and poke
 *
 * BUG_NO_LOOK  the giver does not look again
 * BUG_NO_CAS   the handler stores that the slot is held
 * BUG_NO_POKE  the handler queues and wakes nobody
 * BUG_KEEP     the carrier that gave the slot to a handler goes on with it
 */
#include "slot.h"

#define MESSAGES 2
#define KEEP     1		/* carriers that stay: keepSpares */

byte pub, head, done;
bool first = true;		/* no handler has waited yet */
byte queue;			/* messages in the run queue */
byte spares;
chan spare = [1] of { bit };
chan resume = [MESSAGES] of { chan };	/* slot.resume, then tickets in the run queue */

inline seat()
{
	own(true);
	if
	:: spares > 0 -> spares--; assert(len(spare) == 0); spare!1
	:: else -> run carrier()
	fi
}

inline poke(ok)
{
	if
	:: state == PARKED -> take(PARKED, SEATING, ok)
	:: state == VACANT -> take(VACANT, SEATING, ok)
	:: else -> ok = false
	fi;
	if
	:: ok -> seat()
	:: else
	fi
}

inline poll() { d_step { own(true); queue = queue + (pub - head); head = pub } }

proctype carrier()
{
	byte seen;
	bit ok;
	chan back = [1] of { bit };	/* carrier.back */
	chan other;
sit:
	own(true);
	state = HELD;
loop:
	poll();
	if
	:: len(resume) > 0 ->		/* a ticket's turn: yieldTo */
		resume?other;
		ok = (spares < KEEP);
		if
		:: ok -> spares++
		:: else
		fi;
#ifdef BUG_KEEP
		d_step { other!1; owners++ }
		goto loop
#else
		other!1;		/* the slot goes with it */
		if
		:: ok -> goto wait
		:: else -> goto end
		fi
#endif
	:: queue > 0 ->
		queue--;		/* the handler runs, and awaits: give */
		poll();
		if
		:: queue > 0 || len(resume) > 0 -> seat()
		:: else ->
			seen = head;
			leave(VACANT);
#ifndef BUG_NO_LOOK
			if
			:: pub != seen || len(resume) > 0 ->
				take(VACANT, SEATING, ok);
				if
				:: ok -> seat()
				:: else
				fi
			:: else
			fi
#endif
		fi;
		/* f runs; the first one's needs another message */
		if
		:: atomic { first -> first = false } done > 0
		:: !first
		fi;
#ifdef BUG_NO_CAS
		ok = (state == VACANT);
		if
		:: ok -> d_step { state = HELD; owners++; assert(owners == 1) }
		:: else
		fi;
#else
		take(VACANT, HELD, ok);
#endif
		if
		:: ok
		:: else ->
			resume!back;
#ifndef BUG_NO_POKE
			poke(ok);
#endif
			back?1;
			own(true)
		fi;
		done++;
		goto loop
	:: else ->
		spares++;
		seen = head;
		leave(PARKED);
		if
		:: pub != seen || len(resume) > 0 ->
			take(PARKED, HELD, ok);
			if
			:: ok -> spares--; goto loop
			:: else
			fi
		:: else
		fi
	fi;
wait:
	spare?1;
	goto sit;
end:
	skip
}

active proctype sender()
{
	bit ok;
	do
	:: pub == MESSAGES -> break
	:: else -> pub++; poke(ok)
	od
}

init {
	timeout;
	assert(pub == MESSAGES && done == MESSAGES && owners == 0)
}
