/* The monitor takes the slot from a handler that blocks, the handler returns,
 * an Await of it gives the slot away: three that want to end a turn, and the
 * epoch lets one of them. The loser returns in line.
 *
 * Models carrier.enter, carrier.reclaim, carrier.regain, turn.leave,
 * turn.rejoin (turn.go, await.go), Executor.monitor, slot.rescue (stall.go).
 * What happens to a vacant slot is in vacant.pml: here a slot that was given
 * away goes to another carrier at once.
 *
 *	return:  CAS(epoch: own -> own + 1), else queue for the slot
 *	monitor: sees an odd epoch twice, CAS(epoch: seen -> seen + 1)
 *	Await:   CAS(epoch: own -> own + 1)
 *
 * BUG_ABA       the returning carrier compares with the slot's epoch, not its own
 * BUG_NO_CAS    the monitor stores the epoch
 * BUG_NOT_OWN   who lost goes on as if it had won
 * BUG_NO_PARITY the monitor does not ask whether a turn is on
 */
#include "slot.h"

#define MESSAGES 2		/* of different mailboxes, both queued */
#define RESCUES  2
#define AWAITS   1

byte queue = MESSAGES;
byte done;
byte epoch;			/* slot.epoch */
bool handing;			/* the slot is on its way to a carrier */
byte rescues, awaits;
chan resume = [MESSAGES] of { chan };

inline cas(old, ok)
{
	d_step { ok = (epoch == old); if :: ok -> epoch = old + 1; own(true) :: else fi }
}

proctype carrier()
{
	byte mine;		/* turn.epoch, or turn.now once it was moved */
	bit ok;
	chan back = [1] of { bit };
	chan other;
	own(state == SEATING);
	state = HELD;
loop:
	own(true);
	if
	:: len(resume) > 0 ->
		resume?other;
		other!1;
		goto end		/* a spare */
	:: len(resume) == 0 && queue > 0 -> queue--
	:: len(resume) == 0 && queue == 0 ->
		leave(PARKED);
		if
		:: len(resume) > 0 ->
			take(PARKED, HELD, ok);
			if
			:: ok -> goto loop
			:: else
			fi
		:: len(resume) == 0
		fi;
		goto end
	fi;
	mine = epoch + 1;	/* enter */
	epoch = mine;
	/* the handler runs; it may call Await */
	if
	:: skip
	:: awaits < AWAITS ->
		awaits++;
		cas(mine, ok);
		if
		:: ok ->
			own(true);
			state = SEATING;
			run carrier();		/* give, and the slot is gone */
			resume!back;		/* f is over: retake */
			take(PARKED, SEATING, ok);
			if
			:: ok -> run carrier()
			:: else
			fi;
			back?1;
			own(true);
			mine = epoch + 1;	/* moved: a new epoch, and now may be taken again */
			epoch = mine
		:: else				/* the monitor was faster: just wait */
		fi
	fi;
	/* it returns: reclaim */
#ifdef BUG_ABA
	mine = epoch;
#endif
	cas(mine, ok);
	if
	:: ok
	:: else ->
#ifndef BUG_NOT_OWN
		resume!back;
		take(PARKED, SEATING, ok);
		if
		:: ok -> run carrier()
		:: else
		fi;
		back?1;
#endif
		own(true)
	fi;
	own((epoch & 1) == 0);
	done++;
	goto loop;
end:
	skip
}

active proctype monitor()
{
	byte ep;
	bit ok;
	do
	:: rescues == RESCUES -> break
	:: done == MESSAGES -> break
	:: else ->
		ep = epoch;
		if
#ifdef BUG_NO_PARITY
		:: ep == epoch ->
#else
		:: ep == epoch && (ep & 1) == 1 ->
#endif
#ifdef BUG_NO_CAS
			epoch = ep + 1;
			ok = true;
#else
			cas(ep, ok);
#endif
			if
			:: ok ->
				rescues++;
				own(true);
				state = SEATING;
				run carrier()
			:: else
			fi
		:: else
		fi
	od
}

init {
	bit ok;
	take(PARKED, SEATING, ok);
	run carrier();
	timeout;
	assert(done == MESSAGES && owners == 0)
}
