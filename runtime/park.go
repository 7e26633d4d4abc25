package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// A message that does not work is set aside, so that it stops its own aggregate
// in one consumer and nobody else. The unit is (consumer, aggregate): what
// comes later for that aggregate is parked behind it, whatever function it is
// for, because it may only make sense after it.
//
// Two weaker orders can be declared: with OrderFunction only later messages for
// the same function wait, with OrderSkip none do.

// parkedMax is how many parked messages a consumer may have before it pauses
// and reports itself unhealthy. What is in its mailboxes then, at most
// markWindow messages, may still be parked above it.
const parkedMax = 10_000

// doom is the decision to park the step that a task is at.
type doom struct {
	s        *subscriber // the function; nil: the whole commit waits behind another
	cause    error       // why; nil when it only waits
	attempts int
}

// park carries out a task's doom. It reports whether the task goes on with its
// next step; if not, the outcome says what becomes of the task.
func (c *consumer) park(ctx context.Context, t *task) (o executor.Outcome, goOn bool) {
	_, err := executor.Await(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.storeDoom(ctx, t)
	})
	if err != nil {
		// Parking must not be lost, so it is tried until it works or the runtime
		// ends. It works when the store does; nothing else would work before.
		if c.stopping.Load() || ctx.Err() != nil {
			c.left.add(c.key(t.commit.Target))
			return executor.Done(errLeft), false
		}
		t.fails++
		c.env.out.Error("parking a message failed, trying again", "consumer", c.name,
			"aggregate", t.commit.Target, "position", t.commit.Position, "error", err)
		return executor.Again(pauseBefore(t.fails, readRetry, readRetryMax)), false
	}
	return executor.Done(nil), t.doom == nil && t.at < t.steps()
}

// storeDoom stores the parked message, then notes what it blocks. When the
// whole commit is parked with it, the task has no step left.
func (c *consumer) storeDoom(ctx context.Context, t *task) error {
	d := t.doom
	p := store.Parked{Consumer: c.name, Commit: t.commit, Attempts: d.attempts, At: time.Now().UnixMicro()}
	if d.s != nil {
		p.Function = d.s.Name
	}
	if d.cause != nil {
		p.Error = d.cause.Error()
	}
	if err := c.env.store.Park(ctx, []store.Parked{p}, c.fence(p.Commit)); err != nil {
		return err
	}
	if d.cause != nil {
		c.env.out.Error("a message is parked, its aggregate waits", "consumer", c.name, "function", p.Function,
			"aggregate", t.commit.Target, "position", t.commit.Position, "attempts", d.attempts, "error", d.cause)
	}
	row := c.row(&p)
	c.blocks.add(t.commit.Target, row)
	t.doom, t.aside = nil, wow.ErrParked
	if row.order == OrderAggregate {
		t.at = t.steps()
	}
	return nil
}

// row returns what a parked message blocks. A function that is not declared any
// more counts as one that all wait for.
func (c *consumer) row(p *store.Parked) blockRow {
	r := blockRow{shard: p.Commit.Position.Shard, seq: p.Commit.Position.Seq, function: p.Function}
	if s := c.table.byName[p.Function]; s != nil {
		r.order = s.Retry.Order
	}
	return r
}

// blocks knows what is parked of one consumer: the rows of the store without
// their commits. It is loaded at the start and kept with each change.
type blocks struct {
	limit   int64        // parkedMax
	count   atomic.Int64 // of all rows: a consumer without any pays one load
	mu      sync.Mutex
	targets map[wow.Target][]blockRow // ordered by seq, then function
}

// blockRow is one parked message.
type blockRow struct {
	shard    int32
	seq      int64
	function string // "": the whole commit waits behind another
	order    Order  // what waits for it
}

// verdict says what parked messages mean for a step.
type verdict uint8

