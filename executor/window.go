package executor

import "context"

// Flags of a lane: what a slot that has published completions must do.
const (
	flagWant    = 1 << iota // a sender waits for credit: put a token into wake
	flagSpilt               // the overflow holds messages: send them
	flagClosing             // Close waits for the lane to be empty
)

const senderLooks = 20 // of a single sender, before it parks

// ample reports whether there certainly is room, at a glance. There are no
// credits before the tables are made.
func (l *lane) ample() bool { return l.avail > l.reserved && l.perKey == 0 && !l.closed.Load() }

// room reports whether a message may be admitted now, and leaves keep credits
// for others.
//
// Credits come back only when the sender asks, and it asks when it has none
// left. As long as senders wait for credits, each of them has one set aside: a
// newcomer may overtake them but cannot take theirs, so nobody waits for ever.
func (l *lane) room(hash uint64, keep uint32) bool {
	if l.closed.Load() {
		return false
	}
	if l.buckets == nil {
		l.prepare()
	}
	if l.perKey > 0 && l.atBound(hash) {
		if l.takeBack(); l.atBound(hash) {
			return l.spilt.Load() < l.overflow
		}
	}
	if l.avail <= keep {
		l.takeBack()
	}
	return l.avail > keep
}

// atBound reports whether the next message of a key goes to the overflow.
func (l *lane) atBound(hash uint64) bool {
	e, i := l.find(hash)
	return e != nil && l.full(i)
}

