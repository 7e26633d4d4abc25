package storetest

import (
	"fmt"

	"github.com/wowgen/wow/runtime/store"
)

// kept returns a decision that appends nothing and is to be remembered.
func kept(id string, version int64, kind store.OutcomeKind, request string) store.Settlement {
	o := store.Outcome{Kind: kind, Request: request, Version: version, At: 1_700_000_000_000_001}
	if kind == store.Refused {
		o.Code, o.Message = "cart_full", "the cart\x00is “full”\nof things"
	}
	return store.Settlement{Target: cart(id), Version: version, Keep: true, Outcome: o}
}

var requestTests = []test{
	{"a request that became a commit is repeated", func(f *fixture) {
		c := requested(cart("a"), 1, "r1")
		f.stored(c, commit(cart("a"), 2))
		for _, version := range []int64{1, 3, 9} { // whatever the version
			rs := f.append(requested(cart("a"), version, "r1"))
			f.want(rs, store.Repeated)
			if rs[0].Head != 2 {
				f.Errorf("head %d, want 2", rs[0].Head)
			}
			f.outcome(rs[0].First, store.Outcome{
				Kind: store.Committed, Request: "r1", Version: 1, Position: c.Position, Commit: c.ID, At: c.DecidedAt,
			})
		}
		f.holds("stream", f.history(cart("a"))[2:])
	}},
	{"a repeat ends its chain", func(f *fixture) {
		f.stored(requested(cart("a"), 1, "r1"))
		f.want(f.append(requested(cart("a"), 2, "r1"), commit(cart("a"), 3), commit(cart("b"), 1)),
			store.Repeated, store.Failed, store.Stored)
	}},
	{"a repeat inside one batch is found", func(f *fixture) {
		c := requested(cart("a"), 1, "r1")
		rs := f.append(c, requested(cart("a"), 2, "r1"), commit(cart("a"), 2))
		f.want(rs, store.Stored, store.Repeated, store.Failed)
		if rs[1].First == nil || rs[1].First.Commit != c.ID || rs[1].First.Position != c.Position {
			f.Errorf("first %+v, want commit %s at %s", rs[1].First, c.ID, c.Position)
		}
	}},
	{"a request is unique in its aggregate only", func(f *fixture) {
		a, b := requested(cart("a"), 1, "r1"), requested(cart("b"), 1, "r1")
		f.stored(a, b, requested(cart("a"), 2, "R1"), requested(cart("a"), 3, "r1 "))
		f.settle(kept("c", 0, store.Refused, "r1"))
		if s := f.settle(kept("d", 0, store.NoOp, "r1")); s[0].First != nil {
			f.Errorf("another aggregate's request was found: %+v", s[0].First)
		}
	}},
	{"commits without a request never repeat", func(f *fixture) {
		f.stored(commit(cart("a"), 1), commit(cart("a"), 2), commit(cart("b"), 1))
	}},
	{"each of many requests is found", func(f *fixture) {
		const n = 200
		for v := int64(1); v <= n; v++ {
			f.stored(requested(cart("a"), v, fmt.Sprint("r", v)))
		}
		for v := int64(1); v <= n; v++ {
			rs := f.append(requested(cart("a"), n+1, fmt.Sprint("r", v)))
			f.want(rs, store.Repeated)
			if rs[0].First.Version != v {
				f.Fatalf("request r%d came to version %d", v, rs[0].First.Version)
			}
		}
		f.stored(requested(cart("a"), n+1, "another"))
	}},
	{"a kept refusal and a kept no-op are repeated", func(f *fixture) {
		f.stored(commit(cart("a"), 1))
		refused, noop := kept("a", 1, store.Refused, "r1"), kept("a", 1, store.NoOp, "r2")
		for i, s := range f.settle(refused, noop) {
			if s.Head != 1 || s.First != nil {
				f.Errorf("settled %d: %+v, want head 1 and nothing before", i, s)
			}
		}
		f.stored(commit(cart("a"), 2)) // the state has changed: the answer has not
		rs := f.append(requested(cart("a"), 3, "r1"))
		f.want(rs, store.Repeated)
		f.outcome(rs[0].First, refused.Outcome)
		rs = f.append(requested(cart("a"), 3, "r2"))
		f.want(rs, store.Repeated)
		f.outcome(rs[0].First, noop.Outcome)
	}},
	{"settling finds what the request came to before", func(f *fixture) {
		c := requested(cart("a"), 1, "r1")
		f.stored(c)
		f.settle(kept("a", 1, store.NoOp, "r2"))
		again := f.settle(kept("a", 1, store.Refused, "r1"), kept("a", 1, store.Refused, "r2"), kept("a", 1, store.Refused, "r2"))
		f.outcome(again[0].First, *c.Outcome())
		f.outcome(again[1].First, kept("a", 1, store.NoOp, "r2").Outcome)
		f.outcome(again[2].First, kept("a", 1, store.NoOp, "r2").Outcome)
	}},
	{"the same request twice in one settle is kept once", func(f *fixture) {
		s := f.settle(kept("a", 0, store.NoOp, "r1"), kept("a", 0, store.Refused, "r1"))
		if s[0].First != nil {
			f.Errorf("the first found %+v", s[0].First)
		}
		f.outcome(s[1].First, kept("a", 0, store.NoOp, "r1").Outcome)
	}},
	{"a decision on stale state is told the head and not kept", func(f *fixture) {
		f.stored(commit(cart("a"), 1), commit(cart("a"), 2))
		for _, version := range []int64{0, 1, 3} {
			if s := f.settle(kept("a", version, store.Refused, "r1")); s[0].Head != 2 || s[0].First != nil {
				f.Fatalf("settled on version %d: %+v, want head 2", version, s[0])
			}
		}
		f.stored(requested(cart("a"), 3, "r1"))
	}},
	{"what is not to be kept is only confirmed", func(f *fixture) {
		d := kept("a", 0, store.Refused, "r1")
		d.Keep = false
		unnamed := kept("b", 0, store.NoOp, "")
		unnamed.Keep = false
		for i, s := range f.settle(d, unnamed) {
			if s.Head != 0 || s.First != nil {
				f.Errorf("settled %d: %+v", i, s)
			}
		}
		f.stored(requested(cart("a"), 1, "r1"))
		if s := f.settle(d); s[0].Head != 1 || s[0].First == nil || s[0].First.Kind != store.Committed {
			f.Errorf("settled %+v, want the commit", s[0])
		}
	}},
	{"an aggregate that only refused still begins at version 1", func(f *fixture) {
		f.settle(kept("a", 0, store.Refused, "r1"))
		if h := f.history(cart("a")); len(h) != 0 {
			f.Fatalf("history %v", h)
		}
		f.stored(commit(cart("a"), 1))
	}},
	{"outcomes are no part of the log", func(f *fixture) {
		f.settle(kept("a", 0, store.Refused, "r1"))
		c := commit(cart("b"), 1)
		f.stored(c)
		f.holds("log", f.log(0), c)
		if f.Shards() == 1 && c.Position.Seq != 1 {
			f.Errorf("position %s, want 0/1", c.Position)
		}
	}},
}
