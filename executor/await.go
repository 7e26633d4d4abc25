package executor

import "context"

// Await runs f without holding the handler's worker and returns what f
// returned, once the handler has a worker again. It is an ordinary call in the
// middle of an ordinary handler: the worker's queue goes to a spare goroutine,
// and the handler gets its turn back in line behind what is queued.
//
// ctx must be the handler's, or derived from it; f gets the same. With any
// other context, or after the handler returned, Await just calls f. Several
// goroutines of one handler may wait: the first gives the worker away and the
// last takes it back. The mailbox's next message waits as well; see
// [AwaitKey] if f waits for another message of the executor.
func Await[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	t := turnOf(ctx)
	if t == nil || t.c == nil {
		return f(ctx)
	}
	gen, counted := t.leave()
	if !counted {
		return f(ctx)
	}
	defer t.rejoin(gen)
	return f(ctx)
}

// leave gives the slot away unless that has been done. counted means that
// rejoin must follow.
func (t *turn) leave() (gen uint64, counted bool) {
	yield("turn.leave")
	t.mu.Lock()
	switch t.state {
	case turnAway:
		t.waits++
		gen = t.gen
		t.mu.Unlock()
		return gen, true
	case turnHeld:
		ep := t.epoch
		if t.moved {
			ep = t.now
		}
		if t.c.s.epoch.CompareAndSwap(ep, ep+1) {
			t.state, t.waits = turnAway, 1
			gen = t.gen
			t.mu.Unlock()
			t.box.port.lane.chunk.Store(1)
			t.c.s.depart(t.c)
			t.c.s.give(false)
			return gen, true
		}
		// The monitor was faster, or the handler has returned. Both want
		// nothing from us.
	}
	t.mu.Unlock()
	return 0, false
}

// rejoin takes the slot back if the caller is the last that waited.
func (t *turn) rejoin(gen uint64) {
	yield("turn.rejoin")
	t.mu.Lock()
	if gen != t.gen {
		t.mu.Unlock()
		return
	}
	if t.waits--; t.waits > 0 {
		t.mu.Unlock()
		return
	}
	t.state = turnReturning
	t.mu.Unlock()

	held := t.c.retake()

	t.mu.Lock()
	switch {
	case t.ending: // the handler returned meanwhile: the slot is for its carrier
		t.ending = false
		t.mu.Unlock()
		t.handed <- struct{}{}
		return
	case held:
		s := t.c.s
		t.now, t.moved, t.state = s.epoch.Load()+1, true, turnHeld
		s.epoch.Store(t.now)
	default:
		t.state = turnOrphan
	}
	t.mu.Unlock()
}

// reclaim makes the carrier the owner of its slot when the handler has
// returned. It returns false if the slot is closed.
func (c *carrier) reclaim() bool {
	return c.s.epoch.CompareAndSwap(c.epoch, c.epoch+1) || c.regain()
}

// regain is reclaim for a turn that lost its slot, or got it back under
// another epoch.
func (c *carrier) regain() bool {
	t := &c.turn
	yield("carrier.regain")
	t.mu.Lock()
	t.gen++
	switch t.state {
	case turnOrphan:
		t.mu.Unlock()
		return false
	case turnReturning: // a goroutine that the handler left behind is at it
		t.ending = true
		t.mu.Unlock()
		<-t.handed
	default:
		back := t.state == turnHeld && t.moved && c.s.epoch.CompareAndSwap(t.now, t.now+1)
		t.state = turnReturning
		t.mu.Unlock()
		if !back {
			c.retake()
		}
	}
	t.mu.Lock()
	t.moved, t.waits = false, 0
	t.state = turnHeld
	if c.orphaned {
		t.state = turnOrphan
	}
	t.mu.Unlock()
	return !c.orphaned
}

// give passes the slot on in the middle of a handler. It reports whether there
// was something to do for another carrier; otherwise the slot stays vacant, and
// the handler can have it back with one CAS, or whoever brings work seats
// somebody:
//
//	giver:   state = vacant, looks at what others brought, CAS(vacant -> seating)
//	bringer: brings, looks at state, CAS(vacant -> seating)
//	handler: CAS(vacant -> held)
//
// Whoever wins owns the slot. Two vacancies in a row look alike to a CAS, and
// may: a vacant slot is anybody's.
func (s *slot) give(stall bool) (queued bool) {
	s.flush(true)
	s.poll()
	if s.qhead != nil {
		s.seat()
		return true
	}
	s.disarm()
	var v view
	v.fill(s)
	s.lent = stall
	s.state.Store(slotVacant)
	yield("slot.vacant")
	if (v.changed(s) || s.e.closing.Load()) && s.state.CompareAndSwap(slotVacant, slotSeating) {
		s.lent = false
		s.seat()
		return true
	}
	return false
}

// retake gets the carrier's slot back, in line behind what is queued on it.
// It returns false if the slot was closed.
func (c *carrier) retake() bool {
	s := c.s
	yield("carrier.retake")
	if s.state.CompareAndSwap(slotVacant, slotHeld) {
		s.e.watch()
	} else {
		yield("carrier.resume")
		for {
			c.link = s.resume.Load()
			if s.resume.CompareAndSwap(c.link, c) {
				break
			}
		}
		if s.poke(); s.state.Load() == slotClosed {
			s.release()
		}
		<-c.back
		if s.state.Load() == slotClosed {
			c.orphaned = true
			return false
		}
	}
	s.lent, s.cur = false, c
	s.arrive(c)
	return true
}

// release lets the carriers go that want a closed slot back.
//
//	slot.close: state = closed, empties resume
//	retake:     pushes to resume, looks at state
//
// so one of them finds every carrier that comes too late.
func (s *slot) release() {
	for c := s.resume.Swap(nil); c != nil; {
		next := c.link
		c.back <- struct{}{}
		c = next
	}
}

// depart and arrive keep the list of carriers whose handlers run, or wait,
// without the slot.
func (s *slot) depart(c *carrier) {
	if c.prev, c.next = nil, s.away; c.next != nil {
		c.next.prev = c
	}
	s.away = c
}

func (s *slot) arrive(c *carrier) {
	if c.next != nil {
		c.next.prev = c.prev
	}
	switch {
	case c.prev != nil:
		c.prev.next = c.next
	case s.away == c:
		s.away = c.next
	}
	c.prev, c.next = nil, nil
}
