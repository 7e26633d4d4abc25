package storetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

func snapshot(t wow.Target, revision string, version int64) *store.Snapshot {
	return &store.Snapshot{
		Target: t, Revision: revision, Version: version,
		Commit: newID(), Codec: store.JSON, Data: fmt.Appendf(nil, "state \x00\xff %d", version),
	}
}

// isAt compares the newest snapshot of at most a version.
func (f *fixture) isAt(t wow.Target, revision string, limit int64, want *store.Snapshot) {
	f.Helper()
	got, err := f.Snapshot(f.ctx(), t, revision, limit)
	f.must(err)
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("snapshot %s of revision %s up to %d: %+v, want %+v", t, revision, limit, got, want)
	}
}

var snapshotTests = []test{
	{"none is no error", func(f *fixture) { f.isAt(cart("a"), "r", 0, nil) }},
	{"the newest up to a version is found", func(f *fixture) {
		five, nine := snapshot(cart("a"), "r", 5), snapshot(cart("a"), "r", 9)
		f.must(f.SaveSnapshot(f.ctx(), five))
		f.must(f.SaveSnapshot(f.ctx(), nine))
		f.isAt(cart("a"), "r", 0, nine)
		f.isAt(cart("a"), "r", 9, nine)
		f.isAt(cart("a"), "r", 8, five)
		f.isAt(cart("a"), "r", 4, nil)
	}},
	{"they move forward only", func(f *fixture) {
		nine := snapshot(cart("a"), "r", 9)
		f.must(f.SaveSnapshot(f.ctx(), nine))
		f.must(f.SaveSnapshot(f.ctx(), snapshot(cart("a"), "r", 8)))
		f.isAt(cart("a"), "r", 0, nine)
		f.isAt(cart("a"), "r", 8, nil)
		again := snapshot(cart("a"), "r", 9)
		f.must(f.SaveSnapshot(f.ctx(), again))
		f.isAt(cart("a"), "r", 0, again)
	}},
	{"revisions and aggregates do not overwrite each other", func(f *fixture) {
		other := cart("a")
		other.Tenant = "t"
		all := []*store.Snapshot{snapshot(cart("a"), "r1", 3), snapshot(cart("a"), "r2", 1), snapshot(cart("b"), "r1", 2), snapshot(other, "r1", 1)}
		for _, s := range all {
			f.must(f.SaveSnapshot(f.ctx(), s))
		}
		for _, s := range all {
			f.isAt(s.Target, s.Revision, 0, s)
		}
	}},
	{"the newest few are kept", func(f *fixture) {
		var all []*store.Snapshot
		for v := int64(1); v <= store.SnapshotsKept+3; v++ {
			all = append(all, snapshot(cart("a"), "r", v))
			f.must(f.SaveSnapshot(f.ctx(), all[v-1]))
		}
		f.isAt(cart("a"), "r", 3, nil)
		for v := int64(4); v <= store.SnapshotsKept+3; v++ {
			f.isAt(cart("a"), "r", v, all[v-1])
		}
	}},
	{"a state of a megabyte is kept", func(f *fixture) {
		s := snapshot(cart("a"), "r", 1)
		s.Data = make([]byte, 1<<20)
		f.must(f.SaveSnapshot(f.ctx(), s))
		f.isAt(cart("a"), "r", 0, s)
	}},
	{"one of a state that does not exist is refused", func(f *fixture) {
		for _, s := range []*store.Snapshot{snapshot(cart("a"), "r", 0), snapshot(cart(""), "r", 1), {Target: cart("a"), Version: 1}} {
			if err := f.SaveSnapshot(f.ctx(), s); !errors.Is(err, wow.ErrInvalid) {
				f.Errorf("save of %+v: %v, want it to be invalid", s, err)
			}
		}
	}},
}

func (f *fixture) standsAt(consumer string, segment int, want store.Checkpoint) {
	f.Helper()
	got, err := f.Checkpoint(f.ctx(), consumer, 0, segment)
	f.must(err)
	want.Consumer, want.Segment = consumer, segment
	if got != want {
		f.Fatalf("checkpoint of %s: %+v, want %+v", consumer, got, want)
	}
}

