package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// shared is a store that several processes append to, one of which it is for.
// Its process may be cut off.
type shared struct {
	store.Store
	cut atomic.Bool
}

func (*shared) Sole() bool { return false }

func (s *shared) broken() error {
	if s.cut.Load() {
		return errors.New("no route to the store")
	}
	return nil
}

func (s *shared) Claim(ctx context.Context, owner string, ttl time.Duration, of []store.Segment, take int) (store.Claimed, error) {
	if err := s.broken(); err != nil {
		return store.Claimed{}, err
	}
	return s.Store.Claim(ctx, owner, ttl, of, take)
}

func (s *shared) SaveCheckpoint(ctx context.Context, c store.Checkpoint) error {
	if err := s.broken(); err != nil {
		return err
	}
	return s.Store.SaveCheckpoint(ctx, c)
}

// handled notes which process handled what.
type handled struct {
	mu   sync.Mutex
	by   map[string][]string // consumer: "process id version"
	last map[string]int64    // consumer and aggregate: version
	bad  []string
}

func (h *handled) note(process, consumer string, m *wow.EventMeta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by, h.last = map[string][]string{}, map[string]int64{}
	}
	key := consumer + " " + m.Target.ID
	if m.Version > h.last[key]+1 {
		h.bad = append(h.bad, fmt.Sprint(process, " ", key, ": ", m.Version, " after ", h.last[key]))
	}
	h.last[key] = m.Version
	h.by[consumer] = append(h.by[consumer], fmt.Sprint(process, " ", m.Target.ID, " ", m.Version))
}

// check compares how many commits each consumer has handled.
func (h *handled) check(t *testing.T, each int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.bad)
	for name, list := range h.by {
		require.Len(t, list, each, name)
	}
}

// process is a process with n projections over a shared store.
func process(t *testing.T, s store.Store, name string, n int, h *handled) *bench {
	var all Handlers
	for i := range n {
		p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			h.note(name, fmt.Sprint("p", i), &in.EventMeta)
			return nil
		})
		p.Name = fmt.Sprint("test.projection.p", i)
		all.Projections = append(all.Projections, p)
	}
	b := newBench(t, &shared{Store: s}, all)
	b.env.owner = name
	b.start()
	return b
}

// owners says which process runs each consumer, and fails when two do.
func owners(t *testing.T, all ...*bench) map[string]string {
	t.Helper()
	synctest.Wait()
	by := map[string]string{}
	for _, b := range all {
		for _, c := range b.cs.all {
			if c.feeds[0].mark() == nil {
				continue
			}
			if by[c.name] != "" {
				t.Errorf("%s runs in %s and in %s", c.name, by[c.name], b.env.owner)
			}
			by[c.name] = b.env.owner
		}
	}
	return by
}

// shares are how many consumers each process runs, sorted.
func shares(by map[string]string) []int {
	n := map[string]int{}
	for _, o := range by {
		n[o]++
	}
	return slices.Sorted(maps.Values(n))
}

func TestEachConsumerRunsInOneOfThreeProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := memoryStore(t), new(handled)
		a := process(t, s, "a", 5, h)
		require.Equal(t, []int{5}, shares(owners(t, a)), "alone it begins with all at once")
		b, c := process(t, s, "b", 5, h), process(t, s, "c", 5, h)
		for i := range 60 {
			a.append(fmt.Sprint("k", i%7), tallyAdded{1})
			time.Sleep(time.Second)
			owners(t, a, b, c)
		}
		require.Equal(t, []int{1, 2, 2}, shares(owners(t, a, b, c)))
		b.stop() // gracefully: no lease has to run out
		time.Sleep(2 * leaseEvery)
		require.Equal(t, []int{2, 3}, shares(owners(t, a, c)))
		for i := range 10 {
			a.append(fmt.Sprint("k", i%7), tallyAdded{1})
		}
		time.Sleep(time.Second)
		h.check(t, 70) // each once, as nobody died
	})
}

func TestADeadProcessIsReplacedWithin15Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := memoryStore(t), new(handled)
		a, b, c := process(t, s, "a", 6, h), process(t, s, "b", 6, h), process(t, s, "c", 6, h)
		time.Sleep(20 * time.Second)
		require.Equal(t, []int{2, 2, 2}, shares(owners(t, a, b, c)))
		b.store.(*shared).cut.Store(true)
		for _, x := range b.cs.all {
			x.stopping.Store(true)
		}
		b.cs.stopPulling()
		for i := range 20 {
			a.append(fmt.Sprint("k", i%7), tallyAdded{1})
		}
		time.Sleep(15 * time.Second)
		require.Equal(t, []int{3, 3}, shares(owners(t, a, c)))
		h.check(t, 20)
	})
}