// await waits until there is room; the caller has the lock, and has it again
// when await returns. inside is the turn of the handler that sends, if one does.
//
// The wait is a token in a channel, and Go's channels serve their receivers in
// order. Invariant: while a sender waits and there is credit, a token is in
// the channel, or somebody who has taken it will pass it on, or flagWant is
// set and a completion will bring it:
//
//	sender: sets flagWant, takes completions back, parks if there is no credit
//	slot:   publishes a completion, looks at flagWant, clears it, puts the token
//
// One of the two sees the other. Who leaves the wait, served or not, looks
// whether somebody else waits (passOn).
func (l *lane) await(ctx context.Context, hash uint64) error {
	if l.single {
		l.spinForCredit()
	}
	l.blocked.Add(1)
	for keep := l.reserved; ; {
		if l.closed.Load() {
			return ErrStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.room(hash, keep) {
			return nil
		}
		// Who waits for room in the overflow has no use for a credit.
		credit := uint32(1)
		if l.perKey > 0 && l.atBound(hash) {
			credit = 0
		}
		l.waiters++
		l.reserved += credit
		l.want()
		yield("window.want")
		var token bool
		var err error
		if !l.room(hash, l.reserved-credit) {
			token, err = l.park(ctx, hash)
		}
		l.waiters--
		l.reserved -= credit
		if keep = l.reserved; credit == 1 {
			keep = 0
		}
		ready := err == nil && l.room(hash, keep)
		l.passOn(token || err != nil, ready)
		if ready || err != nil {
			return err
		}
	}
}

// park gives the lock away and waits, perhaps for a token.
func (l *lane) park(ctx context.Context, hash uint64) (token bool, err error) {
	if turnOf(ctx) != nil {
		return l.parkHandler(ctx, hash)
	}
	herd := l.herd
	l.unlock()
	defer l.lock()
	return l.wait(ctx, herd, nil)
}

// parkHandler is park in a handler, which gives its worker away meanwhile.
func (l *lane) parkHandler(ctx context.Context, hash uint64) (token bool, err error) {
	me := l.enter(ctx, hash)
	defer l.exit(me)
	herd := l.herd
	l.unlock()
	defer l.lock()
	return Await(ctx, func(ctx context.Context) (bool, error) { return l.wait(ctx, herd, me.stuck) })
}

// wait waits for a token, or for what concerns this sender only. With neither a
// deadline nor bounds the token is all, and a plain receive is half the price
// of a select.
func (l *lane) wait(ctx context.Context, herd, stuck <-chan struct{}) (token bool, err error) {
	if herd == nil && stuck == nil && ctx.Done() == nil {
		<-l.wake
		return true, nil
	}
	select {
	case <-l.wake:
		return true, nil
	case <-herd:
	case <-l.stop:
	case <-stuck:
		return false, ErrOwnKey
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// passOn is called by a sender that stops waiting, with room (ready) or
// without. It lets the next one look if there are credits to spare, or has the
// slots do so when there will be.
//
// Where keys have bounds, one sender's room is of no use to another. There all
// look whenever a token comes, or one leaves: tell means to let them know.
func (l *lane) passOn(tell, ready bool) {
	if l.waiters == 0 {
		return
	}
	if l.perKey > 0 {
		if tell {
			close(l.herd)
			l.herd = make(chan struct{})
		}
		return
	}
	if l.closed.Load() { // one after the other, all leave
		l.token()
		return
	}
	spend := uint32(0)
	if ready {
		spend = 1
	}
	if l.avail <= spend {
		l.want()
		l.takeBack()
	}
	if l.avail > spend {
		l.token()
	}
}

// wakeWork is how much work, in ns, may be done before a sender that waits is
// woken: it then comes back to many credits, and the slots have as much again
// to do while it wakes.
const wakeWork = 50_000

// want asks the slots for a token: each when it has finished half of what it
// has of the lane, but soon, or when it runs dry.
func (l *lane) want() {
	for _, p := range l.used {
		if p.out == 0 {
			continue
		}
		n := uint32(wakeWork / max(1, p.slot.cost.Load()))
		n = min(max(n, l.window/creditBatch, 1), max(1, p.out/2))
		p.asked.Store(p.taken)
		p.until.Store(p.taken + uint64(n))
	}
	l.flags.Or(flagWant)
}

func (l *lane) token() {
	select {
	case l.wake <- struct{}{}:
	default: // there is one: whoever takes it will pass it on
	}
}

// spinForCredit waits a moment for completions while a slot with messages of
// ours runs. If none does, its carrier may be waiting for this very P.
func (l *lane) spinForCredit() {
	for range senderLooks {
		live := false
		for _, p := range l.used {
			if p.out == 0 {
				continue
			}
			if p.finished.Load() != p.taken {
				return
			}
			live = live || p.slot.state.Load() == slotHeld
		}
		if !live {
			return
		}
		pause(spinDelay)
	}
}

// attend is called by a slot that has published completions and found flags;
// enough means that a sender that waits for credits should have them now.
func (l *lane) attend(f uint32, enough bool) {
	if enough && f&flagWant != 0 && l.flags.And(^uint32(flagWant))&flagWant != 0 {
		yield("window.token")
		l.token()
	}
	if f&flagSpilt != 0 {
		l.lock() // a lane with an overflow always has a lock
		l.takeBack()
		l.unlock()
	}
	if f&flagClosing != 0 {
		l.checkEmpty()
	}
}

// unfinished is how many messages the lane holds. The overflow is read first:
// what leaves it is published before, so no message is missed.
func (l *lane) unfinished() int {
	n := uint64(l.spilt.Load())
	for i := range l.ports {
		if p := l.ports[i].Load(); p != nil {
			n += p.load()
		}
	}
	return int(n)
}

// shut stops admission. With the lock, no sender is halfway through an
// admission; the single sender of a lane without one must have stopped.
func (l *lane) shut() {
	l.lock()
	if !l.closed.Swap(true) {
		close(l.stop)
		l.flags.Or(flagClosing)
		l.token()
	}
	l.unlock()
	l.checkEmpty()
}

// checkEmpty closes empty if nothing is left.
//
//	shut: sets flagClosing, counts
//	slot: publishes the last completion, looks at flagClosing, counts
func (l *lane) checkEmpty() {
	yield("window.empty")
	if l.unfinished() == 0 {
		l.once.Do(func() { close(l.empty) })
	}
}
