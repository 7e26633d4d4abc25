package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// What operators do about parked messages. A wish travels through the mailbox
// of the aggregate it concerns, so it never meets a live message half-way: those
// admitted before it were parked behind, those after it wait until it is done.

// parkedPage is how many parked messages are read at once.
const parkedPage = 100

// wish is something an operator wants done in a mailbox.
type wish struct {
	target wow.Target
	do     func(ctx context.Context, c *consumer, t wow.Target) error
	reply  chan error // has room for the answer
	timer  bool       // it is a delayed command of a saga
}

func (w *wish) carryOut(ctx context.Context, c *consumer) error {
	err := guarded(func() error { return w.do(ctx, c, w.target) })
	if !w.timer {
		c.rouse() // a consumer that had too many parked messages may go on
	}
	return err
}

// grant has a wish carried out and returns its answer.
func (c *consumer) grant(ctx context.Context, t wow.Target, do func(context.Context, *consumer, wow.Target) error) error {
	return c.ask(ctx, &wish{target: t, do: do, reply: make(chan error, 1)})
}

func (c *consumer) ask(ctx context.Context, w *wish) error {
	t := w.target
	if err := c.here(); err != nil {
		return err
	}
	if err := c.lane.Submit(ctx, c.key(t), &task{wish: w}); err != nil {
		return fmt.Errorf("runtime: asking consumer %s about %s: %w", c.name, t, err)
	}
	select {
	case err := <-w.reply:
		return err
	case <-ctx.Done():
		return ctx.Err() // it is carried out all the same
	}
}

// retryParked runs the parked messages of an aggregate in order and removes
// each that works. The first that fails stops those that wait behind it.
func retryParked(ctx context.Context, c *consumer, t wow.Target) error {
	var faults []error
	for _, f := range c.feeds {
		after := wow.Position{Shard: f.tail.shard}
		for {
			page, err := c.env.store.Parked(ctx, c.name, t, after, parkedPage)
			if err != nil {
				return errors.Join(append(faults, err)...)
			}
			if len(page) == 0 {
				break
			}
			for i := range page {
				again, err := c.rerun(ctx, &page[i])
				if err != nil {
					faults = append(faults, err)
				}
				if again {
					return errors.Join(faults...)
				}
			}
			after = page[len(page)-1].Commit.Position
		}
	}
	return errors.Join(faults...)
}

// rerun runs one parked message and removes it when it works. It reports
// whether those behind it must wait on.
//
// Steps that had worked before the message was parked are not run again, other
// than earlier events of the same commit for the same function.
func (c *consumer) rerun(ctx context.Context, p *store.Parked) (wait bool, err error) {
	if c.tx != nil {
		return c.rerunWhole(ctx, p)
	}
	t := &task{commit: p.Commit, route: c.table.routes[p.Commit.Target.Aggregate]}
	only, err := c.parkedPart(p, t)
	if err != nil {
		return true, err
	}
	kept := false
	for ; t.route != nil && t.at < t.steps(); t.next() {
		s := t.step(t.at)
		if s == nil || only != nil && s != only {
			continue
		}
		var cause error
		if !c.blocks.behindSame(p.Commit, s) {
			if cause = c.runNow(ctx, t, s); cause == nil {
				continue
			}
			err = errors.Join(err, fmt.Errorf("runtime: retrying position %v of %s in %s, function %s: %w",
				p.Commit.Position, p.Commit.Target, c.name, s.Name, cause))
		}
		if fault := c.repark(ctx, p, s, cause); fault != nil {
			return true, errors.Join(err, fault)
		}
		kept = kept || s.Name == p.Function
		if only != nil {
			break
		}
		if s.Retry.Order == OrderAggregate {
			wait = true
			break
		}
	}
	if kept {
		return wait, err
	}
	if fault := c.unpark(ctx, p); fault != nil {
		return true, errors.Join(err, fault) // it comes again: those behind it must not come before
	}
	return wait, err
}

// parkedPart puts t at the first step that was parked, and returns the only
// function to run when it is not all that follows.
func (c *consumer) parkedPart(p *store.Parked, t *task) (only *subscriber, err error) {
	if p.Function == "" || t.route == nil {
		return nil, nil
	}
	s := c.table.byName[p.Function]
	if s == nil {
		return nil, fmt.Errorf("runtime: retrying position %v of %s: consumer %s has no function %q any more; skip the message",
			p.Commit.Position, p.Commit.Target, c.name, p.Function)
	}
	for t.at < t.steps() && t.step(t.at) != s {
		t.next()
	}
	if s.Retry.Order != OrderAggregate {
		return s, nil
	}
	return nil, nil
}

// repark keeps a message parked, for the function that did not work this time.
func (c *consumer) repark(ctx context.Context, p *store.Parked, s *subscriber, cause error) error {
	q := *p
	q.Function, q.At = s.Name, time.Now().UnixMicro()
	if cause != nil {
		q.Error, q.Attempts = cause.Error(), p.Attempts+1
	}
	if err := c.env.store.Park(ctx, []store.Parked{q}, c.fence(p.Commit)); err != nil {
		return fmt.Errorf("runtime: parking position %v of %s again: %w", p.Commit.Position, p.Commit.Target, err)
	}
	c.blocks.add(p.Commit.Target, c.row(&q))
	return nil
}

// unpark forgets a parked message.
func (c *consumer) unpark(ctx context.Context, p *store.Parked) error {
	if err := c.env.store.Unpark(ctx, c.name, p.Function, p.Commit.Position, c.fence(p.Commit)); err != nil {
		return fmt.Errorf("runtime: removing position %v of %s from what is parked: %w", p.Commit.Position, p.Commit.Target, err)
	}
	c.blocks.remove(p.Commit.Target, p.Commit.Position.Seq, p.Function)
	return nil
}

// skipParked returns a wish to forget all that is parked of one commit.
func skipParked(at wow.Position) func(context.Context, *consumer, wow.Target) error {
	return func(ctx context.Context, c *consumer, t wow.Target) error {
		page, err := c.env.store.Parked(ctx, c.name, t, wow.Position{Shard: at.Shard, Seq: at.Seq - 1}, 1)
		if err != nil {
			return err
		}
		if len(page) == 0 || page[0].Commit.Position != at {
			return fmt.Errorf("runtime: skipping position %v of %s: consumer %s has nothing parked there", at, t, c.name)
		}
		for i := range page {
			if page[i].Commit.Position == at {
				err = errors.Join(err, c.unpark(ctx, &page[i]))
			}
		}
		return err
	}
}
