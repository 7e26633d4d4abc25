package executor

import (
	"context"
	"sync/atomic"
	"time"
)

// A pend is what a mailbox needs while its first message waits without a
// goroutine: for a Completion, a timer, or the offload pool. It is made the
// first time and stays with the mailbox.
//
// There is no race between a handler that returns and a completion that is
// faster: the completion only pushes the pend to its slot's done list, and the
// one that reads the list is the slot's owner. That is the carrier that runs
// the handler, later; or another one, as the slot was taken, which finds that
// the pend is not waiting yet and leaves a note (slot.pollDone).
type pend struct {
	box  *box
	gate atomic.Uint64 // odd: a Completion with this number may complete
	out  Outcome       // how the message goes on; of whoever closed the gate
	join atomic.Int32  // with pooled: who is still to come, the completion or the function
	link *pend         // next in slot.done

	pooled bool  // Later was called by an offloaded function
	queue  *pend // next in the offload queue
	f      func(context.Context) Outcome
	timer  *time.Timer

	// The slot's.
	prev, next *pend // in slot.pending
	since      int64 // when it began to wait
	waiting    bool  // is in slot.pending
	arrived    bool  // done before it was waiting
	ready      bool  // in the run queue: out says how to go on
}

// Completion finishes a message whose handler returned an outcome of [Later].
// It is a small value that may be copied and used on any goroutine.
type Completion struct {
	p *pend
	n uint64
}

// Later returns an outcome that leaves the message unfinished until its
// Completion is completed, which may happen before the handler returns. ctx
// must be the handler's or derived from it.
//
// A handler that called Later and then returns another outcome has changed its
// mind, unless the message was completed already. Nothing runs for a key whose
// message is never completed: [Executor.Close] reports it.
func Later(ctx context.Context) (Outcome, Completion) {
	t := turnOf(ctx)
	if t == nil || t.box == nil {
		panic("executor: Later needs the context that the handler was called with")
	}
	p := t.box.pend
	if p == nil {
		p = &pend{box: t.box}
		t.box.pend = p
	}
	if t.later == 0 {
		t.later = p.gate.Load() + 1
		p.pooled = t.c == nil
		if p.pooled {
			p.join.Store(2)
		}
		p.gate.Store(t.later)
	}
	return outcome(kindLater, t.later), Completion{p, t.later}
}

// Complete says how the message goes on: it may be [Done], [Again] or
// [Offload]. Only the first call counts; Complete reports whether it was this
// one.
func (c Completion) Complete(o Outcome) bool {
	if c.p == nil || !c.p.gate.CompareAndSwap(c.n, c.n+1) {
		return false
	}
	yield("completion.complete")
	c.p.out = o
	if !c.p.pooled || c.p.join.Add(-1) == 0 {
		c.p.over()
	}
	return true
}

// over brings the pend back to its slot.
func (p *pend) over() {
	s := p.box.port.slot
	yield("pend.over")
	for {
		p.link = s.done.Load()
		if s.done.CompareAndSwap(p.link, p) {
			break
		}
	}
	s.poke()
}

// take returns the outcome and forgets it.
func (p *pend) take() Outcome {
	o := p.out
	p.out = Outcome{}
	return o
}

// hold lets a mailbox wait as o says. The caller owns the slot.
func (s *slot) hold(b *box, o Outcome) {
	if o.kind() == kindAgain && o.after() == 0 {
		s.push(b)
		return
	}
	p := b.pend
	if p == nil {
		p = &pend{box: b}
		b.pend = p
	}
	if p.arrived {
		p.arrived, p.ready = false, true
		s.push(b)
		return
	}
	s.await(p)
	switch o.kind() {
	case kindAgain:
		p.wake(o.after())
	case kindOffload:
		p.f = o.f
		s.e.pool.submit(p)
	}
}

// await and unpend keep the list of what waits.
func (s *slot) await(p *pend) {
	p.waiting, p.since = true, nanotime()
	if p.prev, p.next = nil, s.pending; p.next != nil {
		p.next.prev = p
	}
	s.pending = p
}

func (s *slot) unpend(p *pend) {
	p.waiting = false
	if p.next != nil {
		p.next.prev = p.prev
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		s.pending = p.next
	}
	p.prev, p.next = nil, nil
}

// wake brings the mailbox back after d, to run its message again. The timer is
// used again and again; it never fires twice for one wake, and there is no
// other wake before it has fired.
func (p *pend) wake(d time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, func() {
			p.out = Again(0)
			p.over()
		})
		return
	}
	p.timer.Reset(d)
}
