package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// TestQuiesceFinishesWhatWasTakenAndTheNextLifeTakesTheRest is the consumers'
// part of shutting down: nothing is lost and nothing is repeated.
func TestQuiesceFinishesWhatWasTakenAndTheNextLifeTakesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		var got seen
		p := projecting(func(_ context.Context, in *Recorded, out *Reaction) error {
			return out.Offload("", func(context.Context) error {
				time.Sleep(time.Millisecond)
				got.note(in.Target.ID, fmt.Sprint(in.Version))
				return nil
			})
		})
		const n = 2 * markWindow
		for life := range 20 {
			b := newBench(t, s, only(p))
			if life == 0 {
				for range n {
					b.append("a", tallyAdded{1})
				}
			}
			b.start()
			time.Sleep(10 * time.Millisecond)
			b.stop()
			at, err := s.Checkpoint(t.Context(), p.Name, 0, 0)
			require.NoError(t, err)
			require.EqualValues(t, len(got.of("a")), at.Position.Seq, "what was done is what the checkpoint says")
		}
		b := started(t, s, only(p))
		b.settled(p.Name)
		b.stop()
		list := got.of("a")
		require.Len(t, list, n)
		for i := range list {
			require.Equal(t, fmt.Sprint(i+1), list[i])
		}
	})
}

// TestStopDoesNotWaitForRetries leaves a failing message, and all behind it, to
// the next start.
func TestStopDoesNotWaitForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		var got seen
		var broken atomic.Bool
		broken.Store(true)
		p := fragile(&got, &broken, Retry{Max: 1000, Backoff: time.Second})
		b := started(t, s, only(p))
		b.append("b", tallyAdded{1})
		b.append("a", tallyRemoved{1})
		b.append("a", tallyAdded{1})
		b.append("b", tallyAdded{1})
		time.Sleep(10 * time.Second)
		begin := time.Now()
		b.stop()
		require.LessOrEqual(t, time.Since(begin), time.Second)
		require.Len(t, got.of("b"), 2)
		require.Empty(t, got.of("a"), "what comes later for a must not overtake")
		at, _ := s.Checkpoint(t.Context(), p.Name, 0, 0)
		require.EqualValues(t, 1, at.Position.Seq)
		broken.Store(false)
		b = started(t, s, only(p))
		b.settled(p.Name)
		require.Equal(t, []string{"1 runtime.tallyRemoved", "2 runtime.tallyAdded"}, got.of("a"))
		b.stop()
	})
}

// TestASagaFinishesItsCommandsWhileTheRuntimeStops closes the intake while a
// saga has sent one command of two.
func TestASagaFinishesItsCommandsWhileTheRuntimeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		r := New(Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
		r.AddAggregate(accounts())
		began, gate := make(chan struct{}), make(chan struct{})
		r.AddSaga(Saga{
			Name:      "bank.saga.s",
			Functions: []Function{{Name: "on_deposited", Event: &depositedEvent, From: "bank.account"}},
			OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
				if in.Target.ID != "a" {
					return nil
				}
				out.Send(Do{ID: "x", F: func(ctx context.Context, _ *Account, _ *Command, out *Decision) error {
					return out.Offload("", func(context.Context) error {
						close(began)
						<-gate
						out.Add(Noted{"one"})
						return nil
					})
				}}, Deposit{ID: "y", Amount: 1})
				return nil
			},
		})
		require.NoError(t, r.Start(t.Context()))
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		<-began
		stopped := make(chan error, 1)
		go func() { stopped <- r.Stop(context.Background()) }()
		synctest.Wait()
		_, err = r.Gateway().Send(t.Context(), Deposit{ID: "b", Amount: 1})
		require.ErrorIs(t, err, wow.ErrStopping)
		close(gate)
		require.NoError(t, <-stopped)
		for _, id := range []string{"x", "y"} {
			commits, err := s.Stream(t.Context(), accountTarget(id), 0, 10)
			require.NoError(t, err)
			require.Len(t, commits, 1, "the saga's command to %s", id)
			require.Equal(t, "1", commits[0].Metadata[chainKey])
		}
		at, err := s.Checkpoint(t.Context(), "bank.saga.s", 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, at.Position.Seq, "the deposits that came of it are for the next start")
	})
}

