package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/internal/retried"
	"github.com/wowgen/wow/runtime/store"
)

// A projection that has a database of its own can keep its progress there, in
// the transaction that changes its rows. Then each commit takes effect there
// exactly once: effect and progress are stored, or lost, together.
//
// Such a projection runs in the order of positions, up to tailBatch commits in
// one transaction. When that fails it is undone, and its commits run one by one
// to find the one at fault. Commits are parked whole.

// transacted is a run of commits on its way through the only mailbox of such a
// projection.
type transacted struct {
	f       *feed
	mark    *watermark      // of the tenure that took them
	commits []*store.Commit // that the projection has functions for, in order
	from    int64           // the positions from..to are finished with them
	to      int64
	at      int // the commit to run next
	size    int // how many to run in one transaction
	fails   int // of the commit to run next

	culprit *subscriber // the function that failed; nil: the transaction did
	doubt   bool        // a transaction failed, but may have been committed
}

// admitTransacted puts a run of commits into the mailbox.
func (f *feed) admitTransacted(ctx context.Context, m *watermark, commits []*store.Commit) {
	f.took(m, len(commits))
	x := &transacted{f: f, mark: m, from: f.taken + 1, to: commits[len(commits)-1].Position.Seq, size: tailBatch}
	f.taken = x.to
	for _, c := range commits {
		if f.c.table.wants(c) != nil {
			x.commits = append(x.commits, c)
		}
	}
	// A later generation stores its progress also where nothing is for it: that
	// is how it finds that it has reached the live one.
	if len(x.commits) == 0 && !f.c.beside {
		f.moved(m.pass(x.from, x.to))
		return
	}
	// What a stopped lane refuses stays unfinished: the next start takes it again.
	_ = f.c.lane.Submit(ctx, wow.Target{}, &task{f: f, mark: m, run: x})
}

