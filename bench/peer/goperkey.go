package peer

import "sync"

// goPerKey gives every key a goroutine and a channel when it is first seen, and
// keeps them.
type goPerKey struct {
	h  Handler
	mu sync.RWMutex
	m  map[uint64]chan *Msg
	wg sync.WaitGroup
}

func newGoPerKey(h Handler, c Config) Exec {
	return perLane(func(h Handler, _ Config) Exec {
		return &goPerKey{h: h, m: map[uint64]chan *Msg{}}
	})(h, c)
}

func (e *goPerKey) Submit(m *Msg) {
	e.mu.RLock()
	ch := e.m[m.Key]
	e.mu.RUnlock()
	if ch == nil {
		ch = e.create(m.Key)
	}
	ch <- m
}

func (e *goPerKey) create(key uint64) chan *Msg {
	e.mu.Lock()
	defer e.mu.Unlock()
	ch := e.m[key]
	if ch == nil {
		ch = make(chan *Msg, 256)
		e.m[key] = ch
		e.wg.Go(func() {
			for m := range ch {
				e.h.Handle(m)
			}
		})
	}
	return ch
}

func (e *goPerKey) Close() {
	for _, ch := range e.m {
		close(ch)
	}
	e.wg.Wait()
}