// A process that is cut off goes on until its lease ends, then stops; what it
// still finishes it cannot store.
func TestALateOwnerStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		gate := make(chan struct{})
		var runs, late atomic.Int64
		mine := func(owner string, f func() error) *bench {
			p := projecting(func(ctx context.Context, _ *Recorded, out *Reaction) error {
				return out.Offload("", func(context.Context) error { return f() })
			})
			p.Functions[0].Retry = Retry{Max: -1}
			b := newBench(t, &shared{Store: s}, only(p))
			b.env.owner = owner
			b.start()
			return b
		}
		a := mine("a", func() error { runs.Add(1); <-gate; late.Add(1); return errors.New("too late") })
		a.append("k", tallyAdded{1})
		a.append("k", tallyAdded{2})
		synctest.Wait()
		require.EqualValues(t, 1, runs.Load())
		a.store.(*shared).cut.Store(true)

		b := mine("b", func() error { return nil })
		time.Sleep(15 * time.Second)
		require.Equal(t, map[string]string{"test.projection.p": "b"}, owners(t, a, b))
		before, err := s.Checkpoint(t.Context(), "test.projection.p", 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, before.Position.Seq)

		close(gate) // it fails, and would be parked
		time.Sleep(15 * time.Second)
		require.EqualValues(t, 1, late.Load(), "what waited behind it is dropped")
		parked, err := s.Parked(t.Context(), "test.projection.p", wow.Target{}, wow.Position{}, 10)
		require.NoError(t, err)
		require.Empty(t, parked)
		after, err := s.Checkpoint(t.Context(), "test.projection.p", 0, 0)
		require.NoError(t, err)
		require.Equal(t, before, after)

		a.store.(*shared).cut.Store(false) // it comes back, and is no owner
		time.Sleep(15 * time.Second)
		require.Equal(t, map[string]string{"test.projection.p": "b"}, owners(t, a, b))
		c := Consumer{a.cs.all[0]}
		st, err := c.Status(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, st.Shards[0].Position.Seq, "it knows how far the consumer is elsewhere")
		require.Equal(t, "b", st.Shards[0].Owner)
		require.False(t, st.Shards[0].Here)
		require.ErrorContains(t, c.Retry(t.Context(), tallyTarget("k")), "runs in another process, b: ask there")
		b.stop()
		time.Sleep(2 * leaseEvery)
		require.Equal(t, map[string]string{"test.projection.p": "a"}, owners(t, a))
	})
}

// Nobody else was there when the store came back: the process begins again
// where its checkpoint is, and what is left of its earlier tenure changes
// nothing.
func TestALeaseThatRanOutIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := memoryStore(t), new(handled)
		a := process(t, s, "a", 1, h)
		for round := range 3 {
			a.store.(*shared).cut.Store(true)
			for i := range 30 {
				a.append(fmt.Sprint("k", i%3), tallyAdded{1})
				time.Sleep(time.Second)
			}
			synctest.Wait()
			require.Nil(t, a.cs.all[0].feeds[0].mark(), "its lease is over")
			a.store.(*shared).cut.Store(false)
			time.Sleep(15 * time.Second)
			a.settled("test.projection.p0")
			at, err := s.Checkpoint(t.Context(), "test.projection.p0", 0, 0)
			require.NoError(t, err)
			require.EqualValues(t, 30*(round+1), at.Position.Seq)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		require.Empty(t, h.bad)
	})
}

// A sender waits for a consumer wherever that runs.
func TestAWaitEndsWhenAnotherProcessHasFinishedTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		begin := func(owner string) *bench {
			p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
				switch in.Event.(tallyAdded).N {
				case 13:
					return wow.Permanent
				case 1:
					time.Sleep(time.Second)
				}
				return nil
			})
			b := newBench(t, &shared{Store: s}, only(p))
			b.env.owner = owner
			b.start()
			return b
		}
		a, b := begin("a"), begin("b")
		require.Equal(t, map[string]string{"test.projection.p": "a"}, owners(t, a, b))
		begun := time.Now()
		one, bad := b.append("k", tallyAdded{1}), b.append("l", tallyAdded{13})
		require.NoError(t, b.cs.waitFor(t.Context(), one.Position, Projected))
		require.GreaterOrEqual(t, time.Since(begun), time.Second)
		require.Less(t, time.Since(begun), 2*time.Second)
		require.ErrorIs(t, b.cs.waitFor(t.Context(), bad.Position, Projected), wow.ErrParked)

		third := b.append("k", tallyAdded{2})
		require.NoError(t, a.cs.waitFor(t.Context(), third.Position, Projected))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waited := make(chan error, 1)
		a.cs.all[0].paused.Store(true) // so that it is not finished by a
		fourth := b.append("k", tallyAdded{3})
		go func() { waited <- a.cs.waitFor(ctx, fourth.Position, Projected) }()
		synctest.Wait()
		a.store.(*shared).cut.Store(true)
		time.Sleep(20 * time.Second)
		require.Equal(t, map[string]string{"test.projection.p": "b"}, owners(t, a, b))
		require.NoError(t, <-waited, "the wait follows the consumer to another process")
	})
}

// Two runtimes of one process, on one store, stop without a complaint.
func TestTwoRuntimesOnOneStoreDivideTheConsumers(t *testing.T) {
	s := memoryStore(t)
	make2 := func() *Runtime {
		r := New(Config{Store: s})
		r.AddAggregate(accounts())
		r.AddProjection(projecting(func(context.Context, *Recorded, *Reaction) error { return nil }))
		return r
	}
	one, two := make2(), make2()
	require.NoError(t, one.Start(t.Context()))
	require.NoError(t, two.Start(t.Context()))
	for _, r := range []*Runtime{one, two} {
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(Projected))
		require.NoError(t, err)
	}
	require.NoError(t, one.Stop(t.Context()))
	require.NoError(t, two.Stop(t.Context()))
}
