package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// mortal is a store that its process loses: from the call on that kills it,
// none does anything. The call itself may still have taken effect.
type mortal struct {
	store.Store
	calls atomic.Int64 // left to live
	after bool         // the last call takes effect
	dead  atomic.Bool
	flaky float64 // part of the calls that fail without a death
	check func(store.Checkpoint) error
	t     testing.TB
}

var errDead = errors.New("the process is dead")

// live runs a call, unless the process is dead, or dies of it.
func (m *mortal) live(f func() error) error {
	if m.dead.Load() {
		return errDead
	}
	if m.calls.Add(-1) == 0 {
		if m.after {
			f()
		}
		m.dead.Store(true)
		return errDead
	}
	if rand.Float64() < m.flaky {
		return errors.New("the store is busy")
	}
	return f()
}

func (m *mortal) Read(ctx context.Context, after wow.Position, limit int) (cs []*store.Commit, err error) {
	return cs, m.live(func() error { cs, err = m.Store.Read(ctx, after, limit); return err })
}

func (m *mortal) SaveCheckpoint(ctx context.Context, c store.Checkpoint) error {
	return m.live(func() error {
		if m.check != nil {
			if err := m.check(c); err != nil {
				m.t.Error(err)
			}
		}
		return m.Store.SaveCheckpoint(ctx, c)
	})
}

func (m *mortal) Claim(ctx context.Context, owner string, ttl time.Duration, of []store.Segment, take int) (got store.Claimed, err error) {
	if m.dead.Load() {
		return got, errDead
	}
	return m.Store.Claim(ctx, owner, ttl, of, take)
}

func (m *mortal) Park(ctx context.Context, p []store.Parked, c *store.Checkpoint) error {
	return m.live(func() error { return m.Store.Park(ctx, p, c) })
}

func (m *mortal) Unpark(ctx context.Context, consumer, function string, at wow.Position, c *store.Checkpoint) error {
	return m.live(func() error { return m.Store.Unpark(ctx, consumer, function, at, c) })
}

func (m *mortal) Parked(ctx context.Context, consumer string, t wow.Target, after wow.Position, limit int) (ps []store.Parked, err error) {
	return ps, m.live(func() error { ps, err = m.Store.Parked(ctx, consumer, t, after, limit); return err })
}

// witness is the world outside of the process: it sees the effects of one
// consumer, and holds them against the promises.
type witness struct {
	t    testing.TB
	name string
	mu   sync.Mutex
	last map[string]int64   // version seen last, by aggregate
	seen map[int64]bool     // positions
	log  map[string][]int64 // for the failure
}

func newWitness(t testing.TB, name string) *witness {
	return &witness{t: t, name: name, last: map[string]int64{}, seen: map[int64]bool{}, log: map[string][]int64{}}
}

// sees takes an effect in. Order: what comes is the next version of its
// aggregate, or one that comes again; then those after it come again too.
func (w *witness) sees(m *wow.CommitMeta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log[m.Target.ID] = append(w.log[m.Target.ID], m.Version)
	if m.Version > w.last[m.Target.ID]+1 {
		w.t.Errorf("%s: version %d of %s came after %d: %v", w.name, m.Version, m.Target.ID, w.last[m.Target.ID], w.log[m.Target.ID])
	}
	w.last[m.Target.ID] = m.Version
	w.seen[m.Position.Seq] = true
}

// missing returns a position up to a checkpoint that was neither seen nor
// parked.
func (w *witness) missing(s store.Store, to int64) (missing []int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parked, err := s.Parked(context.Background(), w.name, wow.Target{}, wow.Position{}, 1<<20)
	if err != nil {
		return nil, err
	}
	for seq := int64(1); seq <= to; seq++ {
		if !w.seen[seq] && !slices.ContainsFunc(parked, func(p store.Parked) bool { return p.Commit.Position.Seq == seq }) {
			missing = append(missing, seq)
		}
	}
	return missing, nil
}

// TestNoCommitIsUnseenWhateverMomentTheProcessDiesAt runs lives that end in the
// middle of things, on a store that fails now and then, with handlers that fail
// now and then; then one that nothing disturbs. At every checkpoint, everything
// below it must have been seen or parked; in the end, everything was seen.
func TestNoCommitIsUnseenWhateverMomentTheProcessDiesAt(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 10
	}
	for run := range runs {
		synctest.Test(t, func(t *testing.T) { crash(t, rand.New(rand.NewPCG(1, uint64(run)))) })
		if t.Failed() {
			t.Fatalf("run %d", run)
		}
	}
}

