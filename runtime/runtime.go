package runtime

import (
	"log/slog"
	"sync"

	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// Runtime decides commands and runs consumers. It lives once: New, Register
// functions, Start, Stop.
type Runtime struct {
	cfg   Config
	log   *slog.Logger
	store store.Store
	chain Next // the middleware; nil if there is none

	mu          sync.Mutex // guards what Register functions add
	aggregates  []Aggregate
	processors  []Processor
	projections []Projection
	sagas       []Saga

	// Set by Start, read only after it.
	types    types
	executor *executor.Executor
	pools    pools
	commands commands
	flights  flightPool

	unattended sync.WaitGroup // goroutines that hear what nobody waits for

	consumers consumers

	receivers receivers // from Config.Bus
	replies   replies

	life life
}

// New returns a runtime that is yet to be started. Faults of the config are
// reported by Start, together with all others.
func New(cfg Config) *Runtime {
	r := &Runtime{cfg: cfg}
	r.commands.r = r
	r.consumers.r = r
	r.receivers.r = r
	r.chain = r.chained()
	r.life.init(cfg.ShutdownTimeout)
	return r
}

// AddAggregate is called by generated Register functions.
func (r *Runtime) AddAggregate(a Aggregate) { add(r, &r.aggregates, a) }

// AddProcessor is called by generated Register functions.
func (r *Runtime) AddProcessor(p Processor) { add(r, &r.processors, p) }

// AddProjection is called by generated Register functions.
func (r *Runtime) AddProjection(p Projection) { add(r, &r.projections, p) }

// AddSaga is called by generated Register functions.
func (r *Runtime) AddSaga(s Saga) { add(r, &r.sagas, s) }

// add registers a component. What comes after Start would silently never run.
func add[T any](r *Runtime, list *[]T, one T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.stage.Load() != created {
		panic("runtime: a Register function was called after Start: register everything before")
	}
	*list = append(*list, one)
}

// Gateway returns what sends commands to this runtime and loads its states.
func (r *Runtime) Gateway() *Gateway { return &Gateway{r} }

// Store returns the store that the runtime uses. It is nil before Start if the
// config named none.
func (r *Runtime) Store() store.Store {
	if r.store != nil {
		return r.store
	}
	return r.cfg.Store
}
