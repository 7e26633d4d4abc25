package peer

import (
	"sync"

	"github.com/alitto/pond/v2"
	"github.com/panjf2000/ants/v2"
)

// strands is a map of per-key queues in 64 locked shards. The message that
// makes a key active starts a drain of it: on a goroutine of its own, or on
// somebody's pool.
type strands struct {
	h      Handler
	start  func(*strand)
	stop   func()
	shards [64]strandShard
	active sync.WaitGroup
}

type strandShard struct {
	mu   sync.Mutex
	m    map[uint64]*strand
	free []*strand
	_    [24]byte
}

type strand struct {
	e     *strands
	s     *strandShard
	key   uint64
	queue []*Msg // guarded by s.mu
	spare []*Msg
}

func (e *strands) open(h Handler) *strands {
	e.h = h
	for i := range e.shards {
		e.shards[i].m = map[uint64]*strand{}
	}
	return e
}

func (e *strands) Submit(m *Msg) {
	s := &e.shards[mix(m.Key)>>58]
	s.mu.Lock()
	q := s.m[m.Key]
	if q != nil {
		q.queue = append(q.queue, m)
		s.mu.Unlock()
		return
	}
	if n := len(s.free); n > 0 {
		q, s.free = s.free[n-1], s.free[:n-1]
	} else {
		q = &strand{e: e, s: s}
	}
	q.key = m.Key
	q.queue = append(q.queue, m)
	s.m[m.Key] = q
	s.mu.Unlock()
	e.active.Add(1)
	e.start(q)
}

// run drains the strand and then forgets it.
func (q *strand) run() {
	defer q.e.active.Done()
	s := q.s
	for {
		s.mu.Lock()
		if len(q.queue) == 0 {
			delete(s.m, q.key)
			if len(s.free) < 128 {
				s.free = append(s.free, q)
			}
			s.mu.Unlock()
			return
		}
		batch := q.queue
		q.queue = q.spare[:0]
		s.mu.Unlock()
		for _, m := range batch {
			q.e.h.Handle(m)
		}
		clear(batch)
		q.spare = batch
	}
}

func (e *strands) Close() {
	e.active.Wait()
	if e.stop != nil {
		e.stop()
	}
}

func newStrands(h Handler, c Config) Exec {
	return perLane(func(h Handler, _ Config) Exec {
		return (&strands{start: func(q *strand) { go q.run() }}).open(h)
	})(h, c)
}

func newPond(h Handler, c Config) Exec {
	return perLane(func(h Handler, c Config) Exec {
		p := pond.NewPool(c.Workers)
		return (&strands{
			start: func(q *strand) { must(p.Go(q.run)) },
			stop:  p.StopAndWait,
		}).open(h)
	})(h, c)
}

func newAnts(h Handler, c Config) Exec {
	return perLane(func(h Handler, c Config) Exec {
		p, err := ants.NewPoolWithFuncGeneric(c.Workers, (*strand).run) // no closure per task
		must(err)
		return (&strands{
			start: func(q *strand) { must(p.Invoke(q)) },
			stop:  p.Release,
		}).open(h)
	})(h, c)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
