package executor

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Executor owns the workers that the lanes share.
type Executor struct {
	cfg    Config
	base   context.Context // of the handlers; ends when Close gives up
	cancel context.CancelFunc

	mu      sync.Mutex
	running int // workers that hold a slot
	runq    []runnable
	lanes   []laneCore
	stopped bool
	left    int // admitted and unfinished, over all lanes
	drained chan struct{}
	pool    int // offload goroutines
	poolq   []func()
	wg      sync.WaitGroup
}

// runnable is what a worker takes from the run queue: a mailbox's turn, or a
// handler that wants its slot back.
type runnable interface{ step(e *Executor) (held bool) }

type laneCore interface {
	close()
	leftovers() []Left
	stats() LaneStats
}

// New returns a running executor.
func New(cfg Config) (*Executor, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, drained: make(chan struct{}, 1)}
	e.base, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Shared returns an executor for the whole process, for code that has no
// runtime of its own, such as a unit test. It is never closed.
func Shared() *Executor { return shared() }

var shared = sync.OnceValue(func() *Executor {
	e, err := New(Config{})
	if err != nil {
		panic(err)
	}
	return e
})

// push makes r runnable; e.mu is held.
func (e *Executor) push(r runnable) {
	e.runq = append(e.runq, r)
	e.kick()
}

// kick starts a worker if there is work and room for it; e.mu is held.
func (e *Executor) kick() {
	if len(e.runq) > 0 && e.running < e.cfg.Workers {
		e.running++
		e.wg.Go(e.work)
	}
}

// work holds a slot and runs turns until nothing is queued.
func (e *Executor) work() {
	held := true
	defer func() { // a handler may end the goroutine by runtime.Goexit
		if held {
			e.mu.Lock()
			e.running--
			e.kick()
			e.mu.Unlock()
		}
	}()
	for {
		e.mu.Lock()
		if len(e.runq) == 0 {
			e.running--
			held = false
			e.mu.Unlock()
			return
		}
		r := e.runq[0]
		e.runq = slices.Delete(e.runq, 0, 1)
		e.kick()
		e.mu.Unlock()
		if held = r.step(e); !held {
			return
		}
	}
}

// turn is the context of a handler while it runs.
type turn struct {
	context.Context
	e       *Executor
	mu      sync.Mutex
	over    bool
	waiting int
	back    chan struct{}
	later   func() (Outcome, Completion)
}

type turnKey struct{}

func (t *turn) Value(k any) any {
	if k == (turnKey{}) {
		return t
	}
	return t.Context.Value(k)
}

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// step gives the slot to a handler whose wait is over.
func (t *turn) step(*Executor) bool {
	t.back <- struct{}{}
	return false
}

// leave gives the slot away, if the caller is the first of its handler to wait.
func (t *turn) leave() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	if t.waiting++; t.waiting == 1 {
		t.e.mu.Lock()
		t.e.running--
		t.e.kick()
		t.e.mu.Unlock()
	}
	return true
}

// enter takes the slot back, if the caller is the last to have waited.
func (t *turn) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting--; t.waiting > 0 {
		return
	}
	t.e.mu.Lock()
	t.e.push(t)
	t.e.mu.Unlock()
	<-t.back
}

// end is called when the handler returned: it waits for its last waiter.
func (t *turn) end() {
	t.mu.Lock()
	t.over = true
	if t.waiting > 0 { // a goroutine of the handler waits on: take the slot back without it
		t.waiting = 1 << 30
		t.e.mu.Lock()
		t.e.push(t)
		t.e.mu.Unlock()
		<-t.back
	}
	t.mu.Unlock()
}

// Await runs f without holding the handler's worker, and returns what it
// returned once the handler has a worker again. ctx must be the handler's, or
// come from it; with any other, Await just calls f.
func Await[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	t := turnOf(ctx)
	if t == nil || !t.leave() {
		return f(ctx)
	}
	defer t.enter()
	return f(ctx)
}

// Completion finishes a message whose handler returned the outcome of [Later].
type Completion struct{ f func(Outcome) bool }

// Complete says how the message goes on. Only the first call counts; it
// reports whether it was this one. Any goroutine may call it.
func (c Completion) Complete(o Outcome) bool { return c.f(o) }

// Later returns an outcome that leaves the message unfinished until its
// Completion is completed, which may happen before the handler returns.
func Later(ctx context.Context) (Outcome, Completion) {
	t := turnOf(ctx)
	if t == nil {
		panic("executor: Later called without a handler's context")
	}
	return t.later()
}

// offload runs f on the pool; when the queue is full, the message comes back
// after a millisecond.
func (e *Executor) offload(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pool < e.cfg.OffloadWorkers {
		e.pool++
		e.wg.Go(func() { e.poolWork(f) })
		return true
	}
	if len(e.poolq) >= e.cfg.OffloadQueue {
		return false
	}
	e.poolq = append(e.poolq, f)
	return true
}

func (e *Executor) poolWork(f func()) {
	for {
		f()
		e.mu.Lock()
		if len(e.poolq) == 0 {
			e.pool--
			e.mu.Unlock()
			return
		}
		f = e.poolq[0]
		e.poolq = slices.Delete(e.poolq, 0, 1)
		e.mu.Unlock()
	}
}

// protect runs f and turns a panic or a Goexit into an outcome, through set.
func protect(key any, f func() Outcome, set func(Outcome)) {
	normal := false
	var o Outcome
	defer func() {
		if !normal {
			v := recover()
			if v == nil {
				v = ErrGoexit
			}
			o = Done(&PanicError{Key: key, Value: v, Stack: debug.Stack()})
		}
		set(o)
	}()
	o = f()
	normal = true
}

// Close stops admission and waits until everything admitted has finished, or
// ctx ends: then it cancels the handlers' contexts and returns a [*LeftError].
// It may be called twice.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	e.stopped = true
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	for _, l := range lanes {
		l.close()
	}
	for {
		e.mu.Lock()
		left := e.left
		e.mu.Unlock()
		if left == 0 {
			e.wg.Wait()
			e.cancel()
			return nil
		}
		select {
		case <-e.drained:
		case <-ctx.Done():
			defer e.cancel() // after the count
			err := &LeftError{Cause: ctx.Err()}
			for _, l := range lanes {
				err.Keys = append(err.Keys, l.leftovers()...)
			}
			for _, k := range err.Keys {
				err.Total += k.Count
			}
			slices.SortFunc(err.Keys, func(a, b Left) int { return b.Count - a.Count })
			err.Keys = err.Keys[:min(len(err.Keys), 1000)]
			return err
		}
	}
}

// Stats is a picture of an executor, taken without stopping it.
type Stats struct {
	Workers int         `json:"workers"`
	Running int         `json:"running"`
	Queued  int         `json:"queued"`
	Lanes   []LaneStats `json:"lanes"`
}

// LaneStats is a picture of a lane.
type LaneStats struct {
	Name      string `json:"name"`
	Window    int    `json:"window"`
	InFlight  int    `json:"in_flight"`
	Admitted  uint64 `json:"admitted"`
	Completed uint64 `json:"completed"`
}

// Stats returns a picture of the executor.
func (e *Executor) Stats() Stats {
	e.mu.Lock()
	s := Stats{Workers: e.cfg.Workers, Running: e.running, Queued: len(e.runq)}
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	for _, l := range lanes {
		s.Lanes = append(s.Lanes, l.stats())
	}
	return s
}

func (e *Executor) after(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	time.AfterFunc(d, f)
}
