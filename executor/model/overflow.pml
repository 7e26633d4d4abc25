/* A key at its bound: what is beyond it waits in the overflow, until the slot has
 * finished some of the key's messages. The last of them must not go unnoticed.
 *
 * Models lane.room, lane.send, lane.spill, lane.takeBack, lane.feed (table.go),
 * slot.flush, lane.attend (window.go): one key with a bound of one message.
 *
 *	sender: takes back, spills, sets flagSpilt, takes back once more
 *	slot:   stores finished, looks at flagSpilt, takes back
 *
 * BUG_NO_LOOK    the sender does not take back once more (was found here first)
 * BUG_FLAG_FIRST the slot looks at the flag before it publishes
 * BUG_FLAG_STAYS nobody clears the flag when the overflow is empty
 */
#define PERKEY   1
#define SENDERS  2
#define MESSAGES 2		/* of each */

bool mu;			/* lane.mu */
byte out;			/* entry.out */
byte spilt;			/* lane.spilt */
bool flag;			/* flagSpilt */
byte pub, finished, taken;	/* port */

inline lock() { d_step { !mu -> mu = true } }

inline put() { out++; pub++ }

inline takeBack()
{
	d_step { f = finished; out = out - (f - taken); taken = f }
	do
	:: spilt > 0 && out < PERKEY ->		/* feed */
		put();
		spilt--;
		if
#ifndef BUG_FLAG_STAYS
		:: spilt == 0 -> flag = false
#endif
		:: else
		fi
	:: else -> break
	od
}

proctype sender()
{
	byte i, f;
	for (i : 1 .. MESSAGES) {
		lock();
		if
		:: out >= PERKEY -> takeBack()
		:: else
		fi;
		if
		:: out < PERKEY && spilt == 0 -> put()
		:: else ->
			spilt++;
			if
			:: spilt == 1 ->
				flag = true;
#ifndef BUG_NO_LOOK
				takeBack()
#endif
			:: else
			fi
		fi;
		mu = false
	}
}

active proctype slot()
{
	byte f;
	bit saw;
	do
	:: finished < pub ->
#ifdef BUG_FLAG_FIRST
		saw = flag;
		finished++;
#else
		finished++;
		saw = flag;
#endif
		if
		:: saw -> lock(); takeBack(); mu = false
		:: else
		fi
	od
}

init {
	byte i;
	atomic { for (i : 1 .. SENDERS) { run sender() } }
	timeout;
	assert(finished == SENDERS * MESSAGES && spilt == 0 && !flag)
}
