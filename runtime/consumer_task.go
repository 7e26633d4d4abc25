package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// task is one commit on its way through a mailbox of one consumer.
//
// Its steps are the functions that the commit is for: those of its events in
// the order of the events, then those of the state after it in the order of
// declaration. A step that fails is tried again without those before it; a
// step that never works is parked, and with it what must wait behind it.
//
// A task belongs to its mailbox from admission until the lane calls done.
type task struct {
	f      *feed
	mark   *watermark // of the tenure that took it
	commit *store.Commit
	route  *route
	at     int   // the step to run next
	fails  int   // how often that step has failed
	first  int64 // when it first did, microseconds; 0: it has not
	doom   *doom // that step is to be parked, and was not yet
	aside  error // wow.ErrParked once a step was parked

	busy atomic.Bool // a function is being called

	wish *wish       // an operator's; then there is no commit
	run  *transacted // commits of a projection with transactions; likewise

	*call // of the step that runs; nil before and between
}

// call is what a function is called with. Tasks that wait do without it: a
// consumer that lags has a window full of them.
type call struct {
	event Recorded // the function's own copy of the data
	state StateRecorded
	out   Outbox
}

var calls = sync.Pool{New: func() any { return new(call) }}

var tasks = sync.Pool{New: func() any { return new(task) }}

func newTask(f *feed, m *watermark, c *store.Commit, r *route) *task {
	t := tasks.Get().(*task)
	t.f, t.mark, t.commit, t.route = f, m, c, r
	return t
}

// stale reports whether the tenure that took the task has ended.
func (t *task) stale() bool { return t.f != nil && t.mark != t.f.mark() }

func (t *task) free() {
	t.hangUp()
	t.f, t.mark, t.commit, t.route, t.doom, t.aside, t.wish, t.run = nil, nil, nil, nil, nil, nil, nil, nil
	t.at, t.fails, t.first = 0, 0, 0
	tasks.Put(t)
}

// steps returns how many steps the task has, those without a function
// included.
func (t *task) steps() int { return len(t.commit.Events) + len(t.route.states) }

// step returns the function of a step, or nil.
func (t *task) step(i int) *subscriber {
	if n := len(t.commit.Events); i >= n {
		return t.route.states[i-n]
	}
	return t.route.events[t.commit.Events[i].Name]
}

// next moves on to the next step.
func (t *task) next() {
	t.hangUp()
	t.at, t.fails, t.first = t.at+1, 0, 0
}

// hangUp ends the call of a step.
func (t *task) hangUp() {
	if t.call != nil {
		*t.call = call{}
		calls.Put(t.call)
		t.call = nil
	}
}

// handle runs a task, or goes on with it.
func (c *consumer) handle(ctx context.Context, key wow.Target, t *task) executor.Outcome {
	switch {
	case t.wish != nil:
		return executor.Offload(func(ctx context.Context) executor.Outcome {
			return executor.Done(t.wish.carryOut(ctx, c))
		})
	case t.stale():
		return executor.Done(errElsewhere)
	case c.left.has(key):
		return executor.Done(errLeft)
	case t.run != nil:
		return executor.Offload(func(ctx context.Context) executor.Outcome { return c.transact(ctx, t.run) })
	case t.doom != nil:
		if o, goOn := c.park(ctx, t); !goOn {
			return o
		}
	}
	for ; t.at < t.steps(); t.next() {
		s := t.step(t.at)
		if s == nil {
			continue
		}
		switch c.blocks.look(t.commit, s) {
		case parked: // by an earlier run of this commit
			t.aside = wow.ErrParked
			continue
		case behind: // another of its aggregate, whatever function that is for
			t.doom = &doom{}
		case behindSame: // function's
			t.doom = &doom{s: s}
		case free:
			t.busy.Store(true)
			err := guarded(func() error { return c.attempt(ctx, t, s) })
			t.busy.Store(false)
			if err == nil && t.out.work.run != nil {
				return c.env.pools.offload(ctx, t.out.work.pool, func(ctx context.Context) executor.Outcome { return c.blocking(ctx, t, s) })
			}
			if err == nil {
				err = c.deliver(ctx, t, s)
			}
			if err == nil {
				continue
			}
			if o, goOn := c.failed(ctx, t, s, err); !goOn {
				return o
			}
			continue
		}
		if o, goOn := c.park(ctx, t); !goOn {
			return o
		}
	}
	return executor.Done(nil)
}

