/* Closing a slot against everything that may still want it: its carrier that
 * parks, spares, a handler that waited and wants it back. The slot is closed
 * once, and every goroutine leaves.
 *
 * Models Executor.retire, slot.close, slot.release (close.go, await.go),
 * carrier.idle, carrier.wait (carrier.go), slot.give, carrier.retake (await.go).
 *
 *	retire:  closing = true, CAS(parked -> seating), else poke
 *	carrier: state = parked (or vacant), looks at closing
 *	close:   state = closed, empties resume
 *	retake:  pushes to resume, pokes, looks whether it is closed
 *
 * BUG_NO_LOOK    the carrier does not look at closing after it parked
 * BUG_VACANT     the giver does not look at closing after it left a vacancy
 * BUG_LATE       retake does not look whether the slot was closed
 * BUG_RELEASE    close empties resume before it stores the state
 * BUG_NO_POKE    retire does not poke a slot that is not parked
 */
#include "slot.h"

#define WAITERS 2		/* handlers that are away and come back some time */

bool closing;
bool shut;			/* spare is closed */
byte closes;
byte spares;
byte carriers;			/* goroutines that have not left */
byte stuck;			/* of those, handlers that never return */
chan resume = [WAITERS] of { chan };
chan spare = [1] of { bit };

inline seat()
{
	own(true);
	if
	:: spares > 0 -> spares--; spare!1
	:: else -> carriers++; run carrier(0)
	fi
}

inline release()
{
	do
	:: resume?other -> other!1
	:: len(resume) == 0 -> break
	od
}

inline close()
{
	own(true);
	closes++;
	assert(closes == 1);
	spares = 0;
	shut = true;
#ifdef BUG_RELEASE
	release();
	leave(CLOSED)
#else
	leave(CLOSED);
	release()
#endif
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

proctype carrier(byte handlers)	/* has so many messages whose handlers wait */
{
	bit ok;
	chan back = [1] of { bit };
	chan other;
sit:
	own(true);
	state = HELD;
loop:
	own(true);
	if
	:: len(resume) > 0 ->
		resume?other;
		spares++;
		other!1;
		goto wait
	:: len(resume) == 0 && handlers > 0 ->
		handlers--;		/* a handler awaits */
		if
		:: handlers > 0 ->	/* there is work for another carrier */
			carriers++;
			run carrier(handlers);
			handlers = 0
		:: else ->
			leave(VACANT);
			if
#ifdef BUG_VACANT
			:: len(resume) > 0 ->
#else
			:: closing || len(resume) > 0 ->
#endif
				take(VACANT, SEATING, ok);
				if
				:: ok -> seat()
				:: else
				fi
			:: else
			fi
		fi;
		if
		:: skip
		:: stuck++; false	/* it never returns */
		fi;
		take(VACANT, HELD, ok);	/* retake */
		if
		:: ok -> goto loop
		:: else
		fi;
		resume!back;
		poke(ok);
#ifndef BUG_LATE
		if
		:: state == CLOSED -> release()
		:: else
		fi;
#endif
		back?1;
		if
		:: state == CLOSED -> goto end	/* an orphan */
		:: else -> goto loop
		fi
	:: len(resume) == 0 && handlers == 0
	fi;
	/* idle */
	if
	:: closing && len(resume) == 0 -> close(); goto end
	:: else
	fi;
	spares++;
	leave(PARKED);
	if
#ifdef BUG_NO_LOOK
	:: len(resume) > 0 ->
#else
	:: closing || len(resume) > 0 ->
#endif
		take(PARKED, HELD, ok);
		if
		:: ok -> spares--; goto loop
		:: else
		fi
	:: else
	fi;
wait:
	if
	:: spare?1 -> goto sit
	:: shut && len(spare) == 0
	fi;
end:
	carriers--
}

active proctype retire()
{
	bit ok;
	chan other;
	closing = true;
	take(PARKED, SEATING, ok);
	if
	:: ok -> close()
	:: else
#ifndef BUG_NO_POKE
		-> poke(ok)
#endif
	fi
}

init {
	bit ok;
	take(PARKED, SEATING, ok);
	if
	:: ok -> carriers++; run carrier(WAITERS)
	:: else			/* closed before there was any work */
	fi;
	timeout;
	assert(closes == 1 && carriers == stuck && owners == 0)
}
