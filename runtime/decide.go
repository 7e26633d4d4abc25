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
	now := l.r.cfg.Now()
	if f.id == "" {
		f.id = l.r.commands.newID(now)
		or(&f.Correlation, f.id) // it begins a conversation
	}
	t := &turn{Context: ctx, sender: f.sender, cause: cause{
		correlation: f.Correlation,
		causation:   f.id,
		metadata:    f.Metadata,
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
	f.Time = time.UnixMicro(max(now.UnixMicro(), f.cached.decidedAt)).UTC()
	f.refusal, f.conflict = nil, nil
	if err := Admit(f.handler.Command, f.Target, f.cached.version, f.Expected, f.handler.agg.State.IsDeleted(f.cached.state)); err != nil {
		t.end()
		if errors.Is(err, wow.ErrConflict) {
			f.conflict, f.step = err, stepSettle
			return l.settle(ctx, f)
		}
		return l.decided(ctx, f, err)
	}
	clear(f.out.events)
	f.out = Decision{events: f.out.events[:0]}
	err := l.ask(t, f, func(ctx context.Context) error {
		return f.handler.agg.Decide(ctx, f.cached.state, &f.Command, &f.out)
	})
	if work := f.out.work.run; err == nil && work != nil {
		return l.r.pools.offload(ctx, f.out.work.pool, func(ctx context.Context) executor.Outcome {
			t := &turn{Context: ctx, sender: f.sender, cause: t.cause}
			if out, over := l.conclude(f, l.ask(t, f, work)); over {
				return out
			}
			return executor.Again(0) // the next step is the mailbox's
		})
	}
	return l.decided(ctx, f, err)
}

// ask runs a handler, or its blocking part, within its own time-out.
func (l *lane) ask(t *turn, f *flight, call func(context.Context) error) error {
	defer t.end()
	if f.handler.Timeout <= 0 {
		return call(t)
	}
	ctx, cancel := context.WithTimeout(t, f.handler.Timeout)
	defer cancel()
	return call(ctx)
}

// decided goes on with what a handler returned.
func (l *lane) decided(ctx context.Context, f *flight, err error) executor.Outcome {
	if out, over := l.conclude(f, err); over {
		return out
	}
	if f.step == stepAppend {
		return l.append(ctx, f)
	}
	return l.settle(ctx, f)
}

// conclude makes what a handler returned the next step of the command. When
// there is none, since it failed or is to be decided again, over is true and
// out says how the message goes on.
func (l *lane) conclude(f *flight, err error) (out executor.Outcome, over bool) {
	switch {
	case err != nil && errors.Is(err, wow.Retryable):
		return l.again(f, "deciding", err), true
	case err != nil && technical(err):
		return f.fail("deciding", err), true
	case err != nil:
		f.refusal, f.step = wow.RefusalOf(err), stepSettle
	case len(f.out.events) == 0:
		f.step = stepSettle
	default:
		if err := l.record(f); err != nil {
			l.r.commands.cache.drop(f.cached)
			return f.fail("recording the events", err), true
		}
		f.step = stepAppend
	}
	return out, false
}

// technical reports whether a handler's error tells about its surroundings and
// is no decision: it stopped because its context ended, or a command that it
// sent was malformed or came to no answer. It is never stored as the request's outcome.
//
// A refusal is a decision whatever its code is: domains have orders that are
// "canceled", too.
func technical(err error) bool {
	if errors.Is(err, wow.ErrFailed) {
		return true
	}
	if errors.As(err, new(*wow.Refusal)) {
		return false
	}
	switch wow.Code(err) {
	case "canceled", "deadline_exceeded", "unknown_type", "conflict", "unknown_outcome", "overloaded", "stopping", "invalid":
		return true
	}
	return false
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
	f.fail("deciding", fmt.Errorf("%w: %v", errPanicked, p.Value))
}
