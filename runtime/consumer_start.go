package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

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

// newFunctions tells of functions that a consumer did not have when it last ran:
// they see what comes from its checkpoint on, which is easily overlooked.
func (c *consumer) newFunctions(ctx context.Context, at wow.Position) {
	names := slices.Sorted(maps.Keys(c.table.byName))
	data, err := json.Marshal(names)
	if err != nil || c.kind == KindSnapshot {
		return
	}
	known, err := c.env.store.Timer(ctx, startsOf(c.name), "functions")
	if err != nil || known != nil && string(known.Data) == string(data) {
		return // without an answer there is nothing to tell
	}
	var before []string
	if known != nil && json.Unmarshal(known.Data, &before) == nil && at.Seq > 0 {
		for _, name := range names {
			if !slices.Contains(before, name) {
				c.env.out.Info("a function is new: it sees what comes from here on; for what was before give the projection a new generation",
					"consumer", c.name, "function", name, "behind", at)
			}
		}
	}
	mark := store.Timer{Consumer: startsOf(c.name), Name: "functions", Position: wow.Position{Shard: at.Shard, Seq: 1},
		Index: time.Now().UnixMicro(), Due: math.MaxInt64, Data: data}
	if err := c.env.store.SetTimers(ctx, []store.Timer{mark}); err != nil {
		c.env.out.Debug("the names of functions are not kept", "consumer", c.name, "error", err)
	}
}
