package runtime

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

func TestWhoWaitsForSentDoesNotWaitForTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{})
		hold := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		got, err := g.Send(ctx, Do{ID: "a", F: func(ctx context.Context, _ *Account, in *Command, out *Decision) error {
			return out.Offload("", func(context.Context) error {
				<-hold
				out.Add(Deposited{7, 7})
				return nil
			})
		}}, WaitFor(Sent))
		require.NoError(t, err)
		require.Equal(t, Receipt{Target: accountTarget("a"), Stage: Sent}, got)
		cancel() // the sender has gone: that is no reason not to decide
		close(hold)
		synctest.Wait()
		sum, version := balance(t, g, "a")
		require.Equal(t, []int64{7, 1}, []int64{sum, version})
	})
}

func TestWhatNobodyWaitsForIsLoggedWhenItFails(t *testing.T) {
	var log bytes.Buffer
	g := bank(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := g.Send(t.Context(), Withdraw{ID: "nobody", Amount: 1}, WaitFor(Sent))
	require.NoError(t, err)
	require.NoError(t, g.r.Stop(context.Background()))
	require.Contains(t, log.String(), "came to nothing")
	require.Contains(t, log.String(), "code="+CodeNotFound)
	_, err = g.Send(t.Context(), Withdraw{ID: "nobody", Amount: 1}, WaitFor(Sent))
	require.ErrorIs(t, err, wow.ErrStopping)
}

func TestSentGoesWithNothingElse(t *testing.T) {
	g := bank(t, Config{})
	_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(Sent), WaitFor(Projected))
	require.ErrorIs(t, err, wow.ErrInvalid)
	_, err = g.Send(t.Context(), Do{ID: "b", F: func(ctx context.Context, _ *Account, in *Command, out *Decision) error {
		_, err := g.Send(ctx, Deposit{ID: "c", Amount: 1}, WaitFor(Sent))
		return err
	}})
	require.ErrorContains(t, err, "a handler waits for what it sends")
	_, err = g.Send(t.Context(), Deposit{Amount: 1}, WaitFor(Sent)) // what is wrong at once is told at once
	require.ErrorIs(t, err, wow.ErrInvalid)
}
