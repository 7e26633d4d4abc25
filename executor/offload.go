package executor

import (
	"runtime/debug"
	"sync"
	"time"
)

// A pool runs what handlers offload. Its goroutines come when there is work
// and leave after a while without. Its queue is linked through the mailboxes'
// pends, and a mailbox has one message in it at most, so the lanes' windows
// bound it whatever happens.
type pool struct {
	e *Executor

	mu         sync.Mutex
	head, tail *pend
	queued     int
	goroutines int
	idle       []chan *pend // of goroutines that wait, the latest last
	closed     bool
	ran        uint64
	waited     uint64 // of them, those that found the queue at its bound
}

// submit runs p.f some time. What is beyond OffloadQueue is counted as waiting:
// the message keeps its credit, and so the lane's window pushes back.
func (o *pool) submit(p *pend) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ran++
	if n := len(o.idle); n > 0 {
		ch := o.idle[n-1]
		o.idle = o.idle[:n-1]
		ch <- p // has room: its goroutine has left the list for this
		return
	}
	if o.closed {
		return // Close gave up and has reported the message
	}
	if o.goroutines < o.e.cfg.OffloadWorkers {
		o.goroutines++
		o.e.offloads.Go(func() { o.work(p) })
		return
	}
	if o.queued >= o.e.cfg.OffloadQueue {
		o.waited++
	}
	if p.queue = nil; o.tail == nil {
		o.head = p
	} else {
		o.tail.queue = p
	}
	o.tail = p
	o.queued++
}

// take returns the next of the queue, or nil and, if there may be more later,
// a channel to wait on.
func (o *pool) take(mine chan *pend) (*pend, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.head; p != nil && !o.closed {
		if o.head = p.queue; o.head == nil {
			o.tail = nil
		}
		o.queued--
		return p, true
	}
	if o.closed {
		o.goroutines--
		return nil, false
	}
	o.idle = append(o.idle, mine)
	return nil, true
}

// leave takes an idle goroutine out of the list; false: too late, work is on
// its way to it.
func (o *pool) leave(mine chan *pend) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, ch := range o.idle {
		if ch == mine {
			o.idle = append(o.idle[:i], o.idle[i+1:]...)
			o.goroutines--
			return true
		}
	}
	return false
}

// work is the life of an offload goroutine.
func (o *pool) work(p *pend) {
	t := &turn{base: o.e.base}
	mine := make(chan *pend, 1)
	timer := time.NewTimer(o.e.cfg.OffloadIdle)
	defer timer.Stop()
	for {
		if !o.one(t, p) { // the function ended the goroutine
			return
		}
		var open bool
		if p, open = o.take(mine); p != nil {
			continue
		}
		if !open {
			return
		}
		timer.Reset(o.e.cfg.OffloadIdle)
		select {
		case p = <-mine:
		case <-timer.C:
			if o.leave(mine) {
				return
			}
			p = <-mine
		}
		if p == nil { // closed
			return
		}
	}
}

// one runs one function and brings its mailbox back.
func (o *pool) one(t *turn, p *pend) (normal bool) {
	t.box, t.later = p.box, 0
	f, out := p.f, Outcome{}
	p.f = nil
	defer func() {
		if !normal {
			v := recover()
			if v == nil {
				v = ErrGoexit
				defer o.replace()
			} else {
				normal = true
			}
			out = Done(&PanicError{Key: p.box.port.lane.body.key(p.box.first), Value: v, Stack: debug.Stack()})
		}
		p.returned(t.later, out)
		t.box = nil
	}()
	out = f(t)
	return true
}

// replace makes up for a goroutine that a function ended with runtime.Goexit.
func (o *pool) replace() {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.head
	if p == nil || o.closed {
		o.goroutines--
		return
	}
	if o.head = p.queue; o.head == nil {
		o.tail = nil
	}
	o.queued--
	o.e.offloads.Go(func() { o.work(p) })
}

// returned brings the mailbox back as the offloaded function's outcome says. If
// it called Later, the function and the completion wait for each other, so that
// the next message does not start while the function still runs.
func (p *pend) returned(later uint64, o Outcome) {
	switch {
	case later == 0 && o.kind() == kindLater:
		p.out = Done(errForeign)
	case later == 0:
		p.out = o
	case o.kind() == kindLater && o.gate() == later:
		if p.join.Add(-1) != 0 {
			return
		}
	case p.gate.CompareAndSwap(later, later+1): // changed its mind in time
		p.out = o
		if o.kind() == kindLater {
			p.out = Done(errForeign)
		}
	default: // completed before
		if p.join.Add(-1) != 0 {
			return
		}
	}
	p.over()
}

// close lets the goroutines go. What is queued then was reported by Close.
func (o *pool) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.goroutines -= len(o.idle)
	for _, ch := range o.idle {
		ch <- nil
	}
	o.idle = nil
}
