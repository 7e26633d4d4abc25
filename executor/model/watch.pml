/* The monitor sleeps when all slots are parked. It must be there while one is
 * held, and there must be one at most.
 *
 * Models Executor.watch, Executor.monitor, Executor.idle (stall.go),
 * carrier.sit (carrier.go).
 *
 *	monitor: watching = 0, looks at the slots' states
 *	carrier: state = held, looks at watching
 *
 * BUG_NO_LOOK   the monitor leaves without another look
 * BUG_NO_CAS    the carrier starts one whenever it finds none
 * BUG_ASK_FIRST the carrier looks at watching before it stores the state
 */
#define SLOTS 2
#define LIVES 2			/* of each slot */

bool held[SLOTS];
byte alive = SLOTS;		/* slots that have lives to come, or hold on for good */
bit watching;
byte monitors;			/* that watch */

#define idle (!held[0] && !held[1])

inline watch()
{
	if
	:: watching == 0 ->
#ifdef BUG_NO_CAS
		won = true; watching = 1;
#else
		d_step { won = (watching == 0); watching = 1 };
#endif
		if
		:: won -> run monitor()
		:: else
		fi
	:: else
	fi
}

proctype monitor()
{
	bit won;
	d_step { monitors++; assert(monitors == 1) }
	do
	:: idle ->
		d_step { monitors--; watching = 0 }
#ifdef BUG_NO_LOOK
		break
#else
		if
		:: idle -> break
		:: else ->
			d_step { won = (watching == 0); watching = 1 }
			if
			:: won -> d_step { monitors++; assert(monitors == 1) }
			:: else -> break
			fi
		fi
#endif
	:: !idle && alive == 0 -> break		/* found what it is for: a handler that stays */
	od
}

proctype slot(bit s)
{
	byte i;
	bit won;
	for (i : 1 .. LIVES) {
#ifdef BUG_ASK_FIRST
		watch();
		held[s] = true;
#else
		held[s] = true;
		watch();
#endif
		if
		:: i < LIVES -> held[s] = false
		:: else			/* the last holds on: a stall */
		fi
	}
	alive--
}

init {
	atomic { run slot(0); run slot(1) }
	timeout;
	assert(alive == 0 && monitors == 1)
}
