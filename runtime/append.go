package runtime

import (
	"context"
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// append stores the commit: at once in memory, else together with those of
// other mailboxes, while this one waits without a worker.
func (l *lane) append(ctx context.Context, f *flight) executor.Outcome {
	c := &l.r.commands
	if c.instant != nil {
		return l.appended(f, c.instant.AppendOne(f.commit))
	}
	later, resume := executor.Later(ctx)
	f.resume = resume
	if !c.appends.add(f) {
		return f.fail("appending", wow.ErrStopping)
	}
	return later
}

// commit appends a batch and sends each command on its way. It runs on the
// committer's goroutine.
func (c *commands) commit(batch []*flight) {
	entries := make([]*store.Commit, len(batch))
	for i, f := range batch {
		entries[i] = f.commit
	}
	results := c.r.store.Append(c.ctx, entries)
	for i, f := range batch {
		resume := f.resume // f may be answered, and somebody else's, right after
		resume.Complete(f.handler.agg.lane.appended(f, results[i]))
	}
}

// appended goes on with the store's answer. The state had the events applied
// before they were stored: unless they were, it goes.
func (l *lane) appended(f *flight, res store.Result) executor.Outcome {
	c := &l.r.commands
	if res.Status == store.Stored {
		c.keep(f, f.commit)
		if c.handover != nil && f.flat {
			c.handover.put(res.Position, f.out.events)
		}
		f.receipt = Receipt{Target: f.Target, Version: f.commit.Version, Position: res.Position, Commit: f.commit.ID, Stage: Processed}
		return executor.Done(nil)
	}
	if res.Status == store.Unknown {
		return l.unknown(f, res.Err)
	}
	c.cache.drop(f.cached)
	f.cached, f.commit = nil, nil
	f.step = stepDecide
	switch res.Status {
	case store.Repeated:
		return f.repeat(res.First)
	case store.Conflict:
		if f.Expected != 0 {
			return f.fail("appending", fmt.Errorf("%w: %s is at version %d, the sender expects %d", wow.ErrConflict, f.Target, res.Head, f.Expected))
		}
		return l.again(f, "appending", fmt.Errorf("%w: somebody else took %s to version %d", wow.ErrConflict, f.Target, res.Head))
	}
	return f.fail("appending", res.Err)
}

// unknown appends the identical commit again: the store keeps one of the two.
// Its mailbox waits meanwhile, since nobody knows the version it is at.
func (l *lane) unknown(f *flight, cause error) executor.Outcome {
	now := l.r.cfg.Now().UnixMicro()
	if f.unsure == 0 {
		f.unsure, f.tries = now, 0
	}
	if now-f.unsure >= l.r.cfg.Commit.Settle.Microseconds() {
		l.r.commands.cache.drop(f.cached)
		return f.fail("appending", fmt.Errorf("%w: send it again with the same request ID: %w", wow.ErrUnknownOutcome, cause))
	}
	f.tries++
	return executor.Again(l.r.backoff(defaultBackoff, f.tries))
}