// blocking runs what the step's function offloaded. The rest of the steps run
// in the mailbox again.
func (c *consumer) blocking(ctx context.Context, t *task, s *subscriber) executor.Outcome {
	t.busy.Store(true)
	err := guarded(func() error { return t.out.work.run(c.caused(ctx, t)) })
	t.busy.Store(false)
	if err == nil {
		err = c.deliver(ctx, t, s)
	}
	if err != nil {
		if o, goOn := c.failed(ctx, t, s, err); !goOn {
			return o
		}
	}
	for t.next(); t.at < t.steps(); t.next() {
		if t.step(t.at) != nil {
			return executor.Again(0)
		}
	}
	return executor.Done(nil)
}

// deliver sends what a saga's function returned.
func (c *consumer) deliver(ctx context.Context, t *task, s *subscriber) error {
	if c.saga == nil || len(t.out.commands) == 0 {
		return nil
	}
	return c.saga.deliver(c.caused(ctx, t), t, s)
}

// runNow runs one step to its end on the calling goroutine.
func (c *consumer) runNow(ctx context.Context, t *task, s *subscriber) error {
	err := guarded(func() error { return c.attempt(ctx, t, s) })
	if err == nil && t.out.work.run != nil {
		err = guarded(func() error { return t.out.work.run(c.caused(ctx, t)) })
	}
	if err == nil {
		err = c.deliver(ctx, t, s)
	}
	return err
}

// attempt calls the function of the next step with data of its own.
func (c *consumer) attempt(ctx context.Context, t *task, s *subscriber) error {
	if t.call == nil {
		t.call = calls.Get().(*call)
	}
	t.out = Outbox{}
	if s.State != nil {
		return c.attemptState(ctx, t, s)
	}
	var event wow.DomainEvent
	if t.f != nil { // a parked commit is read from its bytes, which may be an operator's
		event = c.env.handover.get(t.commit, t.at, s.Event)
	}
	if event == nil {
		var err error
		if event, err = eventOf(s.Event, t.commit, t.at); err != nil {
			return err
		}
	}
	t.event = Recorded{EventMeta: wow.EventMeta{CommitMeta: commitMeta(t.commit), Index: t.at}, Event: event}
	return c.onEvent(c.caused(ctx, t), &t.event, &t.out)
}

func (c *consumer) attemptState(ctx context.Context, t *task, s *subscriber) error {
	state, err := executor.Await(ctx, func(ctx context.Context) (wow.State, error) {
		return c.states.after(ctx, s, t.commit)
	})
	if err != nil {
		return err
	}
	events, err := s.eventsOf(t.commit)
	if err != nil {
		return err
	}
	t.state = StateRecorded{CommitMeta: commitMeta(t.commit), State: state, Events: events}
	return c.onState(c.caused(ctx, t), &t.state, &t.out)
}

// eventOf returns the receiver's own copy of one event of a commit. That it
// cannot be read is an error that no retry mends, unless a newer program wrote
// it.
func eventOf(t *wow.EventType, c *store.Commit, index int) (wow.DomainEvent, error) {
	e := &c.Events[index]
	event, err := readEvent(t, e)
	if err == nil {
		return event, nil
	}
	if !errors.Is(err, wow.ErrUnknownType) {
		err = fmt.Errorf("%w (%w)", err, wow.Permanent)
	}
	return nil, fmt.Errorf("runtime: decoding event %s/%d of %s, %q revision %d: %w", c.ID, index, c.Target, e.Name, e.Revision, err)
}

// mayBeKnownSoon reports whether the step failed for a type that a newer program
// knows, and not for long. While a new version rolls out this one may be the
// next to go, so it waits before it parks what the new one can handle.
func (t *task) mayBeKnownSoon(err error) bool {
	now := time.Now().UnixMicro()
	or(&t.first, now)
	return errors.Is(err, wow.ErrUnknownType) && now-t.first < unknownTypeGrace.Microseconds()
}

