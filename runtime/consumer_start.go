package runtime

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// startsOf is the name under which it is kept that a consumer has begun: one that
// began where nothing was yet has no checkpoint to tell by.
func startsOf(consumer string) string { return "wow.start." + consumer }

// begins returns where a consumer without a checkpoint begins in a shard, and
// keeps that. It is asked once in the consumer's life, or again after a crash in
// the middle of it, when the consumer had not begun.
func (c *consumer) begins(ctx context.Context, f *feed, epoch int64) (wow.Position, error) {
	at := wow.Position{Shard: f.tail.shard}
	if c.start == (Start{}) {
		return at, nil
	}
	mark := store.Timer{Consumer: startsOf(c.name), Name: fmt.Sprint("shard ", at.Shard), Position: wow.Position{Shard: at.Shard, Seq: 1}, Due: math.MaxInt64}
	begun, err := c.env.store.Timer(ctx, mark.Consumer, mark.Name)
	if err != nil || begun != nil {
		return at, err
	}
	head, err := c.env.store.Head(ctx, at.Shard)
	if err != nil {
		return at, err
	}
	if at.Seq = head.Seq; !c.start.now {
		if at.Seq, err = c.firstAt(ctx, head); err != nil {
			return at, err
		}
	}
	if at.Seq > 0 {
		if c.tx != nil {
			err = c.within(ctx, at, func(context.Context) error { return nil })
		} else {
			err = c.env.store.SaveCheckpoint(ctx, store.Checkpoint{Consumer: c.name, Epoch: epoch, Position: at})
		}
		if err != nil {
			return at, err
		}
	}
	return at, c.env.store.SetTimers(ctx, []store.Timer{mark})
}

// firstAt returns the position before the first commit that was stored at the
// time to start at. Commits are stored in the order of time.
func (c *consumer) firstAt(ctx context.Context, head wow.Position) (int64, error) {
	var fault error
	n := sort.Search(int(head.Seq), func(i int) bool {
		if fault != nil {
			return true
		}
		commits, err := c.env.store.Read(ctx, wow.Position{Shard: head.Shard, Seq: int64(i)}, 1)
		if err != nil || len(commits) == 0 {
			fault = fmt.Errorf("reading position %d/%d: %w", head.Shard, i+1, err)
			return true
		}
		return commits[0].StoredAt >= c.start.at
	})
	return int64(n), fault
}
