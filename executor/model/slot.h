/* What the models share: a slot, its states and who owns it (slot.go).
 *
 * Spin interleaves whole statements, which is the memory model of sync/atomic:
 * one order of all loads and stores. Plain memory is right only if it has one
 * owner, and that is what the counter of owners checks.
 */
#define HELD    0
#define PARKED  1
#define SEATING 2
#define VACANT  3
#define CLOSED  4

byte state = PARKED;		/* slot.state */
byte owners;			/* goroutines that may touch the slot's plain memory */

#define own(cond) assert(owners == 1 && (cond))

/* CompareAndSwap from a state without a carrier: the winner owns the slot. */
inline take(from, to, ok)
{
	d_step {
		ok = (state == from);
		if
		:: ok -> state = to; owners++; assert(owners == 1)
		:: else
		fi
	}
}

/* Store of a state without a carrier: from here on the slot may be another's. */
inline leave(to)
{
	d_step { assert(owners == 1); owners--; state = to }
}
