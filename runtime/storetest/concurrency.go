package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// scaled returns n, or less for a store that is slow.
func (f *fixture) scaled(n int) int { return max(4, int(float64(n)*f.o.Load)) }

// tail follows a shard, as a consumer does, until it has seen n commits. Each
// must stand right behind the one before, in its shard and in its aggregate.
func tail(ctx context.Context, s store.Store, n int) error {
	seen, versions, stored := int64(0), map[wow.Target]int64{}, int64(0)
	for int(seen) < n {
		cs, err := s.Read(ctx, wow.Position{Seq: seen}, 64)
		if err != nil {
			return err
		}
		for _, c := range cs {
			if c.Position.Seq != seen+1 {
				return fmt.Errorf("position %s after %d", c.Position, seen)
			}
			if c.Version != versions[c.Target]+1 {
				return fmt.Errorf("%s version %d after %d", c.Target, c.Version, versions[c.Target])
			}
			if c.StoredAt < stored {
				return fmt.Errorf("position %s stored at %d after %d", c.Position, c.StoredAt, stored)
			}
			seen, versions[c.Target], stored = c.Position.Seq, c.Version, c.StoredAt
		}
		if len(cs) == 0 {
			if err := s.Wait(ctx, wow.Position{Seq: seen}); err != nil {
				return err
			}
		}
	}
	return nil
}

var concurrencyTests = []test{
	{"writers that fight for aggregates leave one line of each, readers see no hole", func(f *fixture) {
		const writers, aggregates = 8, 3
		each := f.scaled(300)
		var wg, readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				if err := tail(f.ctx(), f.Store, writers*each); err != nil {
					f.Errorf("tail: %v", err)
				}
			})
		}
		var conflicts atomic.Int64
		acked := make([]map[string]wow.Position, writers)
		for w := range writers {
			acked[w] = map[string]wow.Position{}
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				var heads [aggregates]int64
				for len(acked[w]) < each {
					batch := make([]*store.Commit, 0, 3)
					for n := min(1+rnd.IntN(3), each-len(acked[w])); len(batch) < n; {
						a := rnd.IntN(aggregates)
						heads[a]++
						batch = append(batch, commit(cart(fmt.Sprint(a)), heads[a]))
					}
					for i, r := range f.Append(f.ctx(), batch) {
						switch r.Status {
						case store.Stored:
							acked[w][batch[i].ID] = r.Position
						case store.Conflict:
							conflicts.Add(1)
							for a := range aggregates {
								if cart(fmt.Sprint(a)) == batch[i].Target {
									heads[a] = r.Head
								}
							}
						case store.Failed: // its chain ended; the conflict before it told the head
							if !errors.Is(r.Err, store.ErrChain) {
								f.Errorf("append: %v", r.Err)
								return
							}
						default:
							f.Errorf("append: %s %v", r.Status, r.Err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		readers.Wait()
		stored := map[string]wow.Position{}
		for _, c := range f.log(0) {
			stored[c.ID] = c.Position
		}
		if len(stored) != writers*each {
			f.Errorf("%d commits, want %d", len(stored), writers*each)
		}
		for w := range acked {
			for id, at := range acked[w] {
				if stored[id] != at {
					f.Fatalf("commit %s was acknowledged at %s and is at %s", id, at, stored[id])
				}
			}
		}
		f.Logf("%d commits, %d conflicts", len(stored), conflicts.Load())
	}},
	{"a request that several send at once takes effect once", func(f *fixture) {
		const senders = 6
		for i := range f.scaled(60) {
			target, request := cart(fmt.Sprint(i%5)), fmt.Sprint("r", i)
			var wg sync.WaitGroup
			ids := make([]string, senders)
			for s := range senders {
				wg.Go(func() {
					version := int64(1)
					for {
						c := requested(target, version, request)
						r := f.Append(f.ctx(), []*store.Commit{c})[0]
						switch r.Status {
						case store.Stored:
							ids[s] = c.ID
							return
						case store.Repeated:
							ids[s] = r.First.Commit
							return
						case store.Conflict:
							version = r.Head + 1
						default:
							f.Errorf("append: %s %v", r.Status, r.Err)
							return
						}
					}
				})
			}
			wg.Wait()
			for _, id := range ids {
				if id != ids[0] || id == "" {
					f.Fatalf("request %s came to several commits: %q", request, ids)
				}
			}
		}
		if n := len(f.log(0)); n != f.scaled(60) {
			f.Errorf("%d commits, want %d", n, f.scaled(60))
		}
	}},
	{"a commit and a refusal of the same request: one of them wins for both", func(f *fixture) {
		for i := range f.scaled(60) {
			target, request := cart(fmt.Sprint(i)), "r"
			c := requested(target, 1, request)
			var appended store.Result
			var settled store.Settled
			var wg sync.WaitGroup
			wg.Go(func() { appended = f.Append(f.ctx(), []*store.Commit{c})[0] })
			wg.Go(func() {
				d := kept("", 0, store.Refused, request)
				d.Target = target
				s, err := f.Settle(f.ctx(), []store.Settlement{d})
				if err != nil {
					f.Errorf("settle: %v", err)
					return
				}
				settled = s[0]
			})
			wg.Wait()
			refused := appended.Status == store.Repeated && appended.First.Kind == store.Refused && settled.First == nil && settled.Head == 0
			committed := appended.Status == store.Stored && settled.First != nil && settled.First.Commit == c.ID && settled.Head == 1
			if refused == committed {
				f.Fatalf("append: %+v; settle: %+v", appended, settled)
			}
		}
	}},
	{"checkpoints of owners that overlap never move back", func(f *fixture) {
		many(f, 50)
		var wg sync.WaitGroup
		for epoch := range int64(4) {
			wg.Go(func() {
				for seq := range int64(f.scaled(50)) {
					err := f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Epoch: epoch, Position: at(min(seq, 50))})
					if err != nil && !errors.Is(err, store.ErrEpoch) {
						f.Errorf("save: %v", err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			var last store.Checkpoint
			for range f.scaled(50) {
				c, err := f.Checkpoint(f.ctx(), "c", 0, 0)
				if err != nil || c.Epoch < last.Epoch || c.Position.Seq < last.Position.Seq {
					f.Errorf("checkpoint %+v after %+v, %v", c, last, err)
					return
				}
				last = c
			}
		})
		wg.Wait()
	}},
}