// transact runs what is left of a run. It is called on the offload pool.
func (c *consumer) transact(ctx context.Context, x *transacted) executor.Outcome {
	if len(x.commits) == 0 {
		return c.passBy(ctx, x)
	}
	for x.at < len(x.commits) {
		if x.mark != x.f.mark() {
			return executor.Done(errElsewhere)
		}
		if x.doubt {
			if err := c.settleDoubt(ctx, x); err != nil {
				o, _ := c.transactFailed(ctx, x, err)
				return o
			}
			continue
		}
		end := min(x.at+x.size, len(x.commits))
		last := x.commits[end-1].Position
		if end == len(x.commits) {
			last.Seq = x.to
		}
		x.culprit = nil
		err := c.within(ctx, last, func(ctx context.Context) error {
			for _, commit := range x.commits[x.at:end] {
				if err := c.runWhole(ctx, commit, &x.culprit); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case err == nil:
			x.passed(last.Seq)
		case end > x.at+1:
			x.size, x.doubt = 1, x.culprit == nil
		default:
			if o, goOn := c.transactFailed(ctx, x, err); !goOn {
				return o
			}
		}
	}
	return executor.Done(nil)
}

// passBy stores the progress over commits that are not for the projection.
func (c *consumer) passBy(ctx context.Context, x *transacted) executor.Outcome {
	if x.mark != x.f.mark() {
		return executor.Done(errElsewhere)
	}
	err := c.within(ctx, wow.Position{Shard: x.f.tail.shard, Seq: x.to}, func(context.Context) error { return nil })
	if err == nil {
		x.passed(x.to)
		return executor.Done(nil)
	}
	if x.fails++; c.stopping.Load() || ctx.Err() != nil || c.retire(err) {
		return executor.Done(errLeft)
	}
	c.env.out.Error("a projection's transaction failed, trying again", "consumer", c.name, "position", x.to, "attempt", x.fails, "error", err)
	switch at, err := c.tx.Resume(ctx, x.f.tail.shard); {
	case err == nil && at.Seq > x.to:
		x.f.lost.Store(true)
		nudge(c.env.lost)
	case err == nil && at.Seq == x.to: // it was committed after all
		x.passed(x.to)
		return executor.Done(nil)
	}
	return executor.Again(pauseBefore(x.fails, readRetry, readRetryMax))
}

// retire ends a projection whose transactions are refused for good: a newer
// generation answers. It reports whether that is so.
func (c *consumer) retire(err error) bool {
	if !errors.Is(err, wow.Permanent) {
		return false
	}
	if c.retired.CompareAndSwap(nil, &err) {
		c.env.out.Warn("a projection has ended", "consumer", c.name, "reason", err)
	}
	return true
}

// passed notes that everything up to a position has taken effect.
func (x *transacted) passed(to int64) {
	if to < x.from {
		return
	}
	x.f.moved(x.mark.pass(x.from, to))
	for x.from, x.fails = to+1, 0; x.at < len(x.commits) && x.commits[x.at].Position.Seq <= to; {
		x.at++
	}
}

// settleDoubt asks the projection how far it has come: the answer to its last
// commit was lost, perhaps after it had taken effect.
func (c *consumer) settleDoubt(ctx context.Context, x *transacted) error {
	x.culprit = nil
	at, err := c.tx.Resume(ctx, x.f.tail.shard)
	switch {
	case err != nil:
	case at.Seq > x.to: // somebody else has gone on: this process is late
		x.f.lost.Store(true)
		nudge(c.env.lost)
		return errElsewhere
	default:
		x.doubt = false
		x.passed(at.Seq)
	}
	return err
}

// within calls f in a transaction of the projection's.
func (c *consumer) within(ctx context.Context, done wow.Position, f func(ctx context.Context) error) error {
	return guarded(func() error { return c.tx.Run(ctx, done, f) })
}

// runWhole runs all steps of a commit, or parks it if it must wait.
func (c *consumer) runWhole(ctx context.Context, commit *store.Commit, culprit **subscriber) error {
	t := &task{commit: commit, route: c.table.routes[commit.Target.Aggregate]}
	for ; t.at < t.steps(); t.next() {
		s := t.step(t.at)
		if s == nil {
			continue
		}
		switch c.blocks.look(commit, s) {
		case parked:
			return nil
		case free:
			if err := c.runNow(ctx, t, s); err != nil {
				*culprit = s
				return err
			}
		default:
			t.doom = &doom{}
			return c.storeDoom(ctx, t)
		}
	}
	return nil
}

// transactFailed decides about a commit that did not work, alone in its
// transaction. It reports whether the run goes on.
func (c *consumer) transactFailed(ctx context.Context, x *transacted, err error) (o executor.Outcome, goOn bool) {
	x.fails++
	commit := x.commits[x.at]
	final := x.culprit != nil && errors.Is(err, wow.Permanent)
	switch {
	case !final && (c.stopping.Load() || ctx.Err() != nil):
		return executor.Done(errLeft), false
	case x.culprit == nil && c.retire(err):
		return executor.Done(errLeft), false
	case x.culprit == nil:
		// The database does not answer. No message is at fault, so none is parked.
		x.doubt = true
		c.env.out.Error("a projection's transaction failed, trying again", "consumer", c.name,
			"position", commit.Position, "attempt", x.fails, "error", err)
		return executor.Again(pauseBefore(x.fails, readRetry, readRetryMax)), false
	case !final && x.fails <= x.culprit.tries:
		c.retrying(x.culprit, commit, x.fails, err)
		return executor.Again(pauseBefore(x.fails, x.culprit.backoff, max(x.culprit.backoff, retryBackoffMax))), false
	}
	t := &task{commit: commit, route: c.table.routes[commit.Target.Aggregate]}
	t.doom = &doom{cause: fmt.Errorf("%s: %w", x.culprit.Name, err), attempts: x.fails}
	if err := c.storeDoom(ctx, t); err != nil {
		c.env.out.Error("parking a message failed, trying again", "consumer", c.name, "position", commit.Position, "error", err)
		return executor.Again(pauseBefore(x.fails, readRetry, readRetryMax)), false
	}
	return executor.Done(nil), true // it runs once more, and is passed now
}

// errNotYet says that a projection comes to a parked commit again by itself: what
// it had stored after it was lost.
var errNotYet = errors.New("it has not come to that again after a restart: try again soon")

// rerunWhole runs one parked commit again, in a transaction of its own.
func (c *consumer) rerunWhole(ctx context.Context, p *store.Parked) (wait bool, err error) {
	done := wow.Position{Shard: p.Commit.Position.Shard}
	m := c.feeds[done.Shard].mark()
	if m == nil {
		return true, errElsewhere
	}
	if done.Seq = m.checkpoint(); p.Commit.Position.Seq > done.Seq {
		return true, fmt.Errorf("runtime: retrying position %v in %s: %w", p.Commit.Position, c.name, errNotYet)
	}
	t := &task{commit: p.Commit, route: c.table.routes[p.Commit.Target.Aggregate]}
	cause := c.within(retried.With(ctx, p.Commit.Position), done, func(ctx context.Context) error {
		for ; t.route != nil && t.at < t.steps(); t.next() {
			if s := t.step(t.at); s != nil {
				if err := c.runNow(ctx, t, s); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
		}
		return nil
	})
	if cause == nil {
		err := c.unpark(ctx, p)
		return err != nil, err
	}
	q := *p
	q.Error, q.Attempts, q.At = cause.Error(), p.Attempts+1, time.Now().UnixMicro()
	return true, errors.Join(
		fmt.Errorf("runtime: retrying position %v of %s in %s: %w", p.Commit.Position, p.Commit.Target, c.name, cause),
		c.env.store.Park(ctx, []store.Parked{q}, c.fence(p.Commit)))
}