func at(seq int64) wow.Position { return wow.Position{Seq: seq} }

var checkpointTests = []test{
	{"a new consumer stands at the beginning", func(f *fixture) { f.standsAt("c", 3, store.Checkpoint{}) }},
	{"a consumer moves on, each segment by itself", func(f *fixture) {
		many(f, 5)
		for _, seq := range []int64{0, 1, 3, 3, 5} {
			c := store.Checkpoint{Consumer: "c", Position: at(seq)}
			f.must(f.SaveCheckpoint(f.ctx(), c))
			f.standsAt("c", 0, c)
		}
		f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Segment: 1, Position: at(2)}))
		f.standsAt("c", 1, store.Checkpoint{Position: at(2)})
		f.standsAt("c", 0, store.Checkpoint{Position: at(5)})
		f.standsAt("d", 0, store.Checkpoint{})
	}},
	{"it does not move back", func(f *fixture) {
		many(f, 5)
		for epoch := range int64(2) {
			f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Epoch: epoch, Position: at(4)}))
			if err := f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Epoch: epoch, Position: at(3)}); !errors.Is(err, store.ErrEpoch) {
				f.Errorf("move back: %v, want %v", err, store.ErrEpoch)
			}
			f.standsAt("c", 0, store.Checkpoint{Epoch: epoch, Position: at(4)})
		}
	}},
	{"a late owner writes nothing", func(f *fixture) {
		many(f, 5)
		f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Epoch: 7, Position: at(2)}))
		if err := f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Epoch: 6, Position: at(3)}); !errors.Is(err, store.ErrEpoch) {
			f.Errorf("late owner: %v, want %v", err, store.ErrEpoch)
		}
		f.standsAt("c", 0, store.Checkpoint{Epoch: 7, Position: at(2)})
	}},
	{"one ahead of the history is refused", func(f *fixture) {
		many(f, 2)
		if err := f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Position: at(3)}); !errors.Is(err, store.ErrAhead) {
			f.Errorf("ahead: %v, want %v", err, store.ErrAhead)
		}
		f.standsAt("c", 0, store.Checkpoint{})
	}},
	{"a shard that is not there is an error", func(f *fixture) {
		if err := f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Position: wow.Position{Shard: f.Shards()}}); err == nil {
			f.Error("no error")
		}
	}},
}

func parked(consumer, function string, c *store.Commit) store.Parked {
	return store.Parked{Consumer: consumer, Function: function, Commit: c, Error: "boom \x00\xff", Attempts: 3, At: 1_700_000_000_000_000}
}

