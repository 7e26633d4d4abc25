package runtime

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/bus"
)

// What needs no aggregate to be checked is told at once.
func TestASenderElsewhereChecksWhatItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		overBus(t, s, b, true)
		g := overBus(t, s, b, false).Gateway()
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithRequest(strings.Repeat("r", 300)))
		require.ErrorIs(t, err, wow.ErrInvalid)
	})
}

// A saga over a bus, in a process that does not decide.
func TestASagaNeedsNoAggregateWhereThereIsABus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		overBus(t, s, b, true)
		r := New(Config{Store: &shared{Store: s}, Bus: b, Logger: slog.New(slog.DiscardHandler)})
		r.AddSaga(Saga{
			Name:      "bank.saga.s",
			Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
			Sends:     []*wow.CommandType{&depositCommand},
			OnEvent:   func(_ context.Context, in *Recorded, out *Outbox) error { return nil },
		})
		err := r.Start(t.Context())
		defer r.Stop(context.Background())
		require.NoError(t, err)
	})
}

// Stop while a record of an unknown type waits for a newer process.
func TestAStopLeavesARecordThatIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := New(Config{Store: &shared{Store: memoryStore(t)}, Bus: b, Logger: slog.New(slog.DiscardHandler)})
		r.AddAggregate(accounts())
		require.NoError(t, r.Start(t.Context()))
		require.NoError(t, b.Publish(t.Context(), bus.Record{Topic: "bank.account", Key: "|bank.account|a", Value: []byte(`{}`),
			Headers: map[string]string{headCommand: "of_the_next_release", headID: "a", headRequest: "r"}}))
		time.Sleep(time.Second)
		begun := time.Now()
		err := r.Stop(context.Background())
		require.NoError(t, err)
		require.Less(t, time.Since(begun), 5*time.Second)
	})
}

// Handlers that send fill the receiver's window.
func TestHandlersThatSendDoNotUseTheWindowUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := New(Config{Store: &shared{Store: memoryStore(t)}, Bus: b, Logger: slog.New(slog.DiscardHandler),
			Dispatch: executor.Config{MaxInFlight: 4}})
		var entered sync.WaitGroup
		var seen sync.Map // a decision may be made again
		entered.Add(4)
		a := accounts()
		a.Decide = func(ctx context.Context, state wow.State, in *Command, out *Decision) error {
			if c, ok := in.Body.(Deposit); ok && strings.HasPrefix(c.ID, "from") {
				if _, again := seen.LoadOrStore(c.ID, true); !again {
					entered.Done()
				}
				if _, err := executor.Await(ctx, func(context.Context) (int, error) { entered.Wait(); return 0, nil }); err != nil {
					return err
				}
				if _, err := r.Gateway().Send(ctx, Deposit{ID: "to" + c.ID, Amount: 1}); err != nil {
					return err
				}
			}
			return decideAccount(ctx, state, in, out)
		}
		r.AddAggregate(a)
		require.NoError(t, r.Start(t.Context()))
		var all sync.WaitGroup
		begun := time.Now()
		for _, id := range []string{"from1", "from2", "from3", "from4"} {
			all.Go(func() {
				if _, err := r.Gateway().Send(t.Context(), Deposit{ID: id, Amount: 1}); err != nil {
					t.Error(id, err)
				}
			})
		}
		all.Wait()
		took := time.Since(begun)
		require.NoError(t, r.Stop(context.Background()))
		require.Less(t, took, time.Minute)
	})
}

// Two handlers that wait for each other, over the bus.
func TestHandlersThatWaitForEachOtherAreToldOverABusToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, over := range []bus.Bus{nil, new(bus.Local)} {
			r := New(Config{Store: &shared{Store: memoryStore(t)}, Bus: over, Logger: slog.New(slog.DiscardHandler)})
			a := accounts()
			a.Decide = func(ctx context.Context, state wow.State, in *Command, out *Decision) error {
				if c, ok := in.Body.(Deposit); ok && c.Amount == 7 {
					to := map[string]string{"x": "y", "y": "x"}[c.ID]
					if _, err := r.Gateway().Send(ctx, Deposit{ID: to, Amount: 7}); err != nil {
						return err
					}
				}
				return decideAccount(ctx, state, in, out)
			}
			r.AddAggregate(a)
			require.NoError(t, r.Start(t.Context()))
			begun := time.Now()
			_, err := r.Gateway().Send(t.Context(), Deposit{ID: "x", Amount: 7})
			require.ErrorContains(t, err, "its own handler would wait for it")
			require.Less(t, time.Since(begun), time.Minute)
			require.NoError(t, r.Stop(context.Background()))
		}
	})
}
