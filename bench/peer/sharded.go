package peer

import "sync"

// sharded has one goroutine with one channel per worker and chooses by hash:
// the least there can be, and what most services do. A slow key stops its
// shard, and a hot one has its neighbours wait behind its whole backlog.
type sharded struct {
	ch []chan *Msg
	wg sync.WaitGroup
}

func newSharded(h Handler, c Config) Exec {
	return perLane(func(h Handler, c Config) Exec {
		e := &sharded{ch: make([]chan *Msg, c.Workers)}
		for i := range e.ch {
			ch := make(chan *Msg, 1024)
			e.ch[i] = ch
			e.wg.Go(func() {
				for m := range ch {
					h.Handle(m)
				}
			})
		}
		return e
	})(h, c)
}

func (e *sharded) Submit(m *Msg) { e.ch[(mix(m.Key)>>32)*uint64(len(e.ch))>>32] <- m }

func (e *sharded) Close() {
	for _, ch := range e.ch {
		close(ch)
	}
	e.wg.Wait()
}
