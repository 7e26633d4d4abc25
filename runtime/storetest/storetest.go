// Package storetest holds a store to the contract of package store. Every
// store of the project runs it, and so can a store of your own:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) store.Store { return mystore.New() }, storetest.Options{})
//	}
//
// Each test gets a store of its own from open, and closes it.
package storetest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Open returns an empty store, ready for use.
type Open func(t testing.TB) store.Store

// Options say what a store promises beyond the contract, and how long to test.
// The zero value suits a store that is as fast as memory.
type Options struct {
	// Reopen closes a store and opens what it kept, as a restart does. It is
	// nil for a store that keeps nothing: then durability is not tested.
	Reopen func(t testing.TB, s store.Store) store.Store

	// Load scales the concurrency tests; 0 is 1. A store that syncs a disk for
	// each append may want less, a nightly run more.
	Load float64
}

// patience bounds everything that must happen without delay.
const patience = 20 * time.Second

// Run tests a store.
func Run(t *testing.T, open Open, o Options) {
	if o.Load == 0 {
		o.Load = 1
	}
	groups := []struct {
		name  string
		tests []test
	}{
		{"Append", appendTests},
		{"Requests", requestTests},
		{"Limits", limitTests},
		{"Read", readTests},
		{"Snapshots", snapshotTests},
		{"Checkpoints", checkpointTests},
		{"Parking", parkingTests},
		{"Timers", timerTests},
		{"Leases", leaseTests},
		{"Concurrency", concurrencyTests},
		{"Close", closeTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) { c.run(start(t, open, o)) })
			}
		})
	}
	t.Run("Model", func(t *testing.T) { testModel(t, open) })
	if o.Reopen != nil {
		t.Run("Reopen", func(t *testing.T) {
			for _, c := range reopenTests {
				t.Run(c.name, func(t *testing.T) { c.run(start(t, open, o)) })
			}
		})
	}
}

// test is one property; its name says which.
type test struct {
	name string
	run  func(*fixture)
}

// fixture is a store under test, with words to say what is expected of it.
type fixture struct {
	*testing.T
	store.Store
	o Options
}

