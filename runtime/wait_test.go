package runtime

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// waiting runs the bank with one consumer of each kind. gate holds up the
// handler of the projection "slow" and of the processor.
type waiting struct {
	r    *Runtime
	gate chan struct{}
	fail atomic.Bool
}

func newWaiting(t *testing.T) *waiting {
	w := &waiting{r: New(Config{Logger: slog.New(slog.DiscardHandler)}), gate: make(chan struct{})}
	bank := accounts()
	state := *bank.State
	state.Snapshot = 2
	bank.State = &state
	w.r.AddAggregate(bank)
	event := func(f func(context.Context) error) (fs []Function, on func(context.Context, *Recorded, *Reaction) error) {
		return []Function{{Name: "on_deposited", Event: &depositedEvent, Retry: Retry{Max: -1}}},
			func(ctx context.Context, _ *Recorded, out *Reaction) error { return out.Offload("", f) }
	}
	gated := func(context.Context) error {
		<-w.gate
		if w.fail.Load() {
			return errBroken
		}
		return nil
	}
	p := Projection{Name: "bank.projection.slow"}
	p.Functions, p.OnEvent = event(gated)
	w.r.AddProjection(p)
	p = Projection{Name: "bank.projection.fast"}
	p.Functions, p.OnEvent = event(func(context.Context) error { return nil })
	w.r.AddProjection(p)
	r := Processor{Name: "bank.processor.r"}
	r.Functions, r.OnEvent = event(gated)
	w.r.AddProcessor(r)
	w.r.AddSaga(Saga{
		Name:      "bank.saga.s",
		Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
		Sends:     []*wow.CommandType{&doCommand},
		OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			out.Send(Do{ID: "other", F: func(ctx context.Context, _ *Account, _ *Command, out *Decision) error {
				return out.Offload("", gated)
			}})
			return nil
		},
	})
	require.NoError(t, w.r.Start(context.Background()))
	return w
}

func (w *waiting) stop(t *testing.T) { require.NoError(t, w.r.Stop(context.Background())) }

func TestEachStageWaitsForItsConsumersAndNoOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		opts  []SendOption
		gated bool
		stage Stage
	}{
		{"processed", nil, false, Processed},
		{"snapshot", []SendOption{WaitFor(Snapshotted)}, false, Snapshotted},
		{"projected by name", []SendOption{WaitFor(Projected, "bank.projection.fast")}, false, Projected},
		{"projected by all", []SendOption{WaitFor(Projected)}, true, Projected},
		{"events handled", []SendOption{WaitFor(EventHandled)}, true, EventHandled},
		{"sagas handled", []SendOption{WaitFor(SagaHandled)}, true, SagaHandled},
		{"two of them", []SendOption{WaitFor(EventHandled), WaitFor(Snapshotted)}, true, EventHandled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWaiting(t)
				var rc Receipt
				var err error
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					rc, err = w.r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, c.opts...)
				}()
				synctest.Wait()
				select {
				case <-answered:
					if c.gated {
						t.Error("answered before the handlers returned")
					}
				default:
					if !c.gated {
						t.Error("waits for handlers of another stage")
					}
				}
				close(w.gate)
				<-answered
				require.NoError(t, err)
				require.Equal(t, c.stage, rc.Stage)
				require.EqualValues(t, 1, rc.Position.Seq)
				w.stop(t)
			})
		})
	}
}

func TestAWaitEndsWithItsDeadlineAndTheReceiptStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rc, err := w.r.Gateway().Send(ctx, Deposit{ID: "a", Amount: 1}, WaitFor(Projected))
		var we *WaitError
		require.ErrorAs(t, err, &we)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "runtime: waiting until position 0/1 is PROJECTED by bank.projection.slow: context deadline exceeded", err.Error())
		require.EqualValues(t, 1, rc.Version)
		require.Equal(t, Processed, rc.Stage)
		close(w.gate)
		require.NoError(t, w.r.Gateway().Wait(t.Context(), rc.Position, Projected), "any process can go on waiting with the position")
		for _, c := range w.r.consumers.all {
			c.feeds[0].mark().mu.Lock()
			require.Empty(t, c.feeds[0].mark().waits)
			c.feeds[0].mark().mu.Unlock()
		}
		w.stop(t)
	})
}

func TestParkingEndsAWaitAlsoOneThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t)
		w.fail.Store(true)
		close(w.gate)
		rc, err := w.r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(Projected))
		require.ErrorIs(t, err, wow.ErrParked)
		require.Equal(t, "parked", wow.Code(err))
		require.ErrorIs(t, w.r.Gateway().Wait(t.Context(), rc.Position, Projected), wow.ErrParked)
		_, err = w.r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(Projected, "bank.projection.slow"))
		require.ErrorIs(t, err, wow.ErrParked, "one that is parked behind it")
		w.fail.Store(false)
		c, err := w.r.Consumer("bank.projection.slow")
		require.NoError(t, err)
		require.NoError(t, c.Retry(t.Context(), rc.Target))
		require.NoError(t, w.r.Gateway().Wait(t.Context(), rc.Position, Projected))
		w.stop(t)
	})
}

func TestAWaitThatConcernsNobodyEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t)
		// Nobody subscribes to tags; the projection before is still at work.
		_, err := w.r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		_, err = w.r.Gateway().Send(t.Context(), Tag{ID: "a", Tags: map[string]string{"k": "v"}}, WaitFor(Projected), WaitFor(EventHandled), WaitFor(SagaHandled))
		require.NoError(t, err)
		// A no-op has no commit.
		_, err = w.r.Gateway().Send(t.Context(), Do{ID: "a", F: func(context.Context, *Account, *Command, *Decision) error { return nil }}, WaitFor(Projected))
		require.NoError(t, err)
		require.ErrorIs(t, w.r.Gateway().Wait(t.Context(), wow.Position{Seq: 99}, Projected), wow.ErrInvalid)
		close(w.gate)
		w.stop(t)
	})
}

func TestAHandlerCannotWaitForConsumers(t *testing.T) {
	w := newWaiting(t)
	close(w.gate)
	got := make(chan error, 1)
	_, err := w.r.Gateway().Send(t.Context(), Do{ID: "a", F: func(ctx context.Context, _ *Account, _ *Command, _ *Decision) error {
		_, err := w.r.Gateway().Send(ctx, Deposit{ID: "b", Amount: 1}, WaitFor(Projected))
		got <- err
		return nil
	}})
	require.NoError(t, err)
	require.ErrorIs(t, <-got, wow.ErrInvalid)
	w.stop(t)
}

func TestAForcedStopEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t)
		got := make(chan error, 1)
		go func() {
			_, err := w.r.Gateway().Send(context.Background(), Deposit{ID: "a", Amount: 1}, WaitFor(Projected))
			got <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := w.r.Stop(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "bank.projection.slow")
		require.ErrorIs(t, <-got, wow.ErrStopping)
		close(w.gate) // the handlers of the dead
		synctest.Wait()
		if errors.Is(err, wow.ErrParked) {
			t.Error("a stop parked something")
		}
	})
}

// A name that nobody has is told before the command is sent: after it the error
// would come too late.
func TestAWaitForSomebodyWhoIsNotThereIsToldBeforeTheCommandIsSent(t *testing.T) {
	w := newWaiting(t)
	for name, want := range map[string]string{
		"bank.saga.dessk":     "no saga has this name, they are bank.saga.s",
		"bank.processor.r":    "it is a processor, and the stage SAGA_HANDLED is about a saga",
		"bank.projection.slo": "no saga has this name",
	} {
		receipt, err := w.r.Gateway().Send(t.Context(), Deposit{ID: "never", Amount: 1}, WaitFor(SagaHandled, name))
		require.ErrorIs(t, err, wow.ErrInvalid)
		require.ErrorContains(t, err, want)
		require.Zero(t, receipt)
	}
	history, err := w.r.Store().Stream(t.Context(), accountTarget("never"), 0, 1)
	require.NoError(t, err)
	require.Empty(t, history)
	close(w.gate)
	require.NoError(t, w.r.Stop(t.Context()))
}