// failed decides about a step that did not work: again, later, or never. It
// reports whether the task goes on with its next step.
func (c *consumer) failed(ctx context.Context, t *task, s *subscriber, err error) (o executor.Outcome, goOn bool) {
	t.fails++
	final := errors.Is(err, wow.Permanent)
	if !final && (c.stopping.Load() || ctx.Err() != nil || errors.Is(err, wow.ErrStopping)) {
		c.left.add(c.key(t.commit.Target))
		return executor.Done(errLeft), false
	}
	if !final && (t.fails <= s.tries || t.mayBeKnownSoon(err)) {
		c.retrying(s, t.commit, t.fails, err)
		return executor.Again(pauseBefore(t.fails, s.backoff, max(s.backoff, retryBackoffMax))), false
	}
	if c.kind == KindSnapshot {
		c.env.out.Error("a snapshot was not written, the next will be tried", "consumer", c.name,
			"aggregate", t.commit.Target, "version", t.commit.Version, "error", err)
		t.aside = fmt.Errorf("%w: %w", wow.ErrFailed, err)
		return executor.Done(nil), true
	}
	t.doom = &doom{s: s, cause: err, attempts: t.fails}
	return c.park(ctx, t)
}

func (c *consumer) retrying(s *subscriber, commit *store.Commit, attempt int, err error) {
	c.env.out.Warn("a consumer's function failed, trying again", "consumer", c.name, "function", s.Name,
		"aggregate", commit.Target, "position", commit.Position, "attempt", attempt, "error", err)
}

// done is called by the lane when a task has left its mailbox.
func (c *consumer) done(key wow.Target, t *task, err error) {
	if t.wish != nil {
		t.wish.reply <- err
		t.free()
		return
	}
	if t.stale() {
		t.free()
		return
	}
	if t.run != nil {
		if err != nil { // left, or the executor gave up: what is behind must not run
			c.left.add(key)
		}
		if err != nil && !errors.Is(err, errLeft) {
			c.env.out.Error("a projection is left until the next start", "consumer", c.name, "position", t.run.from, "error", err)
		}
		t.free()
		return
	}
	if err != nil && !errors.Is(err, errLeft) {
		// The executor gave up on the task: a handler called runtime.Goexit, or
		// the executor itself was closed.
		err = c.abandon(t, err)
	}
	if t.f.tasks[t.commit.Position.Seq%markWindow].Store(nil); c.hanging.returned(t.commit.Target, t.commit.Position.Seq) && err == nil {
		c.backAgain(t.commit, t.aside)
	}
	if err == nil {
		t.f.moved(t.mark.finish(t.commit.Position.Seq, t.aside))
	} else {
		c.left.add(key)
	}
	t.free()
}

// abandon parks a task that the executor ended, or returns errLeft.
func (c *consumer) abandon(t *task, err error) error {
	var gone *executor.PanicError
	if !errors.As(err, &gone) || t.at >= t.steps() {
		return errLeft
	}
	t.doom = &doom{s: t.step(t.at), cause: err, attempts: t.fails + 1}
	if err := c.storeDoom(context.Background(), t); err != nil {
		c.env.out.Error("a consumer leaves an aggregate until the next start: parking its message fails",
			"consumer", c.name, "aggregate", t.commit.Target, "position", t.commit.Position, "error", err)
		return errLeft
	}
	return nil
}

const (
	// A function is tried retryMax times more after it failed, the first time
	// after retryBackoff, then with twice the pause each time, up to
	// retryBackoffMax or its own backoff if that is longer. Then its message is
	// parked. Meanwhile its aggregate waits, and nobody else.
	retryMax        = 8
	retryBackoff    = 10 * time.Millisecond
	retryBackoffMax = time.Second

	// unknownTypeGrace is how long an event of an unknown type or revision is
	// tried before its message is parked.
	unknownTypeGrace = 5 * time.Minute
)

// policy returns how often and after what pause a function is tried again.
// A negative Max is no retry at all.
func (r Retry) policy() (tries int, first time.Duration) {
	tries, first = retryMax, retryBackoff
	if r.Max != 0 {
		tries = max(r.Max, 0)
	}
	if r.Backoff > 0 {
		first = r.Backoff
	}
	return tries, first
}
