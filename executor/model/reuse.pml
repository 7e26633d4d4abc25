/* A mailbox leaves one slot and comes back to another: the first must be through
 * with its memory before the sender can learn that it is free.
 *
 * Models carrier.finish (turn.go), slot.complete, slot.flush, slot.accept
 * (slot.go), lane.takeBack, lane.remove (table.go): one mailbox, two slots, a
 * sender that uses the other slot whenever it finds the mailbox free.
 *
 *	slot:   more = n > 0, stores finished        (then the box may be another's)
 *	sender: reads finished, sends to another slot
 *
 * BUG_MORE_LATE  the slot looks whether there is more after it published
 * BUG_PUSH_LATE  the slot puts the mailbox back after it published that it is empty
 * BUG_FREE_EARLY the sender frees the mailbox while messages are outstanding
 */
#define MESSAGES 3

byte n;				/* box.n: plain */
byte bound = 2;			/* slot that the box is bound to; 2: none */
byte out;			/* entry.out: the sender's */
byte home;			/* entry.slot */
byte queued[2];			/* the box's places in the run queues */
byte pub[2], head[2], finished[2], taken[2];
byte running;			/* handlers of the key */
byte done;

/* plain memory of a box: only the slot that it is bound to may touch it */
#define mine(s) assert(bound == s)

proctype slot(bit s)
{
	byte k;
	bit more;
	do
	:: head[s] < pub[s] ->		/* poll, accept */
		head[s]++;
		if
		:: n == 0 -> bound = s; assert(queued[0] + queued[1] == 0); queued[s]++
		:: else -> mine(s)
		fi;
		n++
	:: queued[s] > 0 ->
		queued[s]--;
		k = 0;
		do
		:: k < n -> k++
		:: k > 0 -> break
		od;
		atomic { running++; assert(running == 1) }
		atomic { running--; done = done + k }
		mine(s);
		n = n - k;
#ifdef BUG_MORE_LATE
		finished[s] = finished[s] + k;
		more = n > 0;
#else
		more = n > 0;
		finished[s] = finished[s] + k;
#endif
		if
#ifdef BUG_PUSH_LATE
		:: true -> queued[s]++; assert(queued[0] + queued[1] == 1)
#else
		:: more -> mine(s); queued[s]++
#endif
		:: !more
		fi
	od
}

inline takeBack()
{
	d_step {
		out = out - (finished[home] - taken[home]);
		taken[home] = finished[home]
	}
}

active proctype sender()
{
	byte sent;
	do
	:: sent == MESSAGES -> break
	:: else ->
		if
		:: takeBack()
		:: skip
		fi;
		if
#ifdef BUG_FREE_EARLY
		:: out <= 1 -> home = 1 - home; out = 0; taken[home] = finished[home]
#else
		:: out == 0 -> home = 1 - home
#endif
		:: out > 0
		fi;
		out++;
		sent++;
		pub[home]++
	od
}

init {
	atomic { run slot(0); run slot(1) }
	timeout;
	assert(done == MESSAGES && n == 0)
}