func start(t *testing.T, open Open, o Options) *fixture {
	f := &fixture{T: t, Store: open(t), o: o}
	t.Cleanup(func() {
		if err := f.Store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// ctx ends with the test, and when something takes far too long.
func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	f.Cleanup(cancel)
	return ctx
}

// reopen restarts the store.
func (f *fixture) reopen() {
	f.Helper()
	f.Store = f.o.Reopen(f.T, f.Store)
}

// cart is the address of an aggregate.
func cart(id string) wow.Target { return wow.Target{Aggregate: "shop.cart", ID: id} }

// commit returns a commit of an aggregate with something in every field but
// the request.
func commit(t wow.Target, version int64) *store.Commit {
	return &store.Commit{
		Target:      t,
		Version:     version,
		ID:          newID(),
		Correlation: "correlation-" + t.ID,
		Causation:   fmt.Sprint("causation-", version),
		DecidedAt:   1_700_000_000_000_000 + version,
		Metadata:    map[string]string{"user": "ada", "empty": "", "": "no name", "utf8": "é\u0301\x00"},
		Events: []store.Event{
			{Name: "item_added", Revision: 2, Codec: store.JSON, Data: fmt.Appendf(nil, `{"SKU":"s%d"}`, version)},
			{Name: "counted", Codec: store.Protobuf, Data: []byte{0, 1, 0xff, '\n', 0}},
		},
	}
}

// requested returns a commit with a request ID.
func requested(t wow.Target, version int64, request string) *store.Commit {
	c := commit(t, version)
	c.Request = request
	return c
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// stored appends commits that must all be stored.
func (f *fixture) stored(cs ...*store.Commit) {
	f.Helper()
	for i, r := range f.append(cs...) {
		if r.Status != store.Stored {
			f.Fatalf("append of %s version %d: %s (head %d, %v), want stored", cs[i].Target, cs[i].Version, r.Status, r.Head, r.Err)
		}
	}
}

func (f *fixture) append(cs ...*store.Commit) []store.Result {
	f.Helper()
	rs := f.Append(f.ctx(), cs)
	if len(rs) != len(cs) {
		f.Fatalf("append of %d commits: %d answers", len(cs), len(rs))
	}
	return rs
}

// want compares the statuses of an append.
func (f *fixture) want(rs []store.Result, want ...store.Status) {
	f.Helper()
	got := make([]store.Status, len(rs))
	for i, r := range rs {
		got[i] = r.Status
		if (r.Err != nil) != (r.Status == store.Failed || r.Status == store.Unknown) {
			f.Errorf("answer %d is %s with error %v", i, r.Status, r.Err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("append: %v, want %v", got, want)
	}
}

// history returns all commits of an aggregate, or of a shard.
func (f *fixture) history(t wow.Target) []*store.Commit {
	f.Helper()
	cs, err := f.Stream(f.ctx(), t, 0, 1<<20)
	if err != nil {
		f.Fatalf("stream %s: %v", t, err)
	}
	return cs
}

func (f *fixture) log(shard int32) []*store.Commit {
	f.Helper()
	return readAll(f.T, f.ctx(), f.Store, shard)
}

func readAll(t testing.TB, ctx context.Context, s store.Store, shard int32) []*store.Commit {
	t.Helper()
	return readFrom(t, ctx, s, wow.Position{Shard: shard})
}

func readFrom(t testing.TB, ctx context.Context, s store.Store, at wow.Position) []*store.Commit {
	t.Helper()
	var all []*store.Commit
	for {
		cs, err := s.Read(ctx, at, 700)
		if err != nil {
			t.Fatalf("read behind %s: %v", at, err)
		}
		if len(cs) == 0 {
			return all
		}
		if len(cs) > 700 {
			t.Fatalf("read behind %s: %d commits, the limit was 700", at, len(cs))
		}
		all = append(all, cs...)
		at = cs[len(cs)-1].Position
	}
}

// holds compares commits that a store returned with those that were appended.
func (f *fixture) holds(what string, got []*store.Commit, want ...*store.Commit) {
	f.Helper()
	if len(got) != len(want) {
		f.Fatalf("%s: %d commits, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := differ(got[i], want[i]); d != "" {
			f.Fatalf("%s: commit %d: %s", what, i, d)
		}
	}
}

// differ names the first field in which two commits are not the same. An empty
// map or slice may come back as nil.
func differ(got, want *store.Commit) string {
	g, w := *got, *want
	if !maps.Equal(g.Metadata, w.Metadata) {
		return fmt.Sprintf("metadata %q, want %q", g.Metadata, w.Metadata)
	}
	if len(g.Events) != len(w.Events) {
		return fmt.Sprintf("%d events, want %d", len(g.Events), len(w.Events))
	}
	for i := range g.Events {
		a, b := g.Events[i], w.Events[i]
		if a.Name != b.Name || a.Revision != b.Revision || a.Codec != b.Codec || string(a.Data) != string(b.Data) {
			return fmt.Sprintf("event %d is %+v, want %+v", i, a, b)
		}
	}
	g.Metadata, g.Events, w.Metadata, w.Events = nil, nil, nil, nil
	if !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("%+v, want %+v", g, w)
	}
	return ""
}

// outcome compares an outcome.
func (f *fixture) outcome(got *store.Outcome, want store.Outcome) {
	f.Helper()
	if got == nil {
		f.Fatalf("no outcome, want %+v", want)
	}
	if *got != want {
		f.Fatalf("outcome %+v, want %+v", *got, want)
	}
}

func (f *fixture) settle(ds ...store.Settlement) []store.Settled {
	f.Helper()
	s, err := f.Settle(f.ctx(), ds)
	if err != nil {
		f.Fatalf("settle: %v", err)
	}
	if len(s) != len(ds) {
		f.Fatalf("settle of %d decisions: %d answers", len(ds), len(s))
	}
	return s
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}
