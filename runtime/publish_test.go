package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/store"
)

// overBus is a process with accounts, or one that only sends.
func overBus(t *testing.T, s store.Store, b bus.Bus, decides bool, more ...func(*Runtime)) *Runtime {
	t.Helper()
	r := New(Config{Store: &shared{Store: s}, Bus: b, Logger: slog.New(slog.DiscardHandler), Propagate: []string{"trace"}})
	if decides {
		r.AddAggregate(accounts())
	}
	for _, f := range more {
		f(r)
	}
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A process without the aggregate sends, another decides: the sender gets the
// answer of the aggregate, of whatever kind it is.
func TestASenderElsewhereGetsTheAggregatesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		overBus(t, s, b, true)
		g := overBus(t, s, b, false).Gateway()
		receipt, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithMetadata(map[string]string{"trace": "t1"}), WithCorrelation("co"))
		require.NoError(t, err)
		require.Equal(t, Receipt{Target: accountTarget("a"), Version: 1, Position: wow.Position{Seq: 1}, Commit: receipt.Commit, Stage: Processed}, receipt)
		history, err := s.Stream(t.Context(), accountTarget("a"), 0, 10)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"trace": "t1"}, history[0].Metadata)
		require.Equal(t, "co", history[0].Correlation)
		require.NotEmpty(t, history[0].Request, "the sender gave it one")

		_, err = g.Send(t.Context(), Withdraw{ID: "a", Amount: 50})
		require.ErrorContains(t, err, "no cover")
		require.Equal(t, "refused", wow.Code(err))
		_, err = g.Send(t.Context(), Withdraw{ID: "a", Amount: -1})
		require.ErrorIs(t, err, wow.ErrInvalid, "told at once, by the sender")
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithMetadata(map[string]string{"wow-x": ""}))
		require.ErrorIs(t, err, wow.ErrInvalid)
		_, err = g.Send(t.Context(), Deposit{})
		require.ErrorIs(t, err, wow.ErrInvalid)

		for range 3 {
			receipt, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithRequest("twice"))
			require.NoError(t, err)
			require.EqualValues(t, 2, receipt.Version)
		}
		created, err := g.Send(t.Context(), OpenAccount{First: 1})
		require.NoError(t, err)
		require.NotEmpty(t, created.Target.ID)

		sent, err := g.Send(t.Context(), Deposit{ID: "b", Amount: 5}, WaitFor(Sent))
		require.NoError(t, err)
		require.Equal(t, Sent, sent.Stage)
		synctest.Wait()
		history, err = s.Stream(t.Context(), accountTarget("b"), 0, 10)
		require.NoError(t, err)
		require.Len(t, history, 1)
	})
}

// In one process an answer needs no look at the store, and failures are told.
func TestASenderBesideTheReceiverGetsFailuresToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		g := overBus(t, memoryStore(t), b, true).Gateway()
		begun := time.Now()
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 5})
		require.NoError(t, err)
		require.Zero(t, time.Since(begun))
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithVersion(7))
		require.ErrorIs(t, err, wow.ErrConflict)

		_, err = g.Send(t.Context(), Do{ID: "a"}) // its function does not cross the bus: it panics
		require.ErrorIs(t, err, wow.ErrFailed)
		require.ErrorContains(t, err, "panic")
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 5})
		require.NoError(t, err, "the next of the same aggregate goes on")
		parked := fetchAll(t, b, "bank.account.parked")
		require.Len(t, parked, 1)
		require.Equal(t, "3", parked[0].Headers["wow-attempts"])
		require.Equal(t, "do", parked[0].Headers["wow-command"])
		require.Contains(t, parked[0].Headers["wow-error"], "panic")
	})
}

func fetchAll(t *testing.T, b bus.Bus, topic string) []bus.Delivery {
	t.Helper()
	s, err := b.Subscribe(t.Context(), "look", topic)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	found, err := s.Fetch(ctx, 100)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	return found
}

