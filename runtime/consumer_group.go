package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// checkpointEvery is how often checkpoints are stored while consumers work. A
// crash repeats about as much.
const checkpointEvery = 100 * time.Millisecond

// wishRoom is how many wishes of operators a lane takes above its window.
const wishRoom = 64

// consumerEnv is what consumers need of a runtime.
type consumerEnv struct {
	store    store.Store
	executor *executor.Executor
	pools    pools // that blocking functions name
	out      *slog.Logger
	send     func(ctx context.Context, cmd wow.Sendable, request string) error // for sagas
	command  func(aggregate, name string) (*wow.CommandType, error)            // that is registered
	handover *handover                                                         // of what this process decided; nil for none
	owner    string                                                            // of leases: this life of the process
	keep     chan struct{}                                                     // holds a token when there are checkpoints to store
	quiet    chan struct{}                                                     // closed when consumers are to stop
	over     context.Context                                                   // ends when consumers stop
	wishes   sync.WaitGroup                                                    // of operators, being carried out
	lost     chan struct{}                                                     // holds a token when a lease was lost
	ended    chan struct{}                                                     // closed when consumers have stopped
}

// consumers is the part of a runtime that runs all consumers.
type consumers struct {
	r     *Runtime
	env   *consumerEnv
	all   []*consumer
	tails []*tail // one a shard

	quieted sync.Once
	leases  *leases
	mu      sync.Mutex      // guards pull, and what begins under it
	pull    context.Context // ends with quiesce; nil before start
	pulling sync.WaitGroup  // tails and feeds
	halt    context.CancelFunc
	keeping sync.WaitGroup // the keeper
	rest    context.CancelFunc
}

// newConsumer returns a consumer without the functions to call.
func newConsumer(env *consumerEnv, name string, kind Kind, functions []Function) (*consumer, error) {
	t, err := newTable(name, functions)
	if name == "" {
		err = errors.Join(err, fmt.Errorf("a %s has no name", kind))
	}
	if err != nil {
		return nil, err
	}
	return &consumer{
		env:    env,
		name:   name,
		kind:   kind,
		table:  t,
		blocks: blocks{limit: parkedMax},
		states: newStateFolder(env.store, statesKept),
	}, nil
}

// prepare makes the consumers of everything that was registered.
func (cs *consumers) prepare(ctx context.Context) error {
	cs.env = &consumerEnv{
		store:    cs.r.store,
		executor: cs.r.executor,
		pools:    cs.r.pools,
		out:      cs.r.log,
		send: func(ctx context.Context, cmd wow.Sendable, request string) error {
			_, err := cs.r.Gateway().Send(ctx, cmd, WithRequest(request))
			return err
		},
		command:  cs.command,
		handover: cs.r.commands.handover,
		owner:    newID(time.Now()),
		keep:     make(chan struct{}, 1),
		lost:     make(chan struct{}, 1),
		quiet:    make(chan struct{}),
		ended:    make(chan struct{}),
	}
	if err := cs.build(cs.r.Handlers()); err != nil {
		return err
	}
	return cs.open(ctx)
}

// command returns the type of a command that is registered, or that a saga says
// it sends: over a bus somebody else may decide it.
func (cs *consumers) command(aggregate, name string) (*wow.CommandType, error) {
	for _, s := range cs.r.sagas {
		for _, t := range s.Sends {
			if t.Aggregate == aggregate && t.Name == name {
				return t, nil
			}
		}
	}
	return cs.r.types.command(aggregate, name)
}

