package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// stuck is a started runtime with a handler that ends only by force.
func stuck(t *testing.T) *Runtime {
	r := New(Config{ShutdownTimeout: time.Minute})
	r.AddAggregate(accounts())
	require.NoError(t, r.Start(t.Context()))
	begun := make(chan struct{})
	go func() {
		_, err := r.Gateway().Send(context.Background(), Do{ID: "a", F: func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			return out.Offload("", func(ctx context.Context) error { close(begun); <-ctx.Done(); return ctx.Err() })
		}})
		if wow.Code(err) == "" {
			t.Error("a command that never ends has an answer")
		}
	}()
	<-begun
	return r
}

// Whoever else is at work on the runtime, Stop is over in time.
func TestStopIsOverInTimeBesideQuiesceAndAnotherStop(t *testing.T) {
	for name, other := range map[string]func(*Runtime, context.Context) error{"Quiesce": (*Runtime).Quiesce, "Stop": (*Runtime).Stop} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, ended := stuck(t), make(chan error, 1)
				go func() { ended <- other(r, context.Background()) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				require.ErrorContains(t, r.Stop(ctx), "key bank.account/a: 1")
				require.ErrorContains(t, <-ended, "waiting for 1 commands")
				require.Equal(t, time.Second, time.Since(begin))
			})
		})
	}
}

// slow is a store that finds its head when the context ends.
type slow struct{ store.Store }

func (slow) Head(ctx context.Context, shard int32) (wow.Position, error) {
	<-ctx.Done()
	return wow.Position{}, context.Cause(ctx)
}

func TestStopIsOverInTimeBesideAStartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Store: slow{memory.New()}, ShutdownTimeout: time.Second})
		r.AddAggregate(accounts())
		r.AddProjection(Projection{
			Name:      "bank.projection.p",
			Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
			OnEvent:   func(context.Context, *Recorded, *Reaction) error { return nil },
		})
		started := make(chan error, 1)
		go func() { started <- r.Start(context.Background()) }()
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, r.Stop(t.Context()), "nothing ran yet")
		require.ErrorIs(t, <-started, wow.ErrStopping)
		require.Equal(t, time.Second, time.Since(begin))
	})
}
