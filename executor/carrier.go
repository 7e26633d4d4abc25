package executor

import "runtime/debug"

// A carrier is a goroutine that can hold a slot. It keeps what it needs to
// finish its current turn to itself, so that the slot can be taken from it in
// the middle of a handler and be given to another carrier.
//
// The fields are its own while it is in a turn, and the slot's otherwise.
type carrier struct {
	s *slot
	turn

	// The turn: messages of box, from its first on.
	i, k uint32  // i of k have finished
	cur  uint32  // cell of the next
	last uint32  // cell of the last that finished
	more bool    // after the turn: the mailbox has more
	step step    // what it is doing
	out  Outcome // of the current message, if it waits

	// The current message has ended, in its handler's death or elsewhere: its
	// error, for Done.
	decided bool
	verdict error

	ticket     box           // stands in the run queue for the carrier
	back       chan struct{} // the slot, after a wait
	link       *carrier      // next in slot.resume
	prev, next *carrier      // in slot.away
	orphaned   bool          // the slot was closed while the carrier was away
}

// step is where user code may panic.
type step uint8

const (
	stepNone    step = iota
	stepHandler      // in the handler
	stepDone         // in the lane's Done function
)

func newCarrier(s *slot) *carrier {
	c := &carrier{s: s, back: make(chan struct{}, 1)}
	c.turn.base, c.turn.c, c.turn.handed = s.e.base, c, make(chan struct{}, 1)
	return c
}

// carry is a carrier's life. It owns the slot when it starts.
func (c *carrier) carry() {
	for c.guarded() {
	}
}

// guarded runs the loop under one deferred function, so that protection from
// panics costs nothing per message. All that is needed to go on is in the
// carrier's fields.
func (c *carrier) guarded() (again bool) {
	normal := false
	defer func() {
		if normal {
			return
		}
		v := recover()
		if c.step == stepNone { // not user code
			panic(v)
		}
		exit := v == nil // runtime.Goexit: this goroutine cannot be kept
		if exit {
			v = ErrGoexit
		}
		c.died(v)
		if again = !exit; exit {
			c.s.e.carriers.Go(c.carry)
		}
	}()
	again = c.loop()
	normal = true
	return again
}

// died notes what became of the current message when user code did not return.
// The slot may have been taken meanwhile: only the turn's own is touched.
func (c *carrier) died(v any) {
	l := c.box.port.lane
	if c.step == stepHandler {
		c.decided = true
		c.verdict = &PanicError{Key: l.body.key(c.cur), Value: v, Stack: debug.Stack()}
	} else { // in Done: the message is finished, whatever Done makes of it
		c.s.e.donePanics.Add(1)
		l.body.forget(c.cur)
		c.last = c.cur
		if c.i++; c.i < c.k {
			c.cur = l.links[c.cur]
		}
	}
	c.step = stepNone
}

// loop runs turns until the carrier has no slot any more; then it is false.
func (c *carrier) loop() bool {
	s := c.s
	if c.box != nil { // user code died in the middle of a turn
		if !c.resume() {
			return false
		}
	} else {
		c.sit()
	}
	budget := 0
	for {
		if budget <= 0 || s.qhead == nil {
			s.poll()
			budget = pollEvery
		}
		if s.qhead == nil {
			if !c.idle() {
				return false
			}
			budget = 0
			continue
		}
		b := s.pop()
		if b.carrier != nil {
			if !c.yieldTo(b.carrier) {
				return false
			}
			budget = 0
			continue
		}
		if s.quit {
			s.drop(b) // Close reported its messages
			continue
		}
		n := s.clock.messages
		if !c.visit(b) {
			return false
		}
		if ran := s.clock.messages - n; ran >= 0 {
			budget -= ran
		} else {
			budget = 0 // the slot was taken in between, and its clock reset
		}
		if s.clock.messages >= s.clock.due {
			s.measure()
		}
	}
}

