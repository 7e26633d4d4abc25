package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// A function that does not return would hold its consumer's checkpoint, and in
// the end, when its window is full, all of the consumer. After stuckAfter its
// commit is parked as running: the checkpoint goes on, its aggregate waits. When
// the function returns after all the entry goes, and those behind it are run; a
// restart runs it again.
//
// Serial consumers, and projections with transactions, have one mailbox: there
// is nobody to let past, and the status says what hangs.

// hangLook is how often it is looked for functions that hang.
const hangLook = 10 * time.Second

// hanging are the aggregates of a consumer whose function does not return.
type hanging struct {
	mu sync.Mutex
	at map[wow.Target]int64 // the position of the commit
}

func (h *hanging) set(t wow.Target, seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil {
		h.at = map[wow.Target]int64{}
	}
	h.at[t] = seq
}

func (h *hanging) has(t wow.Target) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.at[t]
	return ok
}

// returned reports whether it is this commit's function that did not return
// before.
func (h *hanging) returned(t wow.Target, seq int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, ok := h.at[t]; !ok || at != seq {
		return false
	}
	delete(h.at, t)
	return true
}

func (h *hanging) none() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.at) == 0
}

func (h *hanging) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = nil
}

// watchHanging looks for functions that hang until ctx ends.
func (cs *consumers) watchHanging(ctx context.Context) {
	tick := time.NewTicker(hangLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, c := range cs.all {
			if c.serial || c.kind == KindSnapshot {
				continue
			}
			for _, f := range c.feeds {
				if err := f.parkHanging(ctx); err != nil && ctx.Err() == nil {
					c.env.out.Error("parking what hangs failed, trying again", "consumer", c.name, "error", err)
				}
			}
		}
	}
}

// parkHanging parks the commits that hold the checkpoint up: the one whose
// function does not return, and those of its aggregate that wait behind it.
func (f *feed) parkHanging(ctx context.Context) error {
	m, c := f.mark(), f.c
	for m != nil && m == f.mark() {
		low, taken := m.progress()
		if low == taken {
			return nil
		}
		waited := time.Since(time.UnixMicro(f.since.Load()))
		t := f.tasks[(low+1)%markWindow].Load()
		runs := t != nil && t.busy.Load() && waited >= stuckAfter
		if !runs && c.hanging.none() {
			return nil
		}
		commits, err := c.env.store.Read(ctx, wow.Position{Shard: f.tail.shard, Seq: low}, 1)
		if err != nil || len(commits) == 0 {
			return err
		}
		commit := commits[0]
		if !runs && !c.hanging.has(commit.Target) {
			return nil
		}
		p := store.Parked{Consumer: c.name, Commit: commit, At: time.Now().UnixMicro()}
		if runs && !c.hanging.has(commit.Target) {
			p.Running, p.Error = true, fmt.Sprintf("its function has not returned for %v", waited.Round(time.Second))
			c.hanging.set(commit.Target, low+1)
			c.env.out.Error("a function does not return: its message is parked as running", "consumer", c.name,
				"aggregate", commit.Target, "position", commit.Position, "for", waited.Round(time.Second))
		}
		if err := c.env.store.Park(ctx, []store.Parked{p}, c.fence(commit)); err != nil {
			if p.Running {
				c.hanging.returned(commit.Target, low+1)
			}
			return err
		}
		c.blocks.add(commit.Target, c.row(&p))
		f.moved(m.finish(low+1, wow.ErrParked))
	}
	return nil
}

// backAgain takes the entry of a function that returned at last away, unless it
// failed, and runs what waits behind it.
func (c *consumer) backAgain(commit *store.Commit, aside error) {
	c.env.wishes.Go(func() {
		ctx := c.env.over
		p := store.Parked{Consumer: c.name, Commit: commit}
		if aside == nil {
			if err := c.unpark(ctx, &p); err != nil {
				c.env.out.Error("a function returned at last, and its entry stays", "consumer", c.name, "position", commit.Position, "error", err)
				return
			}
		}
		if err := c.grant(ctx, commit.Target, retryParked); err != nil && ctx.Err() == nil && !errors.Is(err, errLeft) {
			c.env.out.Warn("a function returned at last, and what waits behind it stays parked", "consumer", c.name, "aggregate", commit.Target, "error", err)
		}
	})
}

// runAgain runs what a process left as running when it ended.
func (c *consumer) runAgain(targets []wow.Target) {
	for _, t := range targets {
		c.env.wishes.Go(func() {
			if err := c.grant(c.env.over, t, retryParked); err != nil && c.env.over.Err() == nil {
				c.env.out.Warn("what was left as running is parked", "consumer", c.name, "aggregate", t, "error", err)
			}
		})
	}
}
