package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/memory"
)

// The life of a runtime: created -> starting -> running -> quiescing ->
// stopping -> stopped, once and in this order.
//
// Intake closes first. What is admitted then finishes, and so do the commands
// that its handlers send; only then are lanes, committer and executor closed.

type stage = int32

const (
	created stage = iota
	starting
	running
	quiescing // only handlers that still run may send
	stopping  // nobody may
	stopped
)

// component is a part of the runtime with a life of its own. Each step is
// called at most once, in this order, on all components in order of
// dependency; quiesce and stop in reverse.
type component interface {
	// prepare makes ready to retain work, and checks what it can.
	prepare(ctx context.Context) error
	// start begins to do work. It is not called when a prepare failed.
	start(ctx context.Context) error
	// quiesce takes no new work and waits until what it had is finished, or
	// ctx ends.
	quiesce(ctx context.Context) error
	// stop ends every goroutine. It is called after prepare also when that, or
	// start, failed. When ctx has ended it does so without waiting for work.
	stop(ctx context.Context) error
}

// life is where a runtime stands, and its intake gate.
type life struct {
	stage  atomic.Int32
	active atomic.Int64  // commands that were let in and have no answer yet
	idle   chan struct{} // gets a token when active falls to 0 while quiescing

	timeout  time.Duration      // of Stop
	turn     chan struct{}      // holds a token while Start, Quiesce or Stop is at work
	patience context.Context    // of whoever holds the turn
	hurry    context.CancelFunc // ends it: a Stop behind has no more time
	parts    []component
	prepared int // of parts
	quiesced bool
	result   error // of Stop
}

func (l *life) init(timeout time.Duration) {
	if l.timeout = timeout; timeout <= 0 {
		l.timeout = defaultShutdown
	}
	l.idle, l.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	l.patience, l.hurry = context.WithCancel(context.Background())
}

// take takes the turn. The context that it returns ends with ctx, and with the
// patience of a Stop that waits for the turn.
func (l *life) take(ctx context.Context) (_ context.Context, give func()) {
	l.turn <- struct{}{}
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(l.patience, func() {
		cancel(fmt.Errorf("%w: Stop has no more time", wow.ErrStopping))
	})
	return ctx, func() {
		release()
		cancel(nil)
		<-l.turn
	}
}

// enter lets one command in. leave must follow if it returns nil.
//
// The count goes up before the stage is read, and Quiesce sets the stage before
// it reads the count: one of the two sees the other.
func (l *life) enter(inHandler bool) error {
	l.active.Add(1)
	switch l.stage.Load() {
	case running:
		return nil
	case quiescing:
		if inHandler {
			return nil
		}
	case created, starting:
		l.leave()
		return errors.New("the runtime is not started: call Start first")
	}
	l.leave()
	return wow.ErrStopping
}

// leave is called when a command has its answer.
func (l *life) leave() {
	if l.active.Add(-1) == 0 && l.stage.Load() >= quiescing {
		select {
		case l.idle <- struct{}{}:
		default:
		}
	}
}

// drained waits until no command is without an answer, or ctx ends.
func (l *life) drained(ctx context.Context) error {
	for l.active.Load() > 0 {
		select {
		case <-l.idle:
		case <-ctx.Done():
			return fmt.Errorf("runtime: waiting for %d commands: %w", l.active.Load(), context.Cause(ctx))
		}
	}
	return nil
}

// Start checks everything that was registered and begins to run it. Its error
// holds all faults at once, and nothing runs then. ctx bounds the start only.
func (r *Runtime) Start(ctx context.Context) error {
	l := &r.life
	ctx, give := l.take(ctx)
	defer give()
	if !l.stage.CompareAndSwap(created, starting) {
		return errors.New("runtime: starting: it was started or stopped before, and lives once: make another with New")
	}
	if err := r.start(ctx); err != nil {
		l.stage.Store(stopping)
		return errors.Join(fmt.Errorf("runtime: starting: %w", err), r.shut(ctx))
	}
	return nil
}

func (r *Runtime) start(ctx context.Context) error {
	var faults []error
	cfg, err := r.cfg.complete()
	faults = append(faults, err)
	r.cfg, r.log = cfg, cfg.Logger
	if r.store = cfg.Store; r.store == nil {
		r.store = memory.New()
	}
	if cfg.Dispatch.OnStall == nil {
		cfg.Dispatch.OnStall = r.stalled
	}
	r.executor, err = executor.New(cfg.Dispatch)
	faults = append(faults, err, r.types.build(r), r.pools.open(cfg.Pools, r.namedPools()))
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.life.parts = r.components()
	for _, p := range r.life.parts {
		r.life.prepared++
		faults = append(faults, p.prepare(ctx))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.life.stage.Store(running)
	for _, p := range r.life.parts {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// components lists the parts in order of dependency.
func (r *Runtime) components() []component {
	return []component{&r.commands, &r.receivers, &r.consumers}
}

// Quiesce closes the intake: new commands get wow.ErrStopping. Then it waits
// until everything that was admitted, and what its handlers send, is finished,
// or ctx ends. Stop does it too; calling it apart lets a process leave a load
// balancer first.
func (r *Runtime) Quiesce(ctx context.Context) error {
	ctx, give := r.life.take(ctx)
	defer give()
	return r.quiesce(ctx)
}

func (r *Runtime) quiesce(ctx context.Context) error {
	l := &r.life
	l.stage.CompareAndSwap(created, stopping)
	if l.stage.CompareAndSwap(running, quiescing); l.stage.Load() != quiescing || l.quiesced {
		return nil
	}
	var errs []error
	for _, p := range slices.Backward(l.parts[:l.prepared]) {
		errs = append(errs, p.quiesce(ctx))
	}
	errs = append(errs, l.drained(ctx))
	err := errors.Join(errs...)
	l.quiesced = err == nil
	return err
}

// Stop closes the intake, lets what was admitted finish, and returns when
// nothing of the runtime runs any more. If ctx or Config.ShutdownTimeout ends
// before, it stops by force and its error says what was left; a sender that
// waits then gets wow.ErrUnknownOutcome. It is safe before Start, twice, and at
// the same time as Start, Quiesce and itself: they then end with it.
func (r *Runtime) Stop(ctx context.Context) error {
	l := &r.life
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	waiting := context.AfterFunc(ctx, l.hurry)
	ctx, give := l.take(ctx)
	defer give()
	waiting()
	if l.stage.Load() == stopped {
		return l.result
	}
	err := r.quiesce(ctx)
	l.stage.Store(stopping)
	l.result = errors.Join(err, r.shut(ctx))
	return l.result
}

// shut ends every goroutine of the runtime.
func (r *Runtime) shut(ctx context.Context) error {
	l := &r.life
	var errs []error
	for _, p := range slices.Backward(l.parts[:l.prepared]) {
		errs = append(errs, p.stop(ctx))
	}
	errs = append(errs, r.pools.close(ctx))
	if r.executor != nil {
		errs = append(errs, r.executor.Close(ctx))
	}
	r.flights.cut()
	r.unattended.Wait()
	l.stage.Store(stopped)
	return errors.Join(errs...)
}

// stalled reports a handler that blocks without saying so.
func (r *Runtime) stalled(s executor.Stall) {
	r.log.LogAttrs(context.Background(), slog.LevelWarn,
		"a handler blocks without saying so: mark it //wow:blocking, or wait in wow.Await",
		slog.String("lane", s.Lane), slog.Any("key", s.Key), slog.Duration("for", s.For), slog.String("stacks", string(s.Stack)))
}
