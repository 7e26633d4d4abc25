package storetest

import (
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

var reopenTests = []test{
	{"the history is the same, and goes on", func(f *fixture) {
		id := f.ID()
		a, b := requested(cart("a"), 1, "r1"), commit(cart("b"), 1)
		f.stored(a, b)
		f.reopen()
		if f.ID() != id || id == "" {
			f.Errorf("identity %q, want %q", f.ID(), id)
		}
		f.holds("log", f.log(0), a, b)
		f.want(f.append(commit(cart("a"), 1)), store.Conflict)
		c := commit(cart("a"), 2)
		f.stored(c)
		f.holds("log", f.log(0), a, b, c)
		f.holds("stream", f.history(cart("a")), a, c)
	}},
	{"stored-at goes on where it was", func(f *fixture) {
		for v := int64(1); v <= 5; v++ {
			f.stored(commit(cart("a"), v))
			f.reopen()
		}
		if err := tail(f.ctx(), f.Store, 5); err != nil {
			f.Error(err)
		}
	}},
	{"requests are remembered, refusals too", func(f *fixture) {
		a := requested(cart("a"), 1, "r1")
		f.stored(a)
		f.settle(kept("a", 1, store.Refused, "r2"))
		f.reopen()
		rs := f.append(requested(cart("a"), 2, "r1"))
		f.want(rs, store.Repeated)
		f.outcome(rs[0].First, *a.Outcome())
		rs = f.append(requested(cart("a"), 2, "r2"))
		f.want(rs, store.Repeated)
		f.outcome(rs[0].First, kept("a", 1, store.Refused, "r2").Outcome)
		again := *a
		again.Position = wow.Position{}
		rs = f.append(&again)
		f.want(rs, store.Stored)
		if rs[0].Position != a.Position {
			f.Errorf("the identical commit is at %s, want %s", rs[0].Position, a.Position)
		}
	}},
	{"consumers stand where they stood", func(f *fixture) {
		all := many(f, 3)
		s := snapshot(cart("many"), "r", 3)
		f.must(f.SaveSnapshot(f.ctx(), s))
		f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Segment: 2, Epoch: 7, Position: at(3)}))
		p := parked("c", "f", all[1])
		p.Running = true
		f.must(f.Park(f.ctx(), []store.Parked{p}, nil))
		f.reopen()
		f.isAt(cart("many"), "r", 0, s)
		f.standsAt("c", 2, store.Checkpoint{Epoch: 7, Position: at(3)})
		f.list("c", wow.Target{}, 0, 10, p)
	}},
	{"many restarts lose nothing", func(f *fixture) {
		var all []*store.Commit
		for i := range 10 {
			for j := range 5 {
				c := requested(cart(fmt.Sprint(j)), int64(i)+1, fmt.Sprint("r", i))
				f.stored(c)
				all = append(all, c)
			}
			f.reopen()
		}
		f.holds("log", f.log(0), all...)
	}},
}