func crash(t *testing.T, rng *rand.Rand) {
	const ids, lives = 5, 6
	history := memory.New()
	defer history.Close()
	witnesses := map[string]*witness{}
	for _, n := range []string{"test.projection.p", "test.projection.serial", "test.processor.r", "test.saga.s"} {
		witnesses[n] = newWitness(t, n)
	}
	letters := &post{}
	for life := range lives {
		last := life == lives-1
		m := &mortal{Store: history, t: t, after: rng.IntN(2) == 0, flaky: 0.02}
		m.calls.Store(int64(1 + rng.IntN(120)))
		trouble := 0.05 // part of the attempts that fail
		if last {
			m.calls.Store(1 << 40)
			m.flaky, trouble = 0, 0
		}
		m.check = func(c store.Checkpoint) error {
			missing, err := witnesses[c.Consumer].missing(history, c.Position.Seq)
			if err == nil && len(missing) > 0 {
				err = fmt.Errorf("%s: the checkpoint passes to %d, but %v were neither seen nor parked", c.Consumer, c.Position.Seq, missing)
			}
			return err
		}
		effect := func(name string, meta *wow.CommitMeta) error {
			switch {
			case m.dead.Load():
				return errDead
			case rand.Float64() < trouble:
				return errBroken
			case rand.Float64() < trouble/2:
				return fmt.Errorf("never (%w)", wow.Permanent)
			case rand.Float64() < trouble/2:
				panic("boom")
			}
			witnesses[name].sees(meta)
			return nil
		}
		letters.fail = func(tallySet) error {
			if m.dead.Load() {
				return errDead
			}
			return nil
		}
		b := newBench(t, m, Handlers{})
		b.env.send = letters.send
		p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			return effect("test.projection.p", &in.CommitMeta)
		})
		serial := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			return effect("test.projection.serial", &in.CommitMeta)
		})
		serial.Name, serial.Serial = "test.projection.serial", true
		processor := Processor{Name: "test.processor.r", Functions: p.Functions, OnEvent: func(_ context.Context, in *Recorded, out *Reaction) error {
			meta := in.CommitMeta
			return out.Offload("", func(context.Context) error { return effect("test.processor.r", &meta) })
		}}
		saga := Saga{Name: "test.saga.s", Functions: p.Functions, OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			out.Send(tallySet{in.Commit, 1}, tallySet{in.Commit, 2})
			return effect("test.saga.s", &in.CommitMeta)
		}}
		if err := b.cs.build(Handlers{Projections: []Projection{p, serial}, Processors: []Processor{processor}, Sagas: []Saga{saga}}); err != nil {
			t.Fatal(err)
		}
		if err := b.cs.open(t.Context()); err != nil {
			b.die() // it died, or failed, in its start
			continue
		}
		b.cs.start(t.Context())
		b.live(rng, history, ids, m)
		if last {
			b.recover(witnesses)
			b.stop()
		} else {
			b.die()
		}
	}
	head, _ := history.Head(t.Context(), 0)
	for name, w := range witnesses {
		if missing, _ := w.missing(history, head.Seq); len(missing) > 0 {
			t.Errorf("%s has never seen %v of %d", name, missing, head.Seq)
		}
		at, _ := history.Checkpoint(t.Context(), name, 0, 0)
		if at.Position != head {
			t.Errorf("%s ends at %v, want %v", name, at.Position, head)
		}
	}
	slices.Sort(letters.effects)
	if twice := len(letters.effects) - len(slices.Compact(letters.effects)); twice > 0 {
		t.Errorf("%d of the saga's commands took effect twice", twice)
	}
	if want := 2 * int(head.Seq); len(letters.answers) != want {
		t.Errorf("the saga's commands have %d outcomes, want %d", len(letters.answers), want)
	}
}

// live appends to the history for a while, until the process is dead.
func (b *bench) live(rng *rand.Rand, history store.Store, ids int, m *mortal) {
	alive := b.store
	b.store = history // what is appended survives
	for range 40 {
		for range rng.IntN(6) {
			b.append(fmt.Sprint(rng.IntN(ids)), tallyAdded{rng.IntN(3)})
		}
		if rng.IntN(10) == 0 { // an operator tries
			c := Consumer{b.cs.all[rng.IntN(len(b.cs.all))]}
			ctx, cancel := context.WithTimeout(b.t.Context(), time.Second) // the mailbox may be that of a dead process
			_ = c.Retry(ctx, tallyTarget(fmt.Sprint(rng.IntN(ids))))
			cancel()
		}
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		if m.dead.Load() {
			break
		}
	}
	b.store = alive
}

// recover retries all that is parked, and waits for the rest.
func (b *bench) recover(witnesses map[string]*witness) {
	b.t.Helper()
	for _, c := range b.cs.all {
		b.settled(c.name)
		list, err := Consumer{c}.Parked(b.t.Context(), wow.Target{}, wow.Position{}, 1<<20)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, p := range list {
			if err := (Consumer{c}).Retry(b.t.Context(), p.Commit.Target); err != nil {
				b.t.Error(err)
			}
		}
		if n := c.blocks.count.Load(); n != 0 {
			b.t.Errorf("%s: %d messages are parked after all were retried", c.name, n)
		}
	}
}

// die stops without waiting for anything, as a process that is killed; then it
// cleans up after the dead.
func (b *bench) die() {
	b.stopped = true
	now, cancel := context.WithCancel(context.Background())
	cancel()
	b.store.(*mortal).dead.Store(true)
	_ = b.cs.quiesce(now)
	_ = b.cs.stop(now)
	_ = b.executor.Close(now)
	if err := b.executor.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
}
