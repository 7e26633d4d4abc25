package peer

import "sync"

// turnSize is how many messages of a key a worker handles before it looks at
// other keys: the same for all peers that take turns.
const turnSize = 16

// readyQueue is the textbook keyed executor: a sharded map of mailboxes and one
// queue of those that have messages (mutex, condition, slice), for N workers.
type readyQueue struct {
	h      Handler
	shards [64]readyShard
	mu     sync.Mutex
	cond   sync.Cond
	ready  []*readyBox
	head   int
	closed bool
	wg     sync.WaitGroup
}

type readyShard struct {
	mu   sync.Mutex
	m    map[uint64]*readyBox
	free []*readyBox
	_    [24]byte
}

type readyBox struct {
	s     *readyShard
	key   uint64
	queue []*Msg // guarded by s.mu
	head  int
}

func newReadyQueue(h Handler, c Config) Exec {
	return perLane(func(h Handler, c Config) Exec {
		e := &readyQueue{h: h}
		e.cond.L = &e.mu
		for i := range e.shards {
			e.shards[i].m = map[uint64]*readyBox{}
		}
		for range c.Workers {
			e.wg.Go(e.work)
		}
		return e
	})(h, c)
}

func (e *readyQueue) Submit(m *Msg) {
	s := &e.shards[mix(m.Key)>>58]
	s.mu.Lock()
	b := s.m[m.Key]
	fresh := b == nil
	if fresh {
		if n := len(s.free); n > 0 {
			b, s.free = s.free[n-1], s.free[:n-1]
		} else {
			b = &readyBox{s: s}
		}
		b.key = m.Key
		s.m[m.Key] = b
	}
	b.queue = append(b.queue, m)
	s.mu.Unlock()
	if fresh {
		e.push(b)
	}
}

func (e *readyQueue) push(b *readyBox) {
	e.mu.Lock()
	e.ready = append(e.ready, b)
	e.mu.Unlock()
	e.cond.Signal()
}

// pop waits for a mailbox; nil once the executor is closed.
func (e *readyQueue) pop() *readyBox {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.head == len(e.ready) {
		if e.closed {
			return nil
		}
		e.cond.Wait()
	}
	b := e.ready[e.head]
	e.ready[e.head] = nil
	e.ready, e.head = trim(e.ready, e.head+1)
	return b
}

// trim moves the rest of a queue to the front when enough of it has been read.
func trim[T any](q []T, head int) ([]T, int) {
	if head == len(q) {
		return q[:0], 0
	}
	if head > 1024 && head*2 > len(q) {
		return q[:copy(q, q[head:])], 0
	}
	return q, head
}

func (e *readyQueue) work() {
	var turn [turnSize]*Msg
	for {
		b := e.pop()
		if b == nil {
			return
		}
		s := b.s
		s.mu.Lock()
		n := copy(turn[:], b.queue[b.head:])
		b.queue, b.head = trim(b.queue, b.head+n)
		s.mu.Unlock()
		for _, m := range turn[:n] {
			e.h.Handle(m)
		}
		s.mu.Lock()
		if b.head < len(b.queue) {
			s.mu.Unlock()
			e.push(b)
			continue
		}
		delete(s.m, b.key)
		if len(s.free) < 128 {
			s.free = append(s.free, b)
		}
		s.mu.Unlock()
	}
}

func (e *readyQueue) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cond.Broadcast()
	e.wg.Wait()
}
