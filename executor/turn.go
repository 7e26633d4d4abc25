package executor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// turnChunk is how many messages a carrier takes on at a time. Their
// completions are published together, so it is also how many credits a turn
// can hold back.
const turnChunk = 16

// errForeign is a programmer's mistake that would leave a message hanging.
var errForeign = errors.New("executor: handler returned an outcome of Later that belongs to another message")

// A turn is the context of a handler, reused from one message to the next. It
// is void when the handler has returned.
//
// While the handler runs, three parties may want to touch the slot: the
// carrier, as the handler returned; an Await, to give the slot away; and the
// monitor, to take it. Each must first win the CAS of the slot's epoch from
// the odd value of this turn to the next, so just one of them does.
type turn struct {
	base  context.Context
	c     *carrier // nil on an offload goroutine
	box   *box
	later uint64 // the gate's number, if Later was called for this message
	epoch uint64 // odd; of the slot as the turn began

	mu     sync.Mutex // never held across a wait
	state  turnState
	waits  int    // Awaits that are on
	gen    uint64 // counts handlers' returns: an Await that outlives its handler minds its own business
	moved  bool   // the slot was given away and taken back: now is the epoch, not epoch
	now    uint64
	ending bool          // the handler waits for the Await that is taking the slot back
	handed chan struct{} // by that Await
}

type turnState uint8

const (
	turnHeld      turnState = iota // the carrier has its slot, as far as we know
	turnAway                       // the slot was given away, or taken
	turnReturning                  // somebody waits to get it back
	turnOrphan                     // the slot was closed meanwhile
)

// turnKey finds the turn in a context that was derived from it.
type turnKey struct{}

// The context's methods. The executor's own context has no deadline; it ends
// when Close gives up.

func (t *turn) Deadline() (time.Time, bool) { return t.base.Deadline() }
func (t *turn) Done() <-chan struct{}       { return t.base.Done() }
func (t *turn) Err() error                  { return t.base.Err() }
func (t *turn) Value(key any) any {
	if key == (turnKey{}) {
		return t
	}
	return t.base.Value(key)
}

// turnOf returns the turn behind a handler's context, or nil.
func turnOf(ctx context.Context) *turn {
	if t, ok := ctx.(*turn); ok {
		return t
	}
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// visit runs one turn of a mailbox, at most the lane's throughput of messages.
// It returns false if the carrier has no slot any more.
func (c *carrier) visit(b *box) bool {
	if p := b.pend; p != nil && p.ready {
		p.ready = false
		switch o := p.take(); {
		case o.kind() == kindDone:
			return c.conclude(b, o.err)
		case o.kind() == kindLater:
			return c.conclude(b, errForeign)
		case o.kind() == kindOffload || o.after() > 0:
			c.s.hold(b, o)
			return true
		}
	}
	l := b.port.lane
	for left := l.throughput; ; {
		c.begin(b, min(b.n, left, l.chunk.Load()))
		left -= c.k
		waits := l.body.run(c)
		yield("turn.returned")
		if !waits && c.i == c.k && c.s.epoch.CompareAndSwap(c.epoch, c.epoch+1) {
			c.finish()
			c.box = nil
		} else if !c.settle(waits) {
			return false
		}
		if !c.more {
			return true
		}
		if left == 0 {
			c.s.poll() // what came meanwhile goes first
			c.s.push(b)
			return true
		}
	}
}

// conclude runs a turn in which the mailbox's first message, which had waited,
// ends.
func (c *carrier) conclude(b *box, err error) bool {
	c.begin(b, 1)
	c.decided, c.verdict = true, err
	return c.resume()
}

// resume goes on with a turn and puts the mailbox back into the run queue.
func (c *carrier) resume() bool {
	b := c.box
	if !c.proceed() {
		return false
	}
	if c.more {
		c.s.push(b)
	}
	return true
}

// begin starts a turn of the box's first n messages. From here to the CAS in
// reclaim the slot can be taken from the carrier. Until then it touches its
// own fields only, and the links of the turn's messages but the last's: the
// last may be getting a successor.
func (c *carrier) begin(b *box, n uint32) {
	c.box, c.i, c.k, c.cur, c.more = b, 0, n, b.first, false
	c.enter()
}

func (c *carrier) enter() {
	c.epoch = c.s.epoch.Load() + 1
	c.s.epoch.Store(c.epoch)
}

// lost reports whether the slot was given away or taken during the turn.
func (c *carrier) lost() bool { return c.s.epoch.Load() != c.epoch }

// proceed runs what is left of the turn. It returns with the slot, or false.
func (c *carrier) proceed() bool {
	return c.settle(c.i < c.k && c.box.port.body.run(c))
}

// settle is called when messages of the turn have run, and the last of them
// waits, or more are to come, or the slot is lost.
func (c *carrier) settle(waits bool) bool {
	for {
		yield("turn.settle")
		if !c.reclaim() {
			c.box = nil // a message that waits was reported by Close
			return false
		}
		if waits {
			if c.suspend() {
				return true
			}
		} else if c.i == c.k {
			c.finish()
			c.box = nil
			return true
		}
		if c.s.e.gaveUp.Load() { // Close reported the rest
			c.dropRest()
			return true
		}
		c.enter()
		waits = c.i < c.k && c.box.port.body.run(c)
	}
}

// suspend leaves the turn, as its current message waits. It returns false if
// the message is finished after all.
func (c *carrier) suspend() bool {
	b, o := c.box, c.out
	c.out = Outcome{}
	if n := c.later; n != 0 {
		c.later = 0
		if mine := o.kind() == kindLater && o.gate() == n; !mine {
			if b.pend.gate.CompareAndSwap(n, n+1) { // nobody can complete it now
				if o.kind() == kindLater {
					o = Done(errForeign)
				}
			} else { // somebody has, and that counts
				o = outcome(kindLater, n)
			}
		}
	} else if o.kind() == kindLater {
		o = Done(errForeign)
	}
	if o.kind() == kindDone {
		c.decided, c.verdict = true, o.err
		return false
	}
	if c.i > 0 {
		c.finish()
	}
	c.box, c.more = nil, false
	c.s.hold(b, o)
	return true
}

// finish takes the turn's finished messages out of the mailbox and tells the
// sender.
//
// Whether there are more must be read before the completion is published:
// once it is, and there were none, the sender may give the box to another
// worker.
func (c *carrier) finish() {
	b, n := c.box, c.i
	l, first := b.port.lane, b.first
	b.n -= n
	if c.more = b.n > 0; c.more {
		b.first, b.stamp = l.links[c.last], c.s.e.tick.Load()
	}
	c.i, c.k = 0, c.k-n
	c.s.clock.messages += int(n)
	if !l.plain {
		l.body.clear(first, n)
	}
	c.s.complete(b.port, chain{box: b.index, n: n, first: first, last: c.last})
}

// dropRest leaves the rest of a turn to Close's report.
func (c *carrier) dropRest() {
	b := c.box
	if c.i > 0 {
		c.finish()
	}
	c.box, c.more, c.decided, c.verdict = nil, false, false, nil
	c.s.drop(b)
}

// drop keeps a mailbox that will not run any more, for the report.
func (s *slot) drop(b *box) {
	b.run = s.dropped
	s.dropped = b
}
