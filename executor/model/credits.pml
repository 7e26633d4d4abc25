/* Senders that wait for a credit against completions that bring some. While
 * there is credit nobody may wait for ever, also when waiters leave with their
 * context, and although a slot tells only when there are many credits or when
 * it has run dry.
 *
 * Models lane.room, lane.await, lane.park, lane.passOn, lane.want, lane.token,
 * lane.attend (window.go), lane.takeBack (table.go) and slot.complete,
 * slot.flush (slot.go), for a lane without a bound per key, on one slot.
 *
 *	sender: sets asked, until and flagWant, takes back, parks
 *	slot:   stores finished, looks at flagWant: tells if finished >= until, or
 *	        if it is dry and finished > asked
 *
 * BUG_LOOK_FIRST the sender takes back before it sets the flag
 * BUG_FLAG_FIRST the slot looks at the flag before it publishes
 * BUG_NO_PASS    who stops waiting does not look whether somebody else waits
 * BUG_EAT_TOKEN  who leaves with its context keeps the token it has got
 * BUG_ASIDE      who takes back a credit that is set aside for another does not
 *                tell (was found here first)
 * BUG_NOT_DRY    a slot that runs dry tells nobody of a few credits
 */
#define STUCK    3		/* messages that wait for something that never comes */
#define WINDOW   (STUCK + 1)
#define SENDERS  3		/* of which one is patient */
#define MESSAGES 1

byte avail = WINDOW - STUCK;		/* sender.avail */
byte sent = STUCK;			/* published to the slot */
byte ended;			/* finished, not all of it published */
byte finished, taken;		/* port.finished, port.taken */
byte asked, until;		/* port.asked, port.until */
bool want;			/* flagWant */
byte waiters;
bool mu;			/* lane.mu */
chan wake = [1] of { bit };	/* lane.wake */
byte gone;			/* senders that are through */
byte sleeping;			/* in park */

/* takeBack tells one who waits: the slot may think that it need not */
inline takeBack()
{
	d_step {
		if
#ifndef BUG_ASIDE
		:: finished != taken && waiters > 0 && len(wake) == 0 -> wake!1
#endif
		:: else
		fi;
		avail = avail + (finished - taken);
		taken = finished
	}
}

inline token()
{
	d_step {
		if
		:: len(wake) == 0 -> wake!1
		:: else
		fi
	}
}

inline ask()
{
	d_step {
		asked = taken;
		until = taken + (sent - taken) / 2;	/* half of what is out */
		if
		:: until == taken -> until++
		:: else
		fi
	}
	want = true
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
		:: avail <= ready -> ask(); takeBack()
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
	:: n == MESSAGES -> break
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
		ask();
#else
		ask();
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

/* slot.flush and lane.attend */
inline flush(dry)
{
#ifdef BUG_FLAG_FIRST
	saw = want;
	finished = ended;
#else
	finished = ended;
	saw = want;
#endif
	if
#ifdef BUG_NOT_DRY
	:: saw && ended >= until ->
#else
	:: saw && (ended >= until || (dry && ended > asked)) ->
#endif
		d_step { saw = want; want = false }
		if
		:: saw -> token()
		:: else
		fi
	:: else
	fi
}

active proctype slot()
{
	bit saw;
	do
	:: sent - STUCK > ended ->
		ended++;
		if
		:: flush(0)		/* enough of them for a batch */
		:: skip
		fi;
		if
		:: sent - STUCK == ended -> flush(1)	/* idle: dry */
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
	assert(gone == SENDERS && finished == sent - STUCK)
}
