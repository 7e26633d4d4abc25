package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

var appendTests = []test{
	{"every field comes back", func(f *fixture) {
		a, b := commit(cart("a"), 1), commit(cart("a"), 2)
		b.Target.Tenant, b.Version = "acme", 1
		b.Request, b.Correlation, b.Causation = "r1", "", ""
		b.Metadata, b.Events = nil, []store.Event{{Name: "emptied", Codec: store.JSON}}
		f.stored(a, b)
		f.holds("stream without tenant", f.history(cart("a")), a)
		f.holds("stream with tenant", f.history(b.Target), b)
		f.holds("log", f.log(a.Position.Shard), a, b)
	}},
	{"the answer and the commit say where it went", func(f *fixture) {
		cs := []*store.Commit{commit(cart("a"), 1), commit(cart("b"), 1), commit(cart("a"), 2)}
		for i, r := range f.append(cs...) {
			want := wow.Position{Seq: int64(i) + 1}
			if f.Shards() == 1 && r.Position != want {
				f.Errorf("position %s, want %s", r.Position, want)
			}
			if cs[i].Position != r.Position || cs[i].StoredAt == 0 {
				f.Errorf("commit says %s at %d, the answer %s", cs[i].Position, cs[i].StoredAt, r.Position)
			}
		}
	}},
	{"no entries, no answers", func(f *fixture) { f.append() }},
	{"a version that is taken conflicts", func(f *fixture) {
		f.stored(commit(cart("a"), 1), commit(cart("a"), 2))
		rs := f.append(commit(cart("a"), 2))
		f.want(rs, store.Conflict)
		if rs[0].Head != 2 {
			f.Errorf("head %d, want 2", rs[0].Head)
		}
	}},
	{"a version that leaves a gap conflicts", func(f *fixture) {
		rs := f.append(commit(cart("a"), 2))
		f.want(rs, store.Conflict)
		if rs[0].Head != 0 {
			f.Errorf("head %d, want 0", rs[0].Head)
		}
		f.stored(commit(cart("a"), 1))
		f.want(f.append(commit(cart("a"), 3)), store.Conflict)
		f.holds("log", f.log(0)[1:])
	}},
	{"a chain ends at its first loser, other aggregates go on", func(f *fixture) {
		f.stored(commit(cart("a"), 1))
		a2, b1, b2 := commit(cart("a"), 2), commit(cart("b"), 1), commit(cart("b"), 2)
		rs := f.append(b1, commit(cart("a"), 1), a2, b2, commit(cart("a"), 3))
		f.want(rs, store.Stored, store.Conflict, store.Failed, store.Stored, store.Failed)
		for _, i := range []int{2, 4} {
			if !errors.Is(rs[i].Err, store.ErrChain) {
				f.Errorf("entry %d: %v, want %v", i, rs[i].Err, store.ErrChain)
			}
		}
		f.holds("loser's stream", f.history(cart("a"))[1:])
		f.holds("other stream", f.history(cart("b")), b1, b2)
		f.stored(a2) // what failed may be tried again
	}},
	{"a chain of many commits is stored in order", func(f *fixture) {
		var cs []*store.Commit
		for v := int64(1); v <= 100; v++ {
			cs = append(cs, commit(cart("a"), v))
		}
		f.stored(cs...)
		f.holds("stream", f.history(cart("a")), cs...)
	}},
	{"appending the identical commit again finds it", func(f *fixture) {
		for _, request := range []string{"", "r1"} {
			a := cart("a" + request)
			first := requested(a, 1, request)
			f.stored(first)
			at, when := first.Position, first.StoredAt
			f.stored(requested(a, 2, ""))

			again := *first
			again.Position, again.StoredAt = wow.Position{}, 0
			for what, c := range map[string]*store.Commit{"same": first, "equal": &again} {
				rs := f.append(commit(cart("before"+request+what), 1), c)
				f.want(rs, store.Stored, store.Stored)
				if rs[1].Position != at || c.Position != at || c.StoredAt != when {
					f.Errorf("%s commit again: at %s (%s, %d), want %s, %d", what, rs[1].Position, c.Position, c.StoredAt, at, when)
				}
			}
			if n := len(f.history(a)); n != 2 {
				f.Errorf("stream has %d commits, want 2", n)
			}
		}
	}},
	{"a chain that was stored in part is finished by appending it again", func(f *fixture) {
		cs := []*store.Commit{requested(cart("a"), 1, "r1"), commit(cart("a"), 2), requested(cart("a"), 3, "r3"), commit(cart("a"), 4)}
		f.stored(cs[:2]...)
		f.stored(cs...)
		f.holds("stream", f.history(cart("a")), cs...)
	}},
	{"the same commit twice in a batch is stored once", func(f *fixture) {
		c := requested(cart("a"), 1, "r1")
		twin := *c
		f.stored(c, &twin)
		f.holds("log", f.log(0), c)
	}},
	{"an aggregate's versions do not depend on its neighbours", func(f *fixture) {
		near := []wow.Target{
			cart("a"), cart("A"), cart("a "), cart(" a"), cart("a/b"), cart("a%"), cart("a|b"), cart("ä"), cart("a\u0308"),
			{Tenant: "t", Aggregate: "shop.cart", ID: "a"}, {Tenant: "T", Aggregate: "shop.cart", ID: "a"},
			{Aggregate: "shop.order", ID: "a"}, {Aggregate: "shop.Cart", ID: "a"}, {Tenant: "shop.cart", Aggregate: "a", ID: "a"},
			{Aggregate: "shop", ID: ".cart/a"}, {Tenant: "ta", Aggregate: "b", ID: "c"}, {Tenant: "t", Aggregate: "ab", ID: "c"},
		}
		var cs []*store.Commit
		for _, t := range near {
			cs = append(cs, requested(t, 1, "same request"))
		}
		f.stored(cs...)
		for i, t := range near {
			f.holds(fmt.Sprintf("stream %q", t), f.history(t), cs[i])
		}
	}},
	{"stored-at never falls while positions rise", func(f *fixture) {
		for v := int64(1); v <= 30; v++ {
			f.stored(commit(cart("a"), v))
		}
		last := int64(0)
		for _, c := range f.log(0) {
			if c.StoredAt < last {
				f.Fatalf("stored at %d after %d", c.StoredAt, last)
			}
			last = c.StoredAt
		}
	}},
	{"a context that has ended stores nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx())
		cancel()
		rs := f.Append(ctx, []*store.Commit{commit(cart("a"), 1), commit(cart("a"), 2)})
		for i, r := range rs {
			if r.Status != store.Failed || !errors.Is(r.Err, context.Canceled) {
				f.Errorf("answer %d: %s %v, want failed and %v", i, r.Status, r.Err, context.Canceled)
			}
		}
		f.stored(commit(cart("a"), 1))
	}},
}
