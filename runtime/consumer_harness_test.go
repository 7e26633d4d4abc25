package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// Consumers are tested over a store that the test appends to itself. The domain
// is a tally: added and removed change a sum, and a label says nothing.

type (
	tallyAdded   struct{ N int }
	tallyRemoved struct{ N int }
	tallyLabel   struct{ Text string }
	tallySet     struct {
		ID string
		N  int
	}
	tally struct {
		ID   string
		Sum  int
		Seen []string
	}
)

func (tallyAdded) WowEvent() *wow.EventType   { return &tallyAddedType }
func (tallyRemoved) WowEvent() *wow.EventType { return &tallyRemovedType }
func (tallyLabel) WowEvent() *wow.EventType   { return &tallyLabelType }
func (*tally) WowState() *wow.StateType       { return &tallyType }
func (tallySet) WowCommand() *wow.CommandType { return &tallySetType }
func (c tallySet) WowTarget() wow.Target      { return tallyTarget(c.ID) }
func tallyTarget(id string) wow.Target        { return wow.Target{Aggregate: "test.tally", ID: id} }
func tallyEvent[E wow.DomainEvent](name string) wow.EventType {
	return wow.EventType{Aggregates: []string{"test.tally"}, Name: name, Revision: 1,
		Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
			var e E
			err := decode(data, &e)
			return e, err
		}}
}

var (
	tallyAddedType   = tallyEvent[tallyAdded]("added")
	tallyRemovedType = tallyEvent[tallyRemoved]("removed")
	tallyLabelType   = tallyEvent[tallyLabel]("label")
	tallySetType     = wow.CommandType{Aggregate: "test.tally", Name: "set"}
	tallyType        wow.StateType
)

func init() { // the type and its decoder refer to each other
	tallySetType.Decode = func(decode wow.Unmarshal, key string, body []byte) (wow.Sendable, error) {
		var c tallySet
		err := decode(body, &c)
		return c, err
	}
}

// setTally is called by tests that need the state: its type and its apply refer
// to each other.
func tallyState(snapshot int) *wow.StateType {
	return &wow.StateType{
		Aggregate: "test.tally",
		Revision:  "1",
		Snapshot:  snapshot,
		Events:    []*wow.EventType{&tallyAddedType, &tallyRemovedType, &tallyLabelType},
		New:       func(t wow.Target) wow.State { return &tally{ID: t.ID} },
		Decode: func(decode wow.Unmarshal, data []byte) (wow.State, error) {
			s := new(tally)
			err := decode(data, s)
			return s, err
		},
		Apply: func(s wow.State, e wow.DomainEvent, m *wow.EventMeta) bool {
			switch e := e.(type) {
			case tallyAdded:
				s.(*tally).Sum += e.N
			case tallyRemoved:
				s.(*tally).Sum -= e.N
			case tallyLabel:
			default:
				return false
			}
			s.(*tally).Seen = append(s.(*tally).Seen, m.ID())
			return true
		},
	}
}

// bench is a store, and consumers over it.
type bench struct {
	t        testing.TB
	store    store.Store
	env      *consumerEnv
	cs       *consumers
	executor *executor.Executor
	versions map[wow.Target]int64
	stopped  bool
}

// newBench returns consumers that are not started yet.
func newBench(t testing.TB, s store.Store, h Handlers) *bench {
	t.Helper()
	e, err := executor.New(executor.Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: s, executor: e, versions: map[wow.Target]int64{}}
	b.env = &consumerEnv{
		store:    s,
		executor: e,
		out:      slog.New(slog.DiscardHandler),
		command:  func(string, string) (*wow.CommandType, error) { return &tallySetType, nil },
		owner:    "bench", // whose next life need not wait for the lease of this one
		keep:     make(chan struct{}, 1),
		lost:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
	}
	b.cs = &consumers{env: b.env}
	t.Cleanup(b.stop)
	if err := b.cs.build(h); err != nil {
		t.Fatal(err)
	}
	return b
}

// started returns consumers at work.
func started(t testing.TB, s store.Store, h Handlers) *bench {
	t.Helper()
	b := newBench(t, s, h)
	b.start()
	return b
}