// list compares what a consumer has parked.
func (f *fixture) list(consumer string, t wow.Target, after int64, limit int, want ...store.Parked) {
	f.Helper()
	got, err := f.Parked(f.ctx(), consumer, t, at(after), limit)
	f.must(err)
	if len(got) != len(want) {
		f.Fatalf("parked of %s behind %d: %d, want %d", consumer, after, len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if d := differ(g.Commit, w.Commit); d != "" {
			f.Fatalf("parked %d: commit %s", i, d)
		}
		g.Commit, w.Commit = nil, nil
		if g != w {
			f.Fatalf("parked %d: %+v, want %+v", i, g, w)
		}
	}
}

var parkingTests = []test{
	{"what is parked is listed in order", func(f *fixture) {
		all := many(f, 4)
		one, two, three := parked("c", "f", all[0]), parked("c", "", all[1]), parked("c", "f", all[2])
		f.must(f.Park(f.ctx(), []store.Parked{three, one}, nil))
		f.must(f.Park(f.ctx(), []store.Parked{two}, nil))
		f.must(f.Park(f.ctx(), []store.Parked{parked("d", "f", all[0])}, nil))
		f.list("c", wow.Target{}, 0, 10, one, two, three)
		f.list("c", wow.Target{}, 0, 2, one, two)
		f.list("c", wow.Target{}, 2, 10, three)
		f.list("c", cart("many"), 1, 1, two)
		f.list("c", cart("other"), 0, 10)
		f.list("e", wow.Target{}, 0, 10)
	}},
	{"an aggregate's messages are found among others", func(f *fixture) {
		a, b, a2 := commit(cart("a"), 1), commit(cart("b"), 1), commit(cart("a"), 2)
		f.stored(a, b, a2)
		f.must(f.Park(f.ctx(), []store.Parked{parked("c", "f", a), parked("c", "f", b), parked("c", "f", a2)}, nil))
		f.list("c", cart("a"), 0, 10, parked("c", "f", a), parked("c", "f", a2))
		f.list("c", cart("b"), 0, 10, parked("c", "f", b))
	}},
	{"the functions of one position come together", func(f *fixture) {
		all := many(f, 2)
		f.must(f.Park(f.ctx(), []store.Parked{parked("c", "z", all[0]), parked("c", "g", all[0]), parked("c", "A", all[0]), parked("c", "f", all[1])}, nil))
		f.list("c", wow.Target{}, 0, 1, parked("c", "A", all[0]), parked("c", "g", all[0]), parked("c", "z", all[0]))
		f.list("c", wow.Target{}, 1, 1, parked("c", "f", all[1]))
	}},
	{"parking again keeps one message, with the newest error", func(f *fixture) {
		all := many(f, 2)
		again := parked("c", "f", all[0])
		again.Running = true
		f.must(f.Park(f.ctx(), []store.Parked{again, parked("c", "f", all[1])}, nil))
		again.Error, again.Attempts, again.At, again.Running = "worse", 9, again.At+1, false
		f.must(f.Park(f.ctx(), []store.Parked{again}, nil))
		f.list("c", wow.Target{}, 0, 10, again, parked("c", "f", all[1]))
	}},
	{"the checkpoint moves with it, or neither does", func(f *fixture) {
		all := many(f, 3)
		f.must(f.Park(f.ctx(), []store.Parked{parked("c", "f", all[0])}, &store.Checkpoint{Consumer: "c", Epoch: 2, Position: at(1)}))
		f.standsAt("c", 0, store.Checkpoint{Epoch: 2, Position: at(1)})
		for _, c := range []store.Checkpoint{
			{Consumer: "c", Epoch: 1, Position: at(2)}, {Consumer: "c", Epoch: 1, Position: at(0)},
		} {
			if err := f.Park(f.ctx(), []store.Parked{parked("c", "f", all[1])}, &c); !errors.Is(err, store.ErrEpoch) {
				f.Errorf("park with %+v: %v, want %v", c, err, store.ErrEpoch)
			}
		}
		if err := f.Park(f.ctx(), []store.Parked{parked("c", "f", all[1])}, &store.Checkpoint{Consumer: "c", Epoch: 2, Position: at(4)}); !errors.Is(err, store.ErrAhead) {
			f.Errorf("park ahead: %v, want %v", err, store.ErrAhead)
		}
		f.list("c", wow.Target{}, 0, 10, parked("c", "f", all[0]))
		f.standsAt("c", 0, store.Checkpoint{Epoch: 2, Position: at(1)})
	}},
	{"unparking removes one message, once", func(f *fixture) {
		all := many(f, 2)
		f.must(f.Park(f.ctx(), []store.Parked{parked("c", "f", all[0]), parked("c", "g", all[0]), parked("c", "f", all[1])}, nil))
		for range 2 {
			f.must(f.Unpark(f.ctx(), "c", "f", at(1), nil))
			f.list("c", wow.Target{}, 0, 10, parked("c", "g", all[0]), parked("c", "f", all[1]))
		}
		f.must(f.Unpark(f.ctx(), "nobody", "f", at(1), nil))
	}},
	{"a message without a stored commit is refused", func(f *fixture) {
		for _, p := range []store.Parked{{Consumer: "c"}, parked("c", "f", commit(cart("a"), 1)), parked("", "f", many(f, 1)[0])} {
			if err := f.Park(f.ctx(), []store.Parked{p}, nil); !errors.Is(err, wow.ErrInvalid) {
				f.Errorf("park of %+v: %v, want it to be invalid", p, err)
			}
		}
	}},
}