// sit takes the slot that the carrier was given.
func (c *carrier) sit() {
	c.s.cur = c
	c.s.state.Store(slotHeld)
	c.s.e.watch()
}

// yieldTo gives the slot to a carrier whose wait is over. This one waits
// among the spares, or is no longer needed.
func (c *carrier) yieldTo(r *carrier) bool {
	s := c.s
	r.ticket.carrier = nil
	keep := s.spares < s.e.keep
	if keep {
		s.spares++
	}
	r.back <- struct{}{}
	return keep && c.wait()
}

// wait is a spare's: it returns true with the slot, or false when the slot
// has been closed.
func (c *carrier) wait() bool {
	if _, open := <-c.s.spare; !open {
		return false
	}
	c.sit()
	return true
}

// idle looks for work a little longer, then parks the slot. It returns true
// with the slot.
func (c *carrier) idle() bool {
	s := c.s
	s.flush(true)
	if s.linger() {
		return true
	}
	s.settle()
	if s.e.closing.Load() && s.nothing() {
		s.close()
		return false
	}
	var v view
	v.fill(s)
	sample, t0 := s.spin.sample()
	keep := s.e.keep > 0
	if keep {
		s.spares++
	}
	s.parks++
	// From the store on the slot may belong to another goroutine: only the
	// view and the atomic fields may be read.
	s.state.Store(slotParked)
	yield("carrier.parked")
	if (v.changed(s) || s.e.closing.Load()) && s.state.CompareAndSwap(slotParked, slotHeld) {
		if keep {
			s.spares--
		}
		s.cur = c // another may have been here meanwhile, and have parked again
		return true
	}
	if !keep || !c.wait() {
		return false
	}
	if sample {
		s.spin.learn(nanotime()-t0, int64(s.e.cfg.Spin))
	}
	return true
}

// settle ends a busy stretch: it stops watching all but a few ports.
func (s *slot) settle() {
	s.clock.stop()
	if s.length.Load() != 0 {
		s.length.Store(0)
	}
	s.disarm()
}

// disarm stops watching all but watchIdle ports.
//
//	slot:   armed = 0, then looks at pub
//	sender: stores pub, then looks at armed
//
// One of them sees the other's store and arms the port again. If both do, the
// CAS decides: the loser's sender finds armed set and has nothing to do, for
// the port is watched here or is in inq.
func (s *slot) disarm() {
	if len(s.active) <= watchIdle {
		return
	}
	k := watchIdle
	for _, p := range s.active[k:] {
		p.armed.Store(0)
		yield("slot.disarm")
		if p.pub.Load() != p.head && p.armed.CompareAndSwap(0, 1) {
			s.active[k] = p
			k++
		}
	}
	clear(s.active[k:])
	s.active = s.active[:k]
}

// nothing reports whether the owner has nothing to do.
func (s *slot) nothing() bool {
	for _, p := range s.active {
		if p.pub.Load() != p.head {
			return false
		}
	}
	return s.qhead == nil && s.brought()
}

// brought reports that the lists of what others brought are empty.
func (s *slot) brought() bool {
	return s.inq.Load() == nil && s.done.Load() == nil && s.resume.Load() == nil && s.asks.Load() == nil
}

// view is what a carrier has seen when it gives a slot up: the few ports that
// are still armed and how far they were read. It is the carrier's own copy,
// for after that the slot's memory may be another's.
type view struct {
	ports [watchIdle]*port
	heads [watchIdle]uint64
	all   bool // more ports than fit are watched: look again in any case
}

func (v *view) fill(s *slot) {
	v.all = len(s.active) > watchIdle
	for i, p := range s.active[:min(len(s.active), watchIdle)] {
		v.ports[i], v.heads[i] = p, p.head
	}
}

// changed reports whether something came since.
func (v *view) changed(s *slot) bool {
	if v.all || !s.brought() {
		return true
	}
	for i, p := range v.ports {
		if p != nil && p.pub.Load() != v.heads[i] {
			return true
		}
	}
	return false
}
