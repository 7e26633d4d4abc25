package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// many appends n commits of one aggregate in batches.
func many(f *fixture, n int64) []*store.Commit {
	f.Helper()
	var all []*store.Commit
	for v := int64(1); v <= n; {
		var batch []*store.Commit
		for ; v <= n && len(batch) < 300; v++ {
			batch = append(batch, commit(cart("many"), v))
		}
		f.stored(batch...)
		all = append(all, batch...)
	}
	return all
}

var readTests = []test{
	{"an empty store has nothing to read", func(f *fixture) {
		f.holds("stream", f.history(cart("a")))
		for shard := range f.Shards() {
			f.holds("log", f.log(shard))
			if h, err := f.Head(f.ctx(), shard); err != nil || h != (wow.Position{Shard: shard}) {
				f.Errorf("head %s, %v", h, err)
			}
		}
	}},
	{"a stream is cut where it is asked to be", func(f *fixture) {
		all := many(f, 10)
		for _, c := range []struct {
			after    int64
			limit    int
			from, to int
		}{
			{0, 3, 0, 3}, {0, 100, 0, 10}, {3, 4, 3, 7}, {9, 5, 9, 10}, {10, 5, 10, 10}, {11, 5, 10, 10}, {0, 0, 0, 0}, {5, -1, 0, 0}, {1 << 40, 1, 0, 0},
		} {
			got, err := f.Stream(f.ctx(), cart("many"), c.after, c.limit)
			f.must(err)
			f.holds("stream", got, all[c.from:c.to]...)
		}
	}},
	{"a log of several thousand commits is read whole, from anywhere", func(f *fixture) {
		all := many(f, 2500)
		f.holds("log", f.log(0), all...)
		f.holds("stream", f.history(cart("many")), all...)
		for _, after := range []int64{0, 1, 1023, 1024, 1025, 2047, 2048, 2499} {
			got, err := f.Read(f.ctx(), wow.Position{Seq: after}, 5)
			f.must(err)
			if len(got) == 0 || len(got) > 5 {
				f.Fatalf("read behind %d: %d commits", after, len(got))
			}
			f.holds("log", got, all[after:after+int64(len(got))]...)
		}
		for _, c := range []struct {
			after int64
			limit int
		}{{2500, 1}, {9999, 1}, {0, 0}, {0, -1}} {
			if got, err := f.Read(f.ctx(), wow.Position{Seq: c.after}, c.limit); err != nil || len(got) != 0 {
				f.Errorf("read of %d behind %d: %d commits, %v", c.limit, c.after, len(got), err)
			}
		}
		if h, err := f.Head(f.ctx(), 0); err != nil || h != (wow.Position{Seq: 2500}) {
			f.Errorf("head %s, %v, want 0/2500", h, err)
		}
	}},
	{"a shard that is not there is an error", func(f *fixture) {
		at := wow.Position{Shard: f.Shards()}
		if _, err := f.Head(f.ctx(), at.Shard); err == nil {
			f.Error("head: no error")
		}
		if _, err := f.Read(f.ctx(), at, 1); err == nil {
			f.Error("read: no error")
		}
		if err := f.Wait(f.ctx(), at); err == nil {
			f.Error("wait: no error")
		}
		if _, err := f.Head(f.ctx(), -1); err == nil {
			f.Error("head of shard -1: no error")
		}
	}},
	{"waiting for what is there does not wait", func(f *fixture) {
		f.stored(commit(cart("a"), 1))
		f.must(f.Wait(f.ctx(), wow.Position{}))
	}},
	{"an append wakes all who wait for it", func(f *fixture) {
		for v := int64(1); v <= 50; v++ {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := waitFor(f.ctx(), f.Store, wow.Position{Seq: v - 1}); err != nil {
						f.Errorf("wait behind %d: %v", v-1, err)
					}
				})
			}
			f.stored(commit(cart("a"), v))
			wg.Wait()
		}
	}},
	{"waiting ends with its context", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx())
		done := make(chan error)
		go func() { done <- waitFor(ctx, f.Store, wow.Position{Seq: 5}) }()
		f.stored(commit(cart("a"), 1))
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			f.Errorf("wait: %v, want %v", err, context.Canceled)
		}
	}},
	{"reading ends with its context", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx())
		cancel()
		if _, err := f.Read(ctx, wow.Position{}, 1); !errors.Is(err, context.Canceled) {
			f.Errorf("read: %v", err)
		}
		if _, err := f.Stream(ctx, cart("a"), 0, 1); !errors.Is(err, context.Canceled) {
			f.Errorf("stream: %v", err)
		}
		if _, err := f.Head(ctx, 0); !errors.Is(err, context.Canceled) {
			f.Errorf("head: %v", err)
		}
	}},
}

// waitFor waits as a consumer does: Wait may return early.
func waitFor(ctx context.Context, s store.Store, after wow.Position) error {
	for {
		if err := s.Wait(ctx, after); err != nil {
			return err
		}
		if h, err := s.Head(ctx, after.Shard); err != nil || h.Seq > after.Seq {
			return err
		}
	}
}

var closeTests = []test{
	{"every call after it says that the store is closed", func(f *fixture) {
		f.stored(commit(cart("a"), 1))
		f.must(f.Store.Close())
		f.must(f.Store.Close())
		ctx := f.ctx()
		r := f.Append(ctx, []*store.Commit{commit(cart("a"), 2)})
		errs := map[string]error{"append": r[0].Err}
		_, errs["stream"] = f.Stream(ctx, cart("a"), 0, 1)
		_, errs["read"] = f.Read(ctx, wow.Position{}, 1)
		_, errs["head"] = f.Head(ctx, 0)
		errs["wait"] = f.Wait(ctx, wow.Position{Seq: 1})
		_, errs["settle"] = f.Settle(ctx, []store.Settlement{kept("a", 1, store.NoOp, "r")})
		_, errs["snapshot"] = f.Snapshot(ctx, cart("a"), "r", 0)
		errs["save snapshot"] = f.SaveSnapshot(ctx, snapshot(cart("a"), "r", 1))
		_, errs["checkpoint"] = f.Checkpoint(ctx, "c", 0, 0)
		errs["save checkpoint"] = f.SaveCheckpoint(ctx, store.Checkpoint{Consumer: "c"})
		_, errs["parked"] = f.Parked(ctx, "c", wow.Target{}, wow.Position{}, 1)
		errs["unpark"] = f.Unpark(ctx, "c", "f", wow.Position{Seq: 1}, nil)
		for name, err := range errs {
			if !errors.Is(err, store.ErrClosed) {
				f.Errorf("%s: %v, want %v", name, err, store.ErrClosed)
			}
		}
	}},
	{"it ends every wait", func(f *fixture) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := waitFor(f.ctx(), f.Store, wow.Position{}); !errors.Is(err, store.ErrClosed) {
					f.Errorf("wait: %v, want %v", err, store.ErrClosed)
				}
			})
		}
		f.must(f.Store.Close())
		wg.Wait()
	}},
	{"an append at the same time is stored or refused", func(f *fixture) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for v := int64(1); ; v++ {
					r := f.Append(f.ctx(), []*store.Commit{commit(cart(string(rune('a'+i))), v)})[0]
					switch r.Status {
					case store.Stored:
						continue
					case store.Failed, store.Unknown:
						if r.Err == nil {
							f.Errorf("%s without an error", r.Status)
						}
					default:
						f.Errorf("append during close: %s", r.Status)
					}
					return
				}
			})
		}
		f.must(f.Wait(f.ctx(), wow.Position{}))
		f.must(f.Store.Close())
		wg.Wait()
	}},
}
