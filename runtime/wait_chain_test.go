package runtime

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// handing is a saga that hands a deposit on to the next account, less one each
// time, slowly, and to two accounts from three on.
func handing(r *Runtime) {
	r.AddSaga(Saga{
		Name:      "bank.saga.hand",
		Functions: []Function{{Name: "on_deposited", Event: &depositedEvent, Retry: Retry{Max: -1}}},
		Sends:     []*wow.CommandType{&depositCommand},
		OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			return out.Offload("", func(context.Context) error {
				n := in.Event.(Deposited).Amount
				if n == 13 {
					return wow.Permanent
				}
				time.Sleep(time.Second)
				if n > 1 {
					out.Send(Deposit{ID: in.Target.ID + "l", Amount: n - 1})
				}
				if n > 2 {
					out.Send(Deposit{ID: in.Target.ID + "r", Amount: n - 1})
				}
				return nil
			})
		},
	})
}

func TestTheEndOfAChainIsWhenAllThatCameOfItIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		r.AddAggregate(accounts())
		handing(r)
		require.NoError(t, r.Start(t.Context()))
		for i := range 300 { // much that is none of it, before and between
			_, err := r.Gateway().Send(t.Context(), Deposit{ID: fmt.Sprint("x", i), Amount: 1})
			require.NoError(t, err)
		}
		begun := time.Now()
		receipt, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 4}, WaitFor(ChainHandled))
		require.NoError(t, err)
		require.Equal(t, ChainHandled, receipt.Stage)
		require.Equal(t, "CHAIN_HANDLED", receipt.Stage.String())
		require.GreaterOrEqual(t, time.Since(begun), 4*time.Second)
		for _, id := range []string{"a", "al", "ar", "all", "alr", "arl", "arr", "alll", "alrl", "arll", "arrl"} {
			_, err := r.Gateway().Send(t.Context(), Withdraw{ID: id, Amount: 1})
			require.NoError(t, err, id)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = r.Gateway().Send(ctx, Deposit{ID: "b", Amount: 4}, WaitFor(ChainHandled))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = r.Gateway().Send(t.Context(), Deposit{ID: "c", Amount: 14}, WaitFor(ChainHandled))
		require.ErrorIs(t, err, wow.ErrParked, "a link that is parked ends the wait")
		require.NoError(t, r.Stop(t.Context()))
	})
}
