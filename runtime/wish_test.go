package runtime

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// picky is a projection that fails for 13.
func picky(got *seen) Projection {
	p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
		if in.Event.(tallyAdded).N == 13 {
			return wow.Permanent
		}
		got.note(in.Target.ID, "x")
		return nil
	})
	return p
}

func TestAParkedMessageIsRunWithAnotherEventAndTheHistoryStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		p := picky(&got)
		b := started(t, memoryStore(t), only(p))
		bad := b.append("a", tallyAdded{1}, tallyAdded{13})
		b.append("a", tallyAdded{2})
		b.settled(p.Name)
		c := Consumer{b.cs.all[0]}
		for _, wrong := range []struct {
			at    int64
			event int
		}{{1, 2}, {1, -1}, {3, 0}} {
			require.ErrorIs(t, c.Edit(t.Context(), tallyTarget("a"), wow.Position{Seq: wrong.at}, wrong.event, nil), wow.ErrInvalid)
		}
		require.ErrorContains(t, c.Edit(t.Context(), tallyTarget("a"), bad.Position, 1, []byte("{")), "unexpected end of JSON")
		require.Error(t, c.Edit(t.Context(), tallyTarget("a"), bad.Position, 1, []byte(`{"N":13}`)))
		require.NoError(t, c.Edit(t.Context(), tallyTarget("a"), bad.Position, 1, []byte(`{"N":14}`)))
		require.Equal(t, []string{"2"}, parkedOf(t, b, "a"), "what waits behind it waits on")
		require.NoError(t, c.Retry(t.Context(), tallyTarget("a")))
		require.Empty(t, parkedOf(t, b, "a"))
		history, err := b.store.Stream(t.Context(), tallyTarget("a"), 0, 10)
		require.NoError(t, err)
		require.Equal(t, `{"N":13}`, string(history[0].Events[1].Data))
		b.stop()
	})
}

// An operator in another process asks, and whoever runs the consumer does it.
func TestAnOperatorsWishIsCarriedOutWhereTheConsumerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		s := memoryStore(t)
		b := newBench(t, &shared{Store: s}, only(picky(&got)))
		b.start()
		one, two := b.append("a", tallyAdded{13}), b.append("b", tallyAdded{13})
		b.append("a", tallyAdded{1})
		three := b.append("c", tallyAdded{13})
		b.settled("test.projection.p")
		ask := func(w Wish) {
			t.Helper()
			require.NoError(t, Ask(t.Context(), s, "test.projection.p", w))
			asked, err := Asked(t.Context(), s, "test.projection.p", w)
			require.NoError(t, err)
			require.True(t, asked)
			time.Sleep(2 * leaseEvery)
			asked, err = Asked(t.Context(), s, "test.projection.p", w)
			require.NoError(t, err)
			require.False(t, asked)
		}
		ask(Wish{Do: WishRetry, Target: tallyTarget("a")})
		require.Len(t, parkedOf(t, b, "a"), 2, "it fails again")
		ask(Wish{Do: WishEdit, Target: tallyTarget("a"), Position: one.Position, Data: []byte(`{"N":1}`)})
		ask(Wish{Do: WishRetry, Target: tallyTarget("a")})
		require.Empty(t, parkedOf(t, b, "a"))
		ask(Wish{Do: WishSkip, Target: tallyTarget("b"), Position: two.Position})
		require.Empty(t, parkedOf(t, b, "b"))

		for _, w := range []Wish{
			{Do: "shout", Target: tallyTarget("c"), Position: three.Position},
			{Do: WishRetry, Target: tallyTarget("a")},
			{Do: WishSkip, Target: tallyTarget("c"), Position: two.Position},
			{Do: WishEdit, Target: tallyTarget("c"), Position: three.Position, Event: -1},
		} {
			require.ErrorIs(t, Ask(t.Context(), s, "test.projection.p", w), wow.ErrInvalid, w)
		}
		// One that was asked while nobody ran the consumer waits for who begins.
		b.stop()
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("c"), Position: three.Position}))
		again := started(t, s, only(picky(&got)))
		synctest.Wait()
		require.Empty(t, parkedOf(t, again, "c"))
		again.stop()
		require.True(t, slices.Contains(got.of("a"), "x"))
	})
}

// In the process that decided the commit the event is at hand, and not used.
func TestAnEditIsNotOverlookedForTheEventAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var amounts []int64
		r := New(Config{})
		r.AddAggregate(accounts())
		r.AddProcessor(Processor{
			Name:      "bank.processor.p",
			Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}, {Name: "on_account", State: &accountState}},
			OnEvent: func(_ context.Context, in *Recorded, _ *Reaction) error {
				amounts = append(amounts, in.Event.(Deposited).Amount)
				if in.Event.(Deposited).Amount == 13 {
					return wow.Permanent
				}
				return nil
			},
			OnState: func(_ context.Context, in *StateRecorded, _ *Reaction) error {
				amounts = append(amounts, -in.State.(*Account).Balance)
				return nil
			},
		})
		require.NoError(t, r.Start(t.Context()))
		receipt, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 13}, WaitFor(EventHandled))
		require.ErrorIs(t, err, wow.ErrParked)
		c, err := r.Consumer("bank.processor.p")
		require.NoError(t, err)
		require.NoError(t, c.Edit(t.Context(), accountTarget("a"), receipt.Position, 0, []byte(`{"Amount":12}`)))
		_, err = r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(EventHandled))
		require.NoError(t, err)
		require.Equal(t, []int64{13, 12, -12, 1, -14}, amounts)
		require.NoError(t, r.Stop(t.Context()))
	})
}
