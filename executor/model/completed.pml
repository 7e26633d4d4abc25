/* A message is completed from anywhere, perhaps before its handler returned,
 * perhaps twice, perhaps while the slot was taken from the handler's carrier:
 * its mailbox goes on exactly once.
 *
 * Models Later, Completion.Complete, pend.over, slot.hold, slot.await,
 * slot.unpend (completion.go), slot.pollDone (slot.go), carrier.suspend for a
 * handler that changes its mind (turn.go).
 *
 *	completer: CAS(gate), writes out, pushes the pend to done, pokes
 *	owner:     empties done: if the mailbox waits it goes on, else a note
 *	handler's: comes back with the slot: if there is a note it goes on
 *
 * BUG_NO_NOTE   the owner forgets a pend that does not wait yet
 * BUG_NO_GATE   Complete asks nobody
 * BUG_LATE_OUT  the outcome is written after the pend was pushed
 * BUG_NO_MIND   the handler that changed its mind does not close the gate
 */
#include "slot.h"

#define COMPLETERS 2

byte gate;			/* pend.gate: odd while a Completion counts */
byte out;			/* pend.out */
byte inDone;			/* the pend's places in slot.done */
bool waiting, arrived, ready;	/* the slot's */
bool away;			/* the handler's carrier has lost the slot */
bool wants;			/* and wants it back: slot.resume */
bool given;			/* carrier.back */
byte went;			/* how often the mailbox went on */

inline complete(who)
{
	bit won;
#ifdef BUG_NO_GATE
	won = (gate & 1);
#else
	d_step { won = (gate == 1); if :: won -> gate = 2 :: else fi }
#endif
	if
	:: won ->
#ifdef BUG_LATE_OUT
		d_step { inDone++; assert(inDone == 1) }
		out = who;
#else
		out = who;
		d_step { inDone++; assert(inDone == 1) }
#endif
		poke()
	:: else
	fi
}

inline poke()
{
	bit sat;
	take(PARKED, SEATING, sat);
	if
	:: sat -> run owner()
	:: else
	fi
}

/* what the handler returned: its own completion, or a changed mind */
inline hold()
{
	own(true);
	if
	:: arrived -> arrived = false; ready = true
	:: else -> waiting = true
	fi
}

/* a carrier that owns the slot, without a turn */
proctype owner()
{
	byte taken;
	bit ok;
	state = HELD;
loop:
	own(true);
	d_step { taken = inDone; inDone = 0 }	/* Swap */
	if
	:: taken && waiting -> waiting = false; ready = true
#ifdef BUG_NO_NOTE
	:: taken && !waiting
#else
	:: taken && !waiting -> assert(!arrived); arrived = true
#endif
	:: else
	fi;
	if
	:: ready -> ready = false; went++; assert(out != 0); out = 0
	:: else
	fi;
	if
	:: wants -> wants = false; given = true; goto end	/* yieldTo */
	:: else
	fi;
	if
	:: inDone -> goto loop
	:: else
	fi;
	leave(PARKED);
	if
	:: inDone || wants ->
		take(PARKED, HELD, ok);
		if
		:: ok -> goto loop
		:: else
		fi
	:: else
	fi;
end:
	skip
}

/* the carrier whose handler calls Later */
active proctype handler()
{
	bit ok, mine;
	take(PARKED, HELD, ok);
	gate = 1;			/* Later */
	if
	:: state = SEATING; run owner(); away = true	/* the monitor takes the slot */
	:: skip
	fi;
	/* the handler returns: regain */
	if
	:: away ->
		wants = true;
		poke();
		given -> own(true)
	:: else
	fi;
	if
	:: hold()				/* with Later's outcome */
	:: 
#ifdef BUG_NO_MIND
		mine = true;
#else
		d_step { mine = (gate == 1); if :: mine -> gate = 2 :: else fi }
#endif
		if
		:: mine -> went++		/* with another: Done */
		:: else -> hold()		/* too late: the completion counts */
		fi
	fi;
	state = SEATING;			/* goes on with the slot's work */
	run owner()
}

proctype completer(byte id)
{
	gate > 0;
	complete(id)
}

init {
	byte i;
	atomic { for (i : 1 .. COMPLETERS) { run completer(i) } }
	timeout;
	assert(went == 1 && owners == 0);
	assert(!waiting && !arrived && !ready)	/* nothing for the next message to stumble over */
}