func (b *bench) start() {
	b.t.Helper()
	if err := errors.Join(b.cs.open(context.Background()), b.cs.start(context.Background())); err != nil {
		b.t.Fatal(err)
	}
}

// stop stops as a runtime does.
func (b *bench) stop() {
	if b.stopped {
		return
	}
	b.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(b.cs.quiesce(ctx), b.cs.stop(ctx), b.executor.Close(ctx)); err != nil {
		b.t.Error(err)
	}
}

// append adds a commit to an aggregate.
func (b *bench) append(id string, events ...wow.DomainEvent) *store.Commit {
	b.t.Helper()
	c := b.commit(id, events...)
	b.add(c)
	return c
}

var commitID atomic.Int64

func (b *bench) commit(id string, events ...wow.DomainEvent) *store.Commit {
	t := tallyTarget(id)
	if b.versions[t] == 0 { // perhaps from a life before
		old, err := b.store.Stream(context.Background(), t, 0, 1<<20)
		if err != nil {
			b.t.Fatal(err)
		}
		b.versions[t] = int64(len(old))
	}
	b.versions[t]++
	c := &store.Commit{Target: t, Version: b.versions[t], ID: fmt.Sprintf("commit-%d", commitID.Add(1)), DecidedAt: time.Now().UnixMicro()}
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			b.t.Fatal(err)
		}
		c.Events = append(c.Events, store.Event{Name: e.WowEvent().Name, Revision: 1, Codec: store.JSON, Data: data})
	}
	return c
}

func (b *bench) add(commits ...*store.Commit) {
	b.t.Helper()
	for i, r := range b.store.Append(context.Background(), commits) {
		if r.Status != store.Stored {
			b.t.Fatalf("appending %v: %v %v", commits[i], r.Status, r.Err)
		}
	}
}

// settled waits until a consumer has finished everything that is stored.
func (b *bench) settled(name string) {
	b.t.Helper()
	head, err := b.store.Head(context.Background(), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	mark := b.consumer(name).feeds[0].mark()
	for seq := head.Seq; mark.checkpoint() < head.Seq; seq = mark.checkpoint() + 1 {
		told := make(chan error, 1)
		if mark.watch(seq, told) {
			select {
			case <-told:
			case <-time.After(time.Minute):
				b.t.Fatalf("position %d of %d is not finished by %s", seq, head.Seq, name)
			}
		}
	}
}

func (b *bench) consumer(name string) *consumer {
	b.t.Helper()
	for _, c := range b.cs.all {
		if c.name == name {
			return c
		}
	}
	b.t.Fatalf("no consumer %s", name)
	return nil
}

// seen records what a consumer was given, by aggregate.
type seen struct {
	mu  sync.Mutex
	got map[string][]string
}

func (s *seen) note(id, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = map[string][]string{}
	}
	s.got[id] = append(s.got[id], what)
}

func (s *seen) of(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got[id]...)
}

// projecting returns a projection called test.projection.p of everything but
// labels, that calls f.
func projecting(f func(ctx context.Context, in *Recorded, out *Reaction) error) Projection {
	return Projection{
		Name:      "test.projection.p",
		Functions: []Function{{Name: "on_added", Event: &tallyAddedType}, {Name: "on_removed", Event: &tallyRemovedType}},
		OnEvent:   f,
	}
}

func only(p Projection) Handlers { return Handlers{Projections: []Projection{p}} }

func memoryStore(t testing.TB) *memory.Store {
	s := memory.New()
	t.Cleanup(func() { s.Close() })
	return s
}

// goexit ends the goroutine of a handler, as a test's FailNow does.
func goexit() { goruntime.Goexit() }

// waitIdle waits until a consumer has finished what it has taken.
func waitIdle(t *testing.T, c *consumer) {
	t.Helper()
	for _, f := range c.feeds {
		for {
			at, taken := f.mark().progress()
			told := make(chan error, 1)
			if at == taken || !f.mark().watch(taken, told) {
				break
			}
			<-told
		}
	}
}
