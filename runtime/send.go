package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
)

// Gateway sends commands and loads states. Generated clients hold one. It is
// safe for concurrent use.
type Gateway struct{ r *Runtime }

// Receipt is the answer to a command that was not refused.
type Receipt struct {
	Target   wow.Target
	Version  int64        // of the aggregate after the command
	Position wow.Position // of the commit; zero for a no-op
	Commit   string       // ID of the commit; "" for a no-op
	Stage    Stage        // that the command has reached
	Repeated bool         // this is the answer that the request had before
}

// Stage is how far a command has come.
type Stage uint8

const (
	// Sent: the command is admitted and will be decided, unless the process dies
	// before. Nobody hears how it comes out; that it failed is logged. The
	// sender's ctx bounds the admission alone.
	Sent         Stage = iota
	Processed          // its events are stored
	Snapshotted        // a snapshot holds them, where one was due
	Projected          // the projections that subscribe have seen them
	EventHandled       // and the processors have handled them
	SagaHandled        // and the sagas, whose commands have an outcome
	ChainHandled       // and the sagas have handled all that came of those, to the end of the chain
)

// String returns the stage in capitals, as it is written to users.
func (s Stage) String() string {
	return [...]string{"SENT", "PROCESSED", "SNAPSHOT", "PROJECTED", "EVENT_HANDLED", "SAGA_HANDLED", "CHAIN_HANDLED"}[s%7]
}

// SendOption changes how one command is sent.
type SendOption func(*Command)

// WithRequest gives the command an idempotency key: for each aggregate it takes
// effect once, and each sending gets the answer of the first. That is so whatever
// is sent with the key: one that is used for two different commands hides the
// second.
func WithRequest(id string) SendOption { return func(c *Command) { c.Request = id } }

// WithVersion has the command fail with wow.ErrConflict unless the aggregate is
// at this version.
func WithVersion(v int64) SendOption { return func(c *Command) { c.Expected = v } }

// WithTenant says whose aggregate is meant.
func WithTenant(tenant string) SendOption { return func(c *Command) { c.Target.Tenant = tenant } }

// WithMetadata adds entries that are stored with the commit: at most 64 in all,
// 16 KiB. Keys that begin with "wow-" are reserved.
func WithMetadata(m map[string]string) SendOption {
	return func(c *Command) {
		all := maps.Clone(c.Metadata)
		if all == nil {
			all = make(map[string]string, len(m))
		}
		maps.Copy(all, m)
		c.Metadata = all
	}
}

// WithCorrelation makes the command part of a conversation. The default is that
// of the handler that sends it, else the ID of its own commit.
func WithCorrelation(id string) SendOption { return func(c *Command) { c.Correlation = id } }

// Send sends a command and waits until it is PROCESSED, or as far as an option
// says. The error says what to do: see the variables of package wow. A
// *wow.Refusal is the aggregate's decision.
//
// When ctx ends before the command began, it never runs. When ctx ends later,
// the error wraps wow.ErrUnknownOutcome.
//
// In a handler, with the handler's ctx, Send holds no worker while it waits. A
// command to an aggregate whose own handler waits for it is an error at once.
func (g *Gateway) Send(ctx context.Context, cmd wow.Sendable, opts ...SendOption) (Receipt, error) {
	r := g.r
	f := r.flights.get()
	err := f.compose(cmd, opts)
	if err == nil && len(f.waits) > 0 && r.life.stage.Load() >= running {
		err = r.consumers.known(f.waits)
	}
	if err != nil {
		f.free()
		return Receipt{}, err
	}
	if r.chain == nil {
		return r.send(ctx, f)
	}
	in := f.Command // middleware may keep what it gets
	f.free()
	return r.chain(ctx, &in)
}

// compose fills a command in from its own fields, then from the options.
func (f *flight) compose(cmd wow.Sendable, opts []SendOption) error {
	if cmd == nil {
		return fmt.Errorf("runtime: sending nil: %w", wow.ErrInvalid)
	}
	if _, ok := cmd.(wow.Deferred); ok {
		return fmt.Errorf("runtime: sending a %T: only a saga can delay a command, by returning it: %w", cmd, wow.ErrInvalid)
	}
	f.Command = Command{CommandMeta: wow.CommandMeta{Target: cmd.WowTarget()}, Body: cmd}
	if c, ok := cmd.(wow.Requested); ok {
		f.Request = c.WowRequest()
	}
	if c, ok := cmd.(wow.Versioned); ok {
		f.Expected = c.WowExpected()
	}
	for _, o := range opts {
		o(&f.Command)
	}
	return nil
}

// send carries a composed command to its answer. The flight is gone after it.
func (r *Runtime) send(ctx context.Context, f *flight) (Receipt, error) {
	if f.unattended {
		return r.dispatch(ctx, f)
	}
	if err := r.enter(ctx, f); err != nil {
		err = fmt.Errorf("runtime: sending %s to %s: %w", f.Body.WowCommand().Name, f.Target, err)
		f.free()
		return Receipt{}, err
	}
	var err error
	if f.cause == nil {
		err = f.wait(ctx)
	} else {
		err = f.waitInHandler(ctx)
	}
	if err != nil {
		return Receipt{}, err
	}
	receipt, err, waits := f.receipt, f.err, f.waits
	f.free()
	if err != nil {
		return Receipt{}, err
	}
	return r.consumers.await(ctx, waits, receipt)
}

// waitInHandler gives the handler's worker away meanwhile.
func (f *flight) waitInHandler(ctx context.Context) error {
	_, err := executor.Await(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.wait(ctx)
	})
	return err
}

// enter validates a command and puts it into the mailbox of its aggregate.
func (r *Runtime) enter(ctx context.Context, f *flight) error {
	f.sender, f.cause = ctx, causeOf(ctx)
	if f.unattended {
		f.sender = context.WithoutCancel(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.life.enter(f.cause != nil); err != nil {
		return err
	}
	err := r.admit(f)
	if err == nil {
		f.hold.Store(queued)
		err = f.handler.agg.lane.submit(ctx, f)
	}
	if err != nil {
		r.life.leave()
	}
	return err
}

// submit puts the flight into its mailbox. Outside of handlers a full window
// makes the sender wait. A command's handler must not wait for room: it holds
// some itself, and with every place held by one that waits nothing would move.
func (l *lane) submit(ctx context.Context, f *flight) error {
	var err error
	if f.cause != nil && f.cause.target.Aggregate != "" {
		err = l.in.TrySubmit(f.Target, f)
	} else {
		err = l.in.Submit(ctx, f.Target, f)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, executor.ErrStopped):
		return wow.ErrStopping
	case errors.Is(err, executor.ErrFull):
		return fmt.Errorf("%w: the window of %s is full", wow.ErrOverloaded, l.name)
	}
	return fmt.Errorf("%w: no room in the window of %s: %w", wow.ErrOverloaded, l.name, err)
}
