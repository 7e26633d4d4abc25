package runtime

import (
	"context"
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// A decision that appends nothing, a refusal or a no-op, was made on a state
// that may be behind: it is confirmed before it is reported. One call compares
// the version, finds the answer that the same request had before, and stores
// this one where the request can come again.

// settle confirms a decision. Where this process alone writes and the request
// has no ID, there is nothing to confirm.
func (l *lane) settle(ctx context.Context, f *flight) executor.Outcome {
	c := &l.r.commands
	if c.instant != nil {
		if f.Request == "" {
			return l.settled(f, store.Settled{Head: f.cached.version}, nil)
		}
		res, err := c.instant.Settle(ctx, []store.Settlement{f.settlement()})
		if err != nil {
			return l.settled(f, store.Settled{}, err)
		}
		return l.settled(f, res[0], nil)
	}
	later, resume := executor.Later(ctx)
	f.resume = resume
	if !c.settles.add(f) {
		return f.fail("confirming the decision", wow.ErrStopping)
	}
	return later
}

// confirm settles a batch. It runs on a goroutine of its own.
func (c *commands) confirm(batch []*flight) {
	decisions := make([]store.Settlement, len(batch))
	for i, f := range batch {
		decisions[i] = f.settlement()
	}
	res, err := c.r.store.Settle(c.ctx, decisions)
	for i, f := range batch {
		var one store.Settled
		if err == nil {
			one = res[i]
		}
		resume := f.resume
		resume.Complete(f.handler.agg.lane.settled(f, one, err))
	}
}

// settlement describes the decision to the store. That the sender expects
// another version is no outcome of its request: it is never kept.
func (f *flight) settlement() store.Settlement {
	s := store.Settlement{
		Target:  f.Target,
		Version: f.cached.version,
		Keep:    f.Request != "" && f.conflict == nil,
		Outcome: store.Outcome{Kind: store.NoOp, Request: f.Request, Version: f.cached.version, At: f.Time.UnixMicro()},
	}
	if f.refusal != nil {
		s.Outcome.Kind, s.Outcome.Code, s.Outcome.Message = store.Refused, f.refusal.Code, f.refusal.Message
	}
	return s
}

// settled goes on with the store's answer.
func (l *lane) settled(f *flight, res store.Settled, err error) executor.Outcome {
	switch {
	case err != nil:
		return f.fail("confirming the decision", err)
	case res.First != nil:
		return f.repeat(res.First)
	case res.Head != f.cached.version:
		// The state is behind; the handler has not changed it.
		f.cached.behind = true
		if f.tries > f.handler.Retry.Max {
			return f.fail("confirming the decision", fmt.Errorf("%w: gave up after %d tries: others keep changing %s", wow.ErrConflict, f.tries, f.Target))
		}
		f.step = stepDecide
		return executor.Again(0)
	case f.conflict != nil:
		return f.fail("deciding", f.conflict)
	}
	if f.refusal != nil {
		f.err = f.refusal
		return executor.Done(nil)
	}
	f.receipt = Receipt{Target: f.Target, Version: f.cached.version, Stage: Processed}
	return executor.Done(nil)
}

// repeat answers with what the same request came to before.
func (f *flight) repeat(first *store.Outcome) executor.Outcome {
	if first.Kind == store.Refused {
		f.err = &wow.Refusal{Code: first.Code, Message: first.Message}
		return executor.Done(nil)
	}
	f.receipt = Receipt{Target: f.Target, Version: first.Version, Position: first.Position, Commit: first.Commit, Stage: Processed, Repeated: true}
	return executor.Done(nil)
}