// open opens a lane for each consumer, claims its feeds, and puts those that are
// this process's where they stood.
func (cs *consumers) open(ctx context.Context) error {
	if len(cs.all) == 0 {
		return nil
	}
	for shard := range cs.env.store.Shards() {
		head, err := cs.env.store.Head(ctx, shard)
		if err != nil {
			return fmt.Errorf("consumers: reading the head of shard %d: %w", shard, err)
		}
		t := newTail(cs.env.store, shard, cs.env.out)
		t.start(head.Seq)
		cs.tails = append(cs.tails, t)
	}
	var errs []error
	for _, c := range cs.all {
		errs = append(errs, c.open(cs.tails))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	cs.leases = newLeases(cs)
	return cs.leases.first(ctx)
}

func (c *consumer) open(tails []*tail) (err error) {
	c.lane, err = executor.Open(c.env.executor, executor.LaneConfig[wow.Target, *task]{
		Name:        c.name,
		MaxInFlight: markWindow*len(tails) + wishRoom,
		Done:        c.done,
	}, c.handle)
	if err != nil {
		return err
	}
	for _, t := range tails {
		f := &feed{c: c, tail: t, wake: make(chan struct{}, 1)}
		f.note(store.Lease{})
		t.attach(f.wake)
		c.feeds = append(c.feeds, f)
	}
	return nil
}

// resume returns where the consumer stands in a shard.
func (c *consumer) resume(ctx context.Context, shard int32) (at store.Checkpoint, err error) {
	if c.tx == nil {
		return c.env.store.Checkpoint(ctx, c.name, shard, 0)
	}
	at.Position, err = c.tx.Resume(ctx, shard)
	return at, err
}

// start begins to pull.
func (cs *consumers) start(context.Context) error {
	var keep context.Context
	cs.mu.Lock()
	cs.pull, cs.halt = context.WithCancel(context.Background())
	cs.mu.Unlock()
	keep, cs.rest = context.WithCancel(context.Background())
	cs.env.over = keep
	for _, c := range cs.all {
		for _, f := range c.feeds {
			if f.mark() != nil {
				cs.begin(f)
			}
		}
	}
	for _, t := range cs.tails {
		cs.pulling.Go(func() { t.run(cs.pull) })
	}
	if len(cs.all) > 0 {
		cs.keeping.Go(func() { cs.keepCheckpoints(keep) })
		cs.keeping.Go(func() { cs.leases.keep(keep) })
		cs.keeping.Go(func() { cs.watchHanging(keep) })
	}
	return nil
}

// quiesce stops pulling and waits until what was taken is finished, or left: a
// function that fails now is not tried again before the next start.
func (cs *consumers) quiesce(ctx context.Context) error {
	for _, c := range cs.all {
		c.stopping.Store(true)
	}
	if cs.env != nil && cs.env.quiet != nil {
		cs.quieted.Do(func() { close(cs.env.quiet) })
	}
	if cs.halt == nil {
		return nil
	}
	cs.stopPulling()
	var errs []error
	for _, c := range cs.all {
		if err := c.lane.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("consumer %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// stop stores the last checkpoints and ends every goroutine.
func (cs *consumers) stop(ctx context.Context) error {
	if cs.halt == nil {
		if cs.leases != nil { // the start failed behind the claim
			return cs.leases.end(ctx)
		}
		return nil
	}
	cs.stopPulling()
	cs.rest()
	cs.keeping.Wait()
	cs.env.wishes.Wait()
	close(cs.env.ended)
	err := cs.saveCheckpoints(ctx)
	if cs.leases != nil { // also when the time for the rest is over: others wait for it
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseMargin)
		defer cancel()
		err = errors.Join(err, cs.leases.end(last))
	}
	return err
}

// stopPulling ends what takes commits. Nothing begins again after it.
func (cs *consumers) stopPulling() {
	cs.mu.Lock()
	cs.halt()
	cs.mu.Unlock()
	cs.pulling.Wait()
}

// keepCheckpoints stores checkpoints until ctx ends.
func (cs *consumers) keepCheckpoints(ctx context.Context) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for ctx.Err() == nil {
		await(ctx, nil, cs.env.keep)
		pause.Reset(checkpointEvery)
		await(ctx, pause.C, nil)
		if err := cs.saveCheckpoints(ctx); err != nil && ctx.Err() == nil {
			cs.env.out.Error("storing checkpoints failed, trying again", "error", err)
			nudge(cs.env.keep)
		}
	}
}

// saveCheckpoints stores those that have moved.
func (cs *consumers) saveCheckpoints(ctx context.Context) error {
	var errs []error
	for _, c := range cs.all {
		for _, f := range c.feeds {
			if err := f.save(ctx); err != nil {
				errs = append(errs, fmt.Errorf("consumer %s: storing its checkpoint: %w", c.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// save stores the feed's checkpoint if it has moved. One that is refused ends the
// tenure: somebody else owns the segment.
//
// A projection with transactions has stored its progress itself; what is stored
// here tells other processes how far it is.
func (f *feed) save(ctx context.Context) error {
	f.keeping.Lock()
	defer f.keeping.Unlock()
	m := f.mark()
	if m == nil || f.lost.Load() || !f.dirty.Swap(false) {
		return nil
	}
	at := m.checkpoint()
	if at == f.saved {
		return nil
	}
	now := time.Now()
	f.since.Store(now.UnixMicro())
	if head := f.tail.head(); f.meter.note(now, at, head) {
		rate, left := f.meter.left(head - at)
		f.c.env.out.Info("consumer catches up", "consumer", f.c.name, "position", at, "head", head, "per second", int64(rate), "left", left)
	}
	err := f.c.env.store.SaveCheckpoint(ctx, store.Checkpoint{
		Consumer: f.c.name,
		Epoch:    f.epoch.Load(),
		Position: wow.Position{Shard: f.tail.shard, Seq: at},
	})
	switch {
	case err == nil:
		f.saved = at
	case errors.Is(err, store.ErrEpoch) && f.c.tx != nil:
		f.saved = at // its own progress was set back, and decides
		return nil
	case errors.Is(err, store.ErrEpoch):
		f.lost.Store(true)
		nudge(f.c.env.lost)
		f.c.env.out.Warn("a checkpoint is refused: another process runs the consumer", "consumer", f.c.name)
		return nil
	default:
		f.dirty.Store(true)
	}
	return err
}
