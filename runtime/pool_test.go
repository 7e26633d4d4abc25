package runtime

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
)

// blockingBank decides Do on a pool of its own.
func blockingBank(pool string) Aggregate {
	a := accounts()
	for i := range a.Commands {
		a.Commands[i].Blocking, a.Commands[i].Pool = true, pool
	}
	decide := a.Decide
	a.Decide = func(ctx context.Context, s wow.State, in *Command, out *Decision) error {
		return out.Offload(pool, func(ctx context.Context) error { return decide(ctx, s, in, out) })
	}
	return a
}

// TestANamedPoolRunsSoManyHandlersAndNoMore holds a pool of two with handlers
// that wait, while the shared pool goes on.
func TestANamedPoolRunsSoManyHandlersAndNoMore(t *testing.T) {
	var cfg Config
	require.NoError(t, cfg.Configure(strings.NewReader("wow: {pools: {db: 9}}"), []string{"WOW_POOLS_DB=2"}))
	cfg.Store = memory.New()
	r := New(cfg)
	r.AddAggregate(blockingBank("db"))
	require.NoError(t, r.Start(t.Context()))

	const senders = 12
	var running, most atomic.Int32
	entered, release := make(chan struct{}, senders), make(chan struct{})
	answers := make(chan error, senders)
	for i := range senders {
		go func() {
			_, err := r.Gateway().Send(t.Context(), Do{ID: string(rune('a' + i)), F: func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				entered <- struct{}{}
				<-release
				running.Add(-1)
				out.Add(Deposited{Amount: 1})
				return nil
			}})
			answers <- err
		}()
	}
	<-entered
	<-entered
	close(release)
	for range senders {
		require.NoError(t, <-answers)
	}
	require.EqualValues(t, 2, most.Load())
	require.NoError(t, r.Stop(context.Background()))
}

// TestAPanicOnANamedPoolIsItsCommandsFailure goes on after it.
func TestAPanicOnANamedPoolIsItsCommandsFailure(t *testing.T) {
	r := New(Config{})
	r.AddAggregate(blockingBank("db"))
	require.NoError(t, r.Start(t.Context()))
	defer r.Stop(context.Background())
	_, err := do(t, r.Gateway(), "a", func(context.Context, *Account, *Command, *Decision) error { panic("boom") })
	require.ErrorIs(t, err, wow.ErrFailed)
	require.ErrorContains(t, err, "boom")
	_, err = do(t, r.Gateway(), "a", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
		out.Add(Deposited{Amount: 1})
		return nil
	})
	require.NoError(t, err)
}

// TestPoolsThatNobodyNamesAreFaults finds a slip of the configuration.
func TestPoolsThatNobodyNamesAreFaults(t *testing.T) {
	r := New(Config{Pools: map[string]int{"dB": 4, "db": 0}})
	r.AddAggregate(blockingBank("db"))
	err := r.Start(t.Context())
	require.ErrorContains(t, err, "wow.pools.dB = 4: no registered handler names this pool")
	require.ErrorContains(t, err, "wow.pools.db = 0: must be between 1 and 65536")
	require.NoError(t, r.Stop(context.Background()))
}