func TestACheckpointAboveTheHeadStopsTheStart(t *testing.T) {
	s := memoryStore(t)
	p := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
	b := started(t, s, only(p))
	b.append("a", tallyAdded{1})
	b.settled(p.Name)
	b.stop()
	restored := &restoredStore{Store: memoryStore(t), before: s}
	b = newBench(t, restored, only(p))
	err := b.cs.open(t.Context())
	require.ErrorIs(t, err, store.ErrAhead)
	require.ErrorContains(t, err, "consumer test.projection.p: its checkpoint 0/1 is above the last commit 0: ")
}

// restoredStore has the checkpoints of the store that it was before.
type restoredStore struct {
	store.Store
	before store.Store
}

func (r *restoredStore) Checkpoint(ctx context.Context, consumer string, shard int32, segment int) (store.Checkpoint, error) {
	return r.before.Checkpoint(ctx, consumer, shard, segment)
}

func TestPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		b := started(t, memoryStore(t), only(projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			got.note("a", "x")
			return nil
		})))
		c := Consumer{b.cs.all[0]}
		c.Pause()
		b.append("a", tallyAdded{1})
		time.Sleep(time.Minute)
		require.Empty(t, got.of("a"))
		st, err := c.Status(t.Context())
		require.NoError(t, err)
		require.True(t, st.Paused)
		require.Empty(t, st.Unhealthy)
		require.EqualValues(t, 1, st.Lag)
		c.Resume()
		b.settled(c.Name())
		require.Len(t, got.of("a"), 1)
		b.stop()
	})
}

func TestFaultsOfConsumersAreReportedAllAtOnce(t *testing.T) {
	r := New(Config{Logger: slog.New(slog.DiscardHandler)})
	f := Function{Name: "f", Event: &tallyAddedType}
	on := func(context.Context, *Recorded, *Reaction) error { return nil }
	r.AddProjection(Projection{Name: "a", Functions: []Function{f, f, {}, {Name: "g"}, {Name: "h", Event: &tallyAddedType}}, OnEvent: on})
	r.AddProjection(Projection{Functions: []Function{f}, OnEvent: on})
	r.AddProcessor(Processor{Name: "b"})
	r.AddProcessor(Processor{Name: "c", Functions: []Function{{Name: "s", State: tallyState(0)}}, OnEvent: on})
	r.AddProcessor(Processor{Name: "d", Functions: []Function{f}, OnEvent: on})
	r.AddProcessor(Processor{Name: "d", Functions: []Function{f}, OnEvent: on})
	err := r.Start(t.Context())
	for _, want := range []string{
		`consumer a: two functions are named "f"`,
		`consumer a: function 2 has no name`,
		`consumer a: function g must have exactly one of Event, State and Refused`,
		`consumer a: f and h are both for the event "added" of test.tally`,
		`a projection has no name`,
		`consumer b: it has no functions`,
		`consumer c: function s needs OnState, which is missing`,
		`two consumers are named d`,
	} {
		require.ErrorContains(t, err, want)
	}
}

// One mailbox for all: nobody can be let past a function that hangs.
func TestASerialConsumerThatHangsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		p := projecting(func(_ context.Context, in *Recorded, out *Reaction) error {
			return out.Offload("", func(context.Context) error { <-gate; return nil })
		})
		p.Serial = true
		b := started(t, memoryStore(t), only(p))
		c := Consumer{b.cs.all[0]}
		time.Sleep(time.Hour) // that nothing happened for an hour is no sign of anything
		b.append("a", tallyAdded{1})
		time.Sleep(100 * time.Second)
		st, err := c.Status(t.Context())
		require.NoError(t, err)
		require.Empty(t, st.Unhealthy)
		time.Sleep(stuckAfter)
		st, err = c.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, "position 0/1 has not been finished for 6m40s: a function hangs, or is tried again for long", st.Unhealthy)
		close(gate)
		b.settled(c.Name())
		st, err = c.Status(t.Context())
		require.NoError(t, err)
		require.Empty(t, st.Unhealthy)
		b.stop()
	})
}

// A function that is tried again after a long pause does not hang.
func TestALongPauseBetweenTriesIsNoHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		p := projecting(func(context.Context, *Recorded, *Reaction) error {
			if tries.Add(1) < 3 {
				return errBroken
			}
			return nil
		})
		p.Functions[0].Retry = Retry{Max: 3, Backoff: time.Hour}
		b := started(t, memoryStore(t), only(p))
		b.append("a", tallyAdded{1})
		time.Sleep(30 * time.Minute)
		require.Empty(t, parkedOf(t, b, "a"))
		time.Sleep(3 * time.Hour)
		require.EqualValues(t, 3, tries.Load())
		b.stop()
	})
}
