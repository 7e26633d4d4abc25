package executor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Executor owns the workers that the lanes share. See the package's
// documentation for how it works.
type Executor struct {
	cfg    Config
	keep   int             // spares kept per slot
	base   context.Context // behind the handlers' contexts; ends with Close
	cancel context.CancelFunc
	slots  []*slot
	pool   pool
	waits  waitGraph

	mu      sync.Mutex
	lanes   []*lane
	stopped bool // no more lanes, no more messages

	closing atomic.Bool   // slots close when they have nothing to do
	gaveUp  atomic.Bool   // Close has: start nothing more
	quit    chan struct{} // closed with closing, for the monitor
	ended   chan struct{} // closed when the first Close has returned

	carriers  sync.WaitGroup // and monitors and reports
	offloads  sync.WaitGroup
	openSlots sync.WaitGroup

	_        [64]byte
	tick     atomic.Uint32 // ms, to about one while a slot is held
	watching atomic.Uint32 // 1: there is a monitor
	spinning atomic.Bool   // a slot looks for work instead of parking

	stalls     atomic.Uint64
	looked     atomic.Int64 // when stacks were looked at last, by nanotime; 0: never
	donePanics atomic.Uint64
}

// New returns an executor that is ready. It has no goroutines until there is
// work, and then keeps a few per worker that were needed.
func New(cfg Config) (*Executor, error) { return newExecutor(cfg, keepSpares) }

func newExecutor(cfg Config, keep int) (*Executor, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, keep: keep, quit: make(chan struct{}), ended: make(chan struct{})}
	e.base, e.cancel = context.WithCancel(context.Background())
	e.pool.e = e
	e.openSlots.Add(cfg.Workers)
	for i := range cfg.Workers {
		e.slots = append(e.slots, newSlot(e, i))
	}
	return e, nil
}

// Shared returns an executor for the whole process, with the default options,
// for code that has no runtime of its own, such as a unit test. It keeps no
// goroutines when it is idle, so it need not be closed.
func Shared() *Executor { return shared() }

var shared = sync.OnceValue(func() *Executor {
	e, err := newExecutor(Config{}, 0)
	if err != nil {
		panic(err) // the defaults are in range
	}
	return e
})

// add makes a lane known.
func (e *Executor) add(l *lane) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return ErrStopped
	}
	e.lanes = append(e.lanes, l)
	return nil
}

// remove forgets a lane that was closed and is empty.
func (e *Executor) remove(l *lane) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lanes = slices.DeleteFunc(e.lanes, func(m *lane) bool { return m == l })
}
