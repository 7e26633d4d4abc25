package runtime

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/runtime/store"
)

// A task that the executor gave up on when the lease was gone: the aggregate is
// left for ever, also after the process has the consumer again.
func TestALostLeaseLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		gate := make(chan struct{})
		var once atomic.Bool
		var runs atomic.Int64
		begin := func(owner string) *bench {
			p := projecting(func(ctx context.Context, in *Recorded, out *Reaction) error {
				runs.Add(1)
				if owner == "a" && !once.Swap(true) {
					return out.Offload("", func(context.Context) error { <-gate; goexit(); return nil })
				}
				return nil
			})
			b := newBench(t, &shared{Store: s}, only(p))
			b.env.owner = owner
			b.start()
			return b
		}
		a := begin("a")
		a.append("k", tallyAdded{1})
		synctest.Wait()
		// Somebody else has the segment, and a does not know it yet.
		seg := store.Segment{Consumer: "test.projection.p"}
		require.NoError(t, s.Release(t.Context(), "a", seg))
		_, err := s.Claim(t.Context(), "b", time.Second, []store.Segment{seg}, 1)
		require.NoError(t, err)
		close(gate)
		time.Sleep(time.Minute) // b died, a has it again
		require.Equal(t, map[string]string{"test.projection.p": "a"}, owners(t, a))
		a.append("k", tallyAdded{2})
		a.append("l", tallyAdded{2})
		time.Sleep(time.Minute)
		at, err := s.Checkpoint(t.Context(), "test.projection.p", 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 3, at.Position.Seq)
	})
}