const (
	free       verdict = iota // nothing: run it
	behind                    // the whole commit waits behind an earlier one
	behindSame                // the step waits behind an earlier one of its function
	parked                    // the step itself is parked already
)

// look says whether a step may run. A commit before the first parked one of its
// aggregate may: it comes again only after a crash, and is in order then.
func (b *blocks) look(c *store.Commit, s *subscriber) verdict {
	if b.count.Load() == 0 {
		return free
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := free
	for _, r := range b.targets[c.Target] {
		if r.seq > c.Position.Seq {
			break
		}
		same, earlier := r.function == s.Name, r.seq < c.Position.Seq
		switch {
		case !earlier && (same || r.order == OrderAggregate):
			return parked
		case earlier && r.order == OrderAggregate:
			v = behind // but the commit may be parked too: look on
		case earlier && same && r.order == OrderFunction && v == free:
			v = behindSame
		}
	}
	return v
}

// behindSame reports whether an earlier message of the same function is parked
// and the function wants them in order.
func (b *blocks) behindSame(c *store.Commit, s *subscriber) bool {
	if s.Retry.Order != OrderFunction {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.targets[c.Target], func(r blockRow) bool {
		return r.function == s.Name && r.seq < c.Position.Seq
	})
}

// add takes a row in; one that is there already stays.
func (b *blocks) add(t wow.Target, r blockRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.targets == nil {
		b.targets = map[wow.Target][]blockRow{}
	}
	i, found := slices.BinarySearchFunc(b.targets[t], r, compareRows)
	if found {
		return
	}
	b.targets[t] = slices.Insert(b.targets[t], i, r)
	b.count.Add(1)
}

// remove takes a row out.
func (b *blocks) remove(t wow.Target, seq int64, function string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := b.targets[t]
	i, found := slices.BinarySearchFunc(rows, blockRow{seq: seq, function: function}, compareRows)
	if !found {
		return
	}
	if rows = slices.Delete(rows, i, i+1); len(rows) == 0 {
		delete(b.targets, t)
	} else {
		b.targets[t] = rows
	}
	b.count.Add(-1)
}

// drop forgets the rows of a shard.
func (b *blocks) drop(shard int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t, rows := range b.targets {
		left := slices.DeleteFunc(rows, func(r blockRow) bool { return r.shard == shard })
		b.count.Add(int64(len(left) - len(rows)))
		if b.targets[t] = left; len(left) == 0 {
			delete(b.targets, t)
		}
	}
}

// has reports whether something of a commit is parked.
func (b *blocks) has(c *store.Commit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.targets[c.Target], func(r blockRow) bool { return r.seq == c.Position.Seq })
}

// blocked reports whether anything of an aggregate is parked.
func (b *blocks) blocked(t wow.Target) bool {
	if b.count.Load() == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.targets[t]) > 0
}

// full returns an error when so much is parked that the consumer should pause.
func (b *blocks) full() error {
	if n := b.count.Load(); n >= b.limit {
		return fmt.Errorf("%d messages are parked, the limit is %d: retry or skip them", n, b.limit)
	}
	return nil
}

func compareRows(a, b blockRow) int {
	if a.seq != b.seq {
		return int(max(-1, min(1, a.seq-b.seq)))
	}
	return strings.Compare(a.function, b.function)
}

// loadBlocks reads what is parked of a consumer. It returns the aggregates of
// what a process that ended has left as running.
func (c *consumer) loadBlocks(ctx context.Context, shard int32) (left []wow.Target, err error) {
	after := wow.Position{Shard: shard}
	for {
		page, err := c.env.store.Parked(ctx, c.name, wow.Target{}, after, 1000)
		if err != nil || len(page) == 0 {
			return left, err
		}
		for i := range page {
			if page[i].Running {
				left = append(left, page[i].Commit.Target)
			}
			c.blocks.add(page[i].Commit.Target, c.row(&page[i]))
		}
		after = page[len(page)-1].Commit.Position
	}
}
