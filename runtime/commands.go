package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// commands is the component that decides commands: a lane for each bounded
// context, the cache of states, and the committer of stores that wait.
type commands struct {
	r     *Runtime
	lanes map[string]*lane // by bounded context
	cache *cache
	newID func(now time.Time) string

	handover *handover // to this process's consumers; nil if there are none

	// instant is the store if it is one in memory: it is called on the worker.
	// Otherwise appends and confirmations of many mailboxes share calls.
	instant store.Instant
	appends *batcher[*flight]
	settles *batcher[*flight]

	ctx    context.Context // of the store's calls; ends with a forced stop
	cancel context.CancelFunc
	quit   chan struct{} // ends the sweeping
	wg     sync.WaitGroup
}

// lane is the door to the mailboxes of one bounded context.
type lane struct {
	r    *Runtime
	name string
	in   mailboxes[wow.Target, *flight]
}

func (c *commands) prepare(ctx context.Context) error {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.quit = make(chan struct{})
	c.lanes = map[string]*lane{}
	c.cache = newCache(c.r.cfg.Cache)
	c.newID = newID
	if custom := c.r.cfg.NewID; custom != nil {
		c.newID = func(time.Time) string { return custom() }
	}
	var errs []error
	for _, a := range c.r.types.aggregates {
		name := wow.Target{Aggregate: a.name}.Context()
		if c.lanes[name] == nil {
			l, err := c.open(name)
			errs = append(errs, err)
			c.lanes[name] = l
		}
		a.lane = c.lanes[name]
	}
	if len(c.r.processors)+len(c.r.projections)+len(c.r.sagas) > 0 {
		c.handover = new(handover)
	}
	c.instant, _ = c.r.store.(store.Instant)
	if c.instant == nil {
		// Every command in a lane may wait for its append: the queue of that
		// size never fills.
		room := len(c.lanes) * c.r.cfg.Dispatch.MaxInFlight
		c.appends = newBatcher(room, c.r.cfg.Commit.Batch, c.r.cfg.Commit.Bytes, func(f *flight) int { return f.bytes })
		c.settles = newBatcher(room, c.r.cfg.Commit.Batch, 1<<30, func(*flight) int { return 0 })
	}
	return errors.Join(errs...)
}

func (c *commands) open(name string) (*lane, error) {
	l := &lane{r: c.r, name: name}
	cfg := executor.LaneConfig[wow.Target, *flight]{
		Name:     "commands of " + name,
		PerKey:   c.r.cfg.PerAggregate,
		Overflow: c.r.cfg.Dispatch.MaxInFlight,
		Done:     l.done,
	}
	in, err := executor.Open(c.r.executor, cfg, l.handle)
	if err == nil { // a nil *executor.Lane would not be nil any more
		l.in = in
	}
	return l, err
}

func (c *commands) start(context.Context) error {
	if c.instant == nil {
		c.wg.Go(func() { c.appends.run(c.commit) })
		c.wg.Go(func() { c.settles.run(c.confirm) })
	}
	c.wg.Go(c.sweep)
	return nil
}

// sweep lets states go that were not used for a while.
func (c *commands) sweep() {
	tick := time.NewTicker(c.r.cfg.Cache.sweepEvery())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.cache.sweep()
		case <-c.quit:
			return
		}
	}
}

// quiesce waits for the lanes; the runtime waits for the answers.
func (c *commands) quiesce(ctx context.Context) error { return c.r.life.drained(ctx) }

// stop closes the lanes, then what they hand their decisions to.
func (c *commands) stop(ctx context.Context) error {
	var errs []error
	for _, l := range c.lanes {
		if l == nil || l.in == nil {
			continue
		}
		if err := l.in.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("runtime: closing the commands of %s: %w", l.name, err))
		}
	}
	if c.appends != nil {
		c.appends.close()
		c.settles.close()
	}
	errs = append(errs, c.ended(ctx))
	return errors.Join(errs...)
}

// ended waits until the component's goroutines are gone. When ctx ends, it
// cuts the calls of the store short, and does not wait for one that does not
// care.
func (c *commands) ended(ctx context.Context) error {
	close(c.quit)
	done := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(done)
	}()
	defer c.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	c.cancel()
	select {
	case <-done:
		return nil
	case <-time.After(lastWord):
		return fmt.Errorf("runtime: stopping: the store does not return from an append: %w", context.Cause(ctx))
	}
}

// lastWord is how long a forced stop waits for the store to notice.
const lastWord = 100 * time.Millisecond

// handle takes a command one step further. It is the mailbox: for each
// aggregate one command at a time, from its first step to its answer.
func (l *lane) handle(ctx context.Context, _ wow.Target, f *flight) executor.Outcome {
	switch f.step {
	case stepBegin:
		if !f.claim() {
			return executor.Done(nil) // the sender has left
		}
		f.step = stepDecide
		return l.decide(ctx, f)
	case stepDecide:
		return l.decide(ctx, f)
	case stepAppend:
		return l.append(ctx, f)
	default:
		return l.settle(ctx, f)
	}
}

// done hands the answer out, once the mailbox has let go of the command.
func (l *lane) done(_ wow.Target, f *flight, err error) {
	if err != nil {
		l.broken(f, err)
	}
	r := l.r
	f.answer()
	r.life.leave()
}
