/* Close waits for a lane to be empty: somebody must notice that it is, and
 * nobody too early.
 *
 * Models lane.shut, lane.checkEmpty, lane.unfinished, lane.attend (window.go),
 * port.load (port.go), slot.flush (slot.go), Lane.Submit (lane.go).
 *
 *	shut: closed, flagClosing, counts       slot: stores finished, looks at the flag, counts
 *
 * BUG_COUNT_FIRST the closer counts before it sets the flag
 * BUG_FLAG_FIRST  the slot looks at the flag before it publishes
 * BUG_NO_LOCK     the closer does not take the lane's lock
 * BUG_SPILT_LAST  the count reads the ports before the overflow
 */
#define PORTS    2
#define MESSAGES 2		/* of a sender that is stopped by the lane's end */

bool mu, closed, closing;
bool drained;			/* lane.empty is closed */
byte pub[PORTS], finished[PORTS];
byte admitted;

byte spilt;			/* lane.spilt: messages beyond a key's bound, for port 0 */

/* lane.unfinished: what leaves the overflow is published first */
inline count(n)
{
	byte f;
#ifdef BUG_SPILT_LAST
	n = 0;
#else
	n = spilt;
#endif
	f = finished[0];
	n = n + pub[0] - f;
	f = finished[1];
	n = n + pub[1] - f;
#ifdef BUG_SPILT_LAST
	n = n + spilt
#endif
}

/* lane.feed, with the lock: the key is below its bound */
inline feed()
{
	if
	:: spilt > 0 && pub[0] == finished[0] -> pub[0]++; spilt--
	:: else
	fi
}

inline lock() { d_step { !mu -> mu = true } }

inline check()
{
	count(n);
	if
	:: n == 0 ->
		drained = true;
		assert(finished[0] + finished[1] == admitted)
	:: else
	fi
}

active proctype sender()
{
	byte i;
	for (i : 1 .. MESSAGES) {
		lock();
		if
		:: closed -> mu = false; break
		:: else ->
			assert(!drained);
			admitted++;
			if
			:: pub[1]++
			:: pub[0] == finished[0] && spilt == 0 -> pub[0]++
			:: pub[0] > finished[0] || spilt > 0 -> spilt++; feed()
			fi;
			mu = false
		fi
	}
}

proctype slot(bit s)
{
	byte n;
	bit saw;
	do
	:: finished[s] < pub[s] ->
#ifdef BUG_FLAG_FIRST
		saw = closing;
		finished[s]++;
#else
		finished[s]++;
		saw = closing;
#endif
		if
		:: s == 0 && spilt > 0 -> lock(); feed(); mu = false	/* flagSpilt */
		:: else
		fi;
		if
		:: saw -> check()
		:: else
		fi
	od
}

active proctype closer()
{
	byte n;
#ifdef BUG_NO_LOCK
	closed = true;
#else
	lock();
	closed = true;
	mu = false;
#endif
#ifdef BUG_COUNT_FIRST
	check();
	closing = true
#else
	closing = true;
	check()
#endif
}

init {
	atomic { run slot(0); run slot(1) }
	timeout;
	assert(drained && finished[0] + finished[1] == admitted)
}
