/* Several goroutines of one handler wait, and some are left behind when it
 * returns: the first gives the slot away, the last takes it back, and the
 * carrier has it in the end. Nobody waits for ever.
 *
 * Models turn.leave, turn.rejoin, carrier.reclaim, carrier.regain (await.go);
 * each step under turn.mu is one step here. What becomes of the slot meanwhile
 * is vacant.pml and stall.pml: here it comes back when it is asked for.
 *
 * BUG_NO_COUNT   each that waited takes the slot back
 * BUG_NO_GEN     an Await that outlives its handler still counts
 * BUG_NO_ENDING  the carrier asks for a slot that is on its way to an Await
 */
#define GOROUTINES 3

#define Held      0
#define Away      1
#define Returning 2

byte t = Held;			/* turn.state */
byte waits, gen;
bool moved, ending, handed;
bool mine = true;		/* the carrier has the slot, for its handler */
byte asking;			/* goroutines in carrier.retake */
byte back;			/* goroutines of the handler that are through */
bool over;			/* the carrier has finished the turn */

inline retake()
{
	d_step { assert(!mine && asking == 0); asking++ }
	d_step { asking--; mine = true }
}

proctype goroutine()
{
	byte g;
	bit counted;
	d_step {
		counted = true;
		g = gen;
		if
		:: over || (t == Returning) -> counted = false
		:: !over && t == Away -> waits++
		:: !over && t == Held && gen == 0 -> t = Away; waits = 1; mine = false
		:: else -> counted = false
		fi
	}
	if
	:: counted ->
		/* f runs */
		d_step {
			if
#ifndef BUG_NO_GEN
			:: g != gen -> counted = false
#endif
			:: else ->
				waits--;
#ifndef BUG_NO_COUNT
				counted = (waits == 0);
#endif
				if
				:: counted -> t = Returning
				:: else
				fi
			fi
		}
		if
		:: counted ->
			retake();
			d_step {
				if
				:: ending -> ending = false; handed = true
				:: else -> moved = true; t = Held
				fi
			}
		:: else
		fi
	:: else
	fi;
	back++
}

active proctype handler()
{
	byte i;
	bit ask;
	atomic { for (i : 1 .. GOROUTINES) { run goroutine() } }
	/* the handler returns, perhaps before them: reclaim, regain */
	d_step {
		gen++;
		ask = false;
		if
#ifndef BUG_NO_ENDING
		:: t == Returning -> ending = true
#endif
		:: t == Held
		:: else -> t = Returning; ask = true
		fi
	}
	if
	:: ending || handed -> handed; handed = false
	:: ask -> retake()
	:: else
	fi;
	d_step { assert(mine); t = Held; moved = false; waits = 0; over = true }
}

init {
	timeout;
	assert(over && mine && back == GOROUTINES && asking == 0)
}
