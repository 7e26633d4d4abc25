/* Senders that wait for a credit against completions that bring some. While
 * there is credit nobody may wait for ever, also when waiters leave with their
 * context.
 *
 * Models lane.room, lane.await, lane.park, lane.passOn, lane.token (window.go),
 * lane.takeBack (table.go) and slot.flush, lane.attend, for a lane without a
 * bound per key.
 *
 *	sender: sets flagWant, takes back, parks
 *	slot:   stores finished, looks at flagWant, clears it, puts the token
 *
 * BUG_LOOK_FIRST the sender takes back before it sets the flag
 * BUG_FLAG_FIRST the slot looks at the flag before it publishes
 * BUG_NO_PASS    who stops waiting does not look whether somebody else waits
 * BUG_EAT_TOKEN  who leaves with its context keeps the token it has got
 */
#define WINDOW   2
#define SENDERS  3		/* of which one is patient */
#define MESSAGES 2		/* of the patient one; the others have one each */

byte avail = WINDOW;		/* sender.avail */
byte sent;			/* published to the slot */
byte finished, taken;		/* port.finished, port.taken */
bool want;			/* flagWant */
byte waiters;
bool mu;			/* lane.mu */
chan wake = [1] of { bit };	/* lane.wake */
byte gone;			/* senders that are through */
byte sleeping;			/* in park */

inline takeBack() { d_step { avail = avail + (finished - taken); taken = finished } }

inline token()
{
	d_step {
		if
		:: len(wake) == 0 -> wake!1
		:: else
		fi
	}
}

/* room: takes back only when there is not enough */
inline room(keep, ok)
{
	ok = (avail > keep);
	if
	:: !ok -> takeBack(); ok = (avail > keep)
	:: else
	fi
}

inline passOn(ready)
{
	if
	:: waiters > 0 ->
		if
		:: avail <= ready -> want = true; takeBack()
		:: else
		fi;
		if
		:: avail > ready -> token()
		:: else
		fi
	:: else
	fi
}

proctype sender(bit patient)
{
	byte n, keep;
	bit ok, err, got;
	do
	:: n == (patient -> MESSAGES : 1) -> break
	:: else ->
		n++;
		err = 0;
		d_step { !mu -> mu = true }
		room(waiters, ok);
		if
		:: ok -> goto post
		:: else
		fi;
		keep = waiters;
again:
		room(keep, ok);
		if
		:: ok -> goto post
		:: else
		fi;
		waiters++;
#ifdef BUG_LOOK_FIRST
		room(waiters - 1, ok);
		want = true;
#else
		want = true;
		room(waiters - 1, ok);
#endif
		got = 0;
		if
		:: !ok ->
			d_step { mu = false; sleeping++ }
			if
			:: wake?1 -> got = 1
			:: !patient -> err = 1
#ifdef BUG_EAT_TOKEN
			:: atomic { !patient && len(wake) > 0 -> wake?1 } got = 1; err = 1
#endif
			fi;
			d_step { !mu -> mu = true; sleeping-- }
		:: else
		fi;
		waiters--;
		ok = false;
		if
		:: !err -> room(0, ok)
		:: else
		fi;
#ifdef BUG_EAT_TOKEN
		if
		:: err && got -> skip
		:: else -> passOn(ok)
		fi;
#else
#ifndef BUG_NO_PASS
		passOn(ok);
#endif
#endif
		keep = 0;
		if
		:: err -> goto out
		:: ok -> goto post
		:: else -> goto again
		fi;
post:
		assert(avail > 0);
		avail--;
		sent++;
out:
		mu = false
	od;
	gone++
}

/* one completion, or all that there are: slot.flush publishes batches */
inline publish()
{
	if
	:: finished++
	:: finished = sent
	fi
}

active proctype slot()
{
	bit saw;
	do
	:: sent > finished ->
#ifdef BUG_FLAG_FIRST
		saw = want;
		publish();
#else
		publish();
		saw = want;
#endif
		if
		:: saw ->
			d_step { saw = want; want = false }
			if
			:: saw -> token()
			:: else
			fi
		:: else
		fi
	od
}

init {
	byte i;
	atomic {
		run sender(0);
		for (i : 2 .. SENDERS) { run sender(1) }
	}
	timeout;
	assert(gone == SENDERS && finished == sent)
}
