package peer

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// keyQueue is client-go's workqueue, which never hands out a key twice at once,
// over the pending messages of each key.
type keyQueue struct {
	h      Handler
	q      workqueue.TypedInterface[uint64]
	shards [64]keyShard
	wg     sync.WaitGroup
}

type keyShard struct {
	mu   sync.Mutex
	m    map[uint64]*keyBox
	free []*keyBox
	_    [24]byte
}

type keyBox struct{ queue []*Msg }

func newWorkqueue(h Handler, c Config) Exec {
	return perLane(func(h Handler, c Config) Exec {
		e := &keyQueue{h: h, q: workqueue.NewTyped[uint64]()}
		for i := range e.shards {
			e.shards[i].m = map[uint64]*keyBox{}
		}
		for range c.Workers {
			e.wg.Go(e.work)
		}
		return e
	})(h, c)
}

func (e *keyQueue) Submit(m *Msg) {
	s := &e.shards[mix(m.Key)>>58]
	s.mu.Lock()
	b := s.m[m.Key]
	first := b == nil
	if first {
		if n := len(s.free); n > 0 {
			b, s.free = s.free[n-1], s.free[:n-1]
		} else {
			b = &keyBox{}
		}
		s.m[m.Key] = b
	}
	b.queue = append(b.queue, m)
	s.mu.Unlock()
	if first { // later ones are seen by the worker that has or will get the key
		e.q.Add(m.Key)
	}
}

func (e *keyQueue) work() {
	var turn [turnSize]*Msg
	for {
		key, shut := e.q.Get()
		if shut {
			return
		}
		s := &e.shards[mix(key)>>58]
		s.mu.Lock()
		b := s.m[key]
		n := copy(turn[:], b.queue)
		b.queue = b.queue[:copy(b.queue, b.queue[n:])]
		s.mu.Unlock()
		for _, m := range turn[:n] {
			e.h.Handle(m)
		}
		s.mu.Lock()
		more := len(b.queue) > 0
		if !more {
			delete(s.m, key)
			if len(s.free) < 128 {
				s.free = append(s.free, b)
			}
		}
		s.mu.Unlock()
		if more {
			e.q.Add(key)
		}
		e.q.Done(key)
	}
}

func (e *keyQueue) Close() { e.q.ShutDown(); e.wg.Wait() }
