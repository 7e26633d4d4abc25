package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// A function that does not return holds up neither the checkpoint nor others;
// what is behind it waits, and is run when it returns at last.
func TestAFunctionThatNeverReturnsIsParkedAsRunning(t *testing.T) {
	for name, blocking := range map[string]bool{"on a worker": false, "on the pool": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got seen
				gate := make(chan struct{})
				p := projecting(func(_ context.Context, in *Recorded, out *Reaction) error {
					work := func(context.Context) error {
						if in.Event.(tallyAdded).N == 13 {
							<-gate
						}
						got.note(in.Target.ID, fmt.Sprint(in.Event.(tallyAdded).N))
						return nil
					}
					if blocking {
						return out.Offload("", work)
					}
					return work(context.Background())
				})
				b := started(t, memoryStore(t), only(p))
				b.append("a", tallyAdded{13})
				b.append("a", tallyAdded{14})
				for i := range 100 {
					b.append(fmt.Sprint("k", i%5), tallyAdded{i})
				}
				b.append("a", tallyAdded{15})
				time.Sleep(stuckAfter - time.Minute)
				require.Empty(t, parkedOf(t, b, "a"))
				time.Sleep(2 * time.Minute)
				b.settled(p.Name)
				list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), tallyTarget("a"), wow.Position{}, 10)
				require.NoError(t, err)
				require.Len(t, list, 3)
				require.True(t, list[0].Running)
				require.Contains(t, list[0].Error, "has not returned for 5m")
				require.False(t, list[1].Running)
				b.append("a", tallyAdded{16})
				b.append("k0", tallyAdded{200})
				b.settled(p.Name)
				require.Empty(t, got.of("a"))
				require.True(t, slices.Contains(got.of("k0"), got.of("k0")[0]))
				st, err := Consumer{b.cs.all[0]}.Status(t.Context())
				require.NoError(t, err)
				require.Zero(t, st.Lag)

				close(gate)
				time.Sleep(time.Minute)
				require.Empty(t, parkedOf(t, b, "a"))
				require.Equal(t, []string{"1 13", "2 14", "3 15", "4 16"}, inOrder(got.of("a")))
				b.append("a", tallyAdded{17})
				b.settled(p.Name)
				require.Equal(t, 5, len(got.of("a")))
				b.stop()
			})
		})
	}
}

// inOrder numbers what was seen.
func inOrder(all []string) (out []string) {
	for i, s := range all {
		out = append(out, fmt.Sprint(i+1, " ", s))
	}
	return out
}

// What was running when the process ended is run again by the next.
func TestWhatWasParkedAsRunningIsRunAgainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		gate := make(chan struct{})
		var wait atomic.Bool
		wait.Store(true)
		s := memoryStore(t)
		p := projecting(func(_ context.Context, in *Recorded, out *Reaction) error {
			return out.Offload("", func(ctx context.Context) error {
				if in.Event.(tallyAdded).N == 13 && wait.Load() {
					select {
					case <-gate:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				got.note(in.Target.ID, "x")
				return nil
			})
		})
		b := started(t, s, only(p))
		b.append("a", tallyAdded{13})
		b.append("a", tallyAdded{14})
		time.Sleep(stuckAfter + time.Minute)
		require.Len(t, parkedOf(t, b, "a"), 2)
		wait.Store(false)
		now, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.stopped = true
		_ = b.cs.quiesce(now)
		_ = b.cs.stop(now)
		close(gate)
		_ = b.executor.Close(t.Context())
		before := len(got.of("a"))

		again := started(t, s, only(p))
		time.Sleep(time.Second)
		require.Empty(t, parkedOf(t, again, "a"))
		require.GreaterOrEqual(t, len(got.of("a")), before+1)
		again.stop()
	})
}
