package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
)

// decide loads the state if it must, asks the handler, and goes on with what it
// decided. It runs again, on the state as it is then, for each retry.
func (l *lane) decide(ctx context.Context, f *flight) executor.Outcome {
	if err := f.sender.Err(); err != nil {
		return f.fail("deciding", err)
	}
	t := &turn{Context: ctx, sender: f.sender, cause: cause{
		correlation: f.Correlation,
		causation:   f.id,
		metadata:    f.Metadata,
		tenant:      f.Target.Tenant,
		target:      f.Target,
		parent:      f.cause,
	}}
	if f.cause != nil {
		t.cause.depth = f.cause.depth + 1
	}
	f.tries++
	if f.cached == nil || f.cached.behind {
		if err := l.r.commands.fetch(t, f); err != nil {
			return f.fail("loading the state", err)
		}
	}
	now := l.r.cfg.Now().UnixMicro()
	f.Time = time.UnixMicro(max(now, f.cached.decidedAt)).UTC()
	if refusal := f.expected(); refusal != nil {
		return l.decided(ctx, f, refusal)
	}
	clear(f.out.events)
	f.out = Decision{events: f.out.events[:0]}
	call, cancel := f.handler.deadline(t)
	err := f.handler.agg.Decide(call, f.cached.state, &f.Command, &f.out)
	work := f.out.work.run
	if err != nil || work == nil {
		cancel()
		t.end()
		return l.decided(ctx, f, err)
	}
	cancel()
	return executor.Offload(func(ctx context.Context) executor.Outcome {
		t := &turn{Context: ctx, sender: f.sender, cause: t.cause}
		defer t.end()
		call, cancel := f.handler.deadline(t)
		defer cancel()
		return l.decided(nil, f, work(call))
	})
}

func nothing() {}

// deadline adds the handler's own time-out, where it declares one.
func (h *handler) deadline(t *turn) (context.Context, context.CancelFunc) {
	if h.Timeout <= 0 {
		return t, nothing
	}
	return context.WithTimeout(t, h.Timeout)
}

// expected compares the state with what the command asks for.
func (f *flight) expected() error {
	switch version := f.cached.version; {
	case f.Expected != 0 && f.Expected != version:
		return errVersion
	case version == 0 && f.handler.Command.Mode == wow.Exists:
		return wow.Refuse("not_found", "%s does not exist", f.Target)
	case version > 0 && f.handler.Command.Mode == wow.Create:
		return wow.Refuse("already_exists", "%s exists already", f.Target)
	}
	return nil
}

// errVersion says that the aggregate is not at the version that the sender
// expects.
var errVersion = errors.New("not at the expected version")

// decided goes on with what a handler returned. ctx is nil on the offload
// pool: the message then returns to its mailbox first.
func (l *lane) decided(ctx context.Context, f *flight, err error) executor.Outcome {
	f.refusal = nil
	switch {
	case err == errVersion:
		f.step = stepSettle
	case err != nil && errors.Is(err, wow.Retryable):
		return l.again(f, "deciding", err)
	case err != nil && technical(err):
		return f.fail("deciding", err)
	case err != nil:
		f.refusal, f.step = wow.RefusalOf(err), stepSettle
	case len(f.out.events) == 0:
		f.step = stepSettle
	default:
		if err := l.record(f); err != nil {
			l.r.commands.cache.drop(f.cached)
			return f.fail("recording the events", err)
		}
		f.step = stepAppend
	}
	switch {
	case ctx == nil:
		return executor.Again(0)
	case f.step == stepAppend:
		return l.append(ctx, f)
	}
	return l.settle(ctx, f)
}

// technical reports whether a handler's error tells about its surroundings and
// is no decision: it stopped because its context ended, or a command that it
// sent came to no answer. It is never stored as the request's outcome.
func technical(err error) bool {
	switch wow.Code(err) {
	case "canceled", "deadline_exceeded", "unknown_type", "conflict", "unknown_outcome", "overloaded", "stopping":
		return true
	}
	return errors.Is(err, wow.ErrFailed)
}

// broken answers for a command whose handler, or whose event's apply, panicked
// or ended its goroutine. The state may be half changed, so it goes.
func (l *lane) broken(f *flight, err error) {
	l.r.commands.cache.drop(f.cached)
	var p *executor.PanicError
	if !errors.As(err, &p) {
		f.fail("deciding", err)
		return
	}
	l.r.log.LogAttrs(context.Background(), slog.LevelError, "a command handler panicked",
		slog.String("command", f.handler.name), slog.String("target", f.Target.String()),
		slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
	f.fail("deciding", fmt.Errorf("panic: %v", p.Value))
}