// A record that no command is made of is parked with its bytes.
func TestARecordThatCannotBeReadIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := overBus(t, memoryStore(t), b, true)
		whole := func(change func(map[string]string)) bus.Record {
			rec := bus.Record{Topic: "bank.account", Key: "|bank.account|a", Value: []byte(`{"Amount":1}`),
				Headers: map[string]string{headCommand: "deposit", headID: "a", headRequest: fmt.Sprint(time.Now().UnixNano())}}
			change(rec.Headers)
			return rec
		}
		bad := map[string]bus.Record{
			"it has no header wow-command":     whole(func(h map[string]string) { delete(h, headCommand) }),
			"it has no header wow-request":     whole(func(h map[string]string) { delete(h, headRequest) }),
			"its key is":                       whole(func(h map[string]string) { h[headID] = "b" }),
			"header wow-expected":              whole(func(h map[string]string) { h[headExpected] = "x" }),
			"header wow-chain":                 whole(func(h map[string]string) { h[headChain] = "-1" }),
			`metadata key "wow-chain"`:         whole(func(h map[string]string) { h[headMetadata+"wow-chain"] = "1" }),
			"the expected version is -1":       whole(func(h map[string]string) { h[headExpected] = "-1" }),
			"number 1000001 of a chain":        whole(func(h map[string]string) { h[headChain] = "1000001" }),
			"decoding it: unexpected end":      {Topic: "bank.account", Key: "|bank.account|a", Headers: whole(func(map[string]string) {}).Headers, Value: []byte("{")},
			`it is for "a", its body says "z"`: {Topic: "bank.account", Key: "|bank.account|a", Headers: whole(func(map[string]string) {}).Headers, Value: []byte(`{"ID":"z"}`)},
			"bank.account has no tenants":      {Topic: "bank.account", Key: "t|bank.account|a", Headers: whole(func(h map[string]string) { h[headTenant] = "t" }).Headers, Value: []byte(`{}`)},
		}
		for _, rec := range bad {
			require.NoError(t, b.Publish(t.Context(), rec))
		}
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err, "it stops nobody")
		time.Sleep(time.Second)
		for _, d := range fetchAll(t, b, "bank.account.parked") {
			for want, rec := range bad {
				if strings.Contains(d.Headers["wow-error"], want) && string(d.Value) == string(rec.Value) && d.Key == rec.Key {
					delete(bad, want)
				}
			}
			if len(bad) > 0 {
				t.Log(d.Headers["wow-error"])
			}
		}
		require.Empty(t, bad, "not parked, or for another reason")
	})
}

// In a rolling upgrade another version may know the command, so this one waits
// before it gives up; others of the aggregate wait behind it.
func TestACommandThatIsUnknownIsTriedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := overBus(t, memoryStore(t), b, true)
		require.NoError(t, b.Publish(t.Context(), bus.Record{Topic: "bank.account", Key: "|bank.account|a",
			Headers: map[string]string{headCommand: "from_the_future", headID: "a", headRequest: "r"}}))
		begun := time.Now()
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "b", Amount: 1})
		require.NoError(t, err)
		require.Zero(t, time.Since(begun))
		_, err = r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		require.InDelta(t, unknownTypeGrace.Seconds(), time.Since(begun).Seconds(), 2)
		require.Len(t, fetchAll(t, b, "bank.account.parked"), 1)
	})
}

// failing is a store that cannot append for a while.
type failing struct {
	store.Store
	down atomic.Bool
}

func (*failing) Sole() bool { return false }

func (f *failing) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	if !f.down.Load() {
		return f.Store.Append(ctx, entries)
	}
	results := make([]store.Result, len(entries))
	for i := range results {
		results[i].Err = errors.New("disk full")
	}
	return results
}

func TestACommandFromTheBusWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &failing{Store: memoryStore(t)}, new(bus.Local)
		r := New(Config{Store: s, Bus: b, Logger: slog.New(slog.DiscardHandler)})
		r.AddAggregate(accounts())
		require.NoError(t, r.Start(t.Context()))
		s.down.Store(true)
		var sent []chan error
		for i := range 10 {
			told := make(chan error, 1)
			sent = append(sent, told)
			go func() {
				_, err := r.Gateway().Send(t.Context(), Deposit{ID: fmt.Sprint("k", i), Amount: 1})
				told <- err
			}()
		}
		time.Sleep(time.Minute)
		s.down.Store(false)
		for _, told := range sent {
			require.NoError(t, <-told)
		}
		require.NoError(t, r.Stop(t.Context()))
	})
}

// A sender whose time is over does not know, and says so.
func TestASenderThatHearsNothingDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := overBus(t, memoryStore(t), new(bus.Local), false).Gateway() // nobody decides
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Send(ctx, Deposit{ID: "a", Amount: 1})
		require.ErrorIs(t, err, wow.ErrUnknownOutcome)
		begun := time.Now()
		_, err = g.Send(context.Background(), Deposit{ID: "a", Amount: 1})
		require.ErrorIs(t, err, wow.ErrUnknownOutcome)
		require.Equal(t, answerPatience, time.Since(begun))
	})
}

// What a saga sends over the bus is as long a chain as without.
func TestAChainOfSagasIsBoundedOverTheBusToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		r := overBus(t, s, b, true, func(r *Runtime) {
			r.AddSaga(Saga{
				Name:      "bank.saga.loop",
				Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
				Sends:     []*wow.CommandType{&depositCommand},
				OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
					out.Send(Deposit{ID: in.Target.ID, Amount: 1})
					return nil
				},
			})
		})
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		head, err := s.Head(t.Context(), 0)
		require.NoError(t, err)
		require.EqualValues(t, chainMax+1, head.Seq)
	})
}
