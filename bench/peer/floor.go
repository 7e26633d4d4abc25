package peer

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The floors: what a hand-over costs that promises nothing about keys.

// inline calls the handler: its time is the harness's own.
type inline struct{ h Handler }

func newInline(h Handler, _ Config) Exec { return inline{h} }

func (e inline) Submit(m *Msg) { e.h.Handle(m) }
func (e inline) Close()        {}

// parker blocks one goroutine until another wakes it.
type parker struct {
	asleep atomic.Uint32
	token  chan struct{}
}

func (p *parker) wake() {
	if p.asleep.Load() != 0 && p.asleep.CompareAndSwap(1, 0) {
		p.token <- struct{}{}
	}
}

// wait returns once ready has reported true; it spins a little, then parks.
// ready may have effects: it is not called again after it reported true.
func (p *parker) wait(ready func() bool) {
	for range 64 {
		if ready() {
			return
		}
	}
	runtime.Gosched()
	for !ready() {
		p.asleep.Store(1)
		if ready() { // the second look: see wake
			if !p.asleep.CompareAndSwap(1, 0) {
				<-p.token
			}
			return
		}
		<-p.token
	}
}

// spsc is a ring between two goroutines, each with its own copy of the other's
// index.
type spsc struct {
	h    Handler
	mask uint64
	buf  []*Msg
	_    [64]byte
	tail atomic.Uint64 // the sender's
	seen uint64        // head, as far as the sender knows
	_    [48]byte
	head atomic.Uint64 // the worker's
	_    [56]byte

	worker, sender parker
	closed         atomic.Bool
	wg             sync.WaitGroup
}

func newSPSC(h Handler, _ Config) Exec {
	const size = 4096
	e := &spsc{h: h, mask: size - 1, buf: make([]*Msg, size)}
	e.worker.token, e.sender.token = make(chan struct{}, 1), make(chan struct{}, 1)
	e.wg.Go(e.work)
	return e
}

func (e *spsc) Submit(m *Msg) {
	t := e.tail.Load()
	if t-e.seen > e.mask {
		if e.seen = e.head.Load(); t-e.seen > e.mask {
			e.sender.wait(func() bool { e.seen = e.head.Load(); return t-e.seen <= e.mask/2 })
		}
	}
	e.buf[t&e.mask] = m
	e.tail.Store(t + 1)
	e.worker.wake()
}

func (e *spsc) work() {
	head := uint64(0)
	for {
		tail := e.tail.Load()
		if tail == head {
			e.head.Store(head)
			e.sender.wake()
			e.worker.wait(func() bool { return e.tail.Load() != head || e.closed.Load() })
			if tail = e.tail.Load(); tail == head {
				return
			}
		}
		for ; head != tail; head++ {
			e.h.Handle(e.buf[head&e.mask])
			if head&63 == 63 {
				e.head.Store(head + 1)
				e.sender.wake()
			}
		}
	}
}

func (e *spsc) Close() { e.closed.Store(true); e.worker.wake(); e.wg.Wait() }

// mpsc links the messages of many senders for one worker: a swap and a store
// per message.
type mpsc struct {
	h    Handler
	head atomic.Pointer[Msg] // the senders'
	_    [56]byte
	tail *Msg // the worker's
	_    [56]byte
	stub Msg

	worker parker
	closed atomic.Bool
	wg     sync.WaitGroup
}

func newMPSC(h Handler, _ Config) Exec {
	e := &mpsc{h: h}
	e.head.Store(&e.stub)
	e.tail = &e.stub
	e.worker.token = make(chan struct{}, 1)
	e.wg.Go(e.work)
	return e
}

func (e *mpsc) push(m *Msg) {
	m.Next.Store(nil)
	e.head.Swap(m).Next.Store(m)
}

func (e *mpsc) Submit(m *Msg) { e.push(m); e.worker.wake() }

// pop returns nil also while a sender is between the swap and the store.
func (e *mpsc) pop() *Msg {
	tail := e.tail
	next := tail.Next.Load()
	if tail == &e.stub {
		if next == nil {
			return nil
		}
		e.tail, tail = next, next
		next = next.Next.Load()
	}
	if next != nil {
		e.tail = next
		return tail
	}
	if tail != e.head.Load() {
		return nil
	}
	e.push(&e.stub)
	if next = tail.Next.Load(); next != nil {
		e.tail = next
		return tail
	}
	return nil
}

func (e *mpsc) work() {
	for {
		m := e.pop()
		if m == nil {
			e.worker.wait(func() bool { m = e.pop(); return m != nil || e.closed.Load() })
			if m == nil {
				return
			}
		}
		e.h.Handle(m)
	}
}

func (e *mpsc) Close() { e.closed.Store(true); e.worker.wake(); e.wg.Wait() }

// goPerMessage and afterFunc keep no order at all: they tell what waiting costs
// by itself.
type goPerMessage struct{ h Handler }

func newGoPerMessage(h Handler, _ Config) Exec { return goPerMessage{h} }

func (e goPerMessage) Submit(m *Msg) { go e.h.Handle(m) }
func (e goPerMessage) Close()        {}

type afterFunc struct{ h Handler }

func newAfterFunc(h Handler, _ Config) Exec { return afterFunc{h} }

func (e afterFunc) Submit(m *Msg) { time.AfterFunc(e.h.Wait(), func() { e.h.Finish(m) }) }
func (e afterFunc) Close()        {}
