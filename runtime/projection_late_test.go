package runtime

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/view"
)

// A process that slept through the end of its lease, and has not noticed, meets
// the progress of its successor, and counts again what that has counted.
func TestALateOwnerOfAViewCountsNothing(t *testing.T) {
	vb, s := newViewBench(t), memoryStore(t)
	var asleep atomic.Bool
	wake, slept := make(chan struct{}), make(chan struct{}, 1)
	begin := func(owner string) *bench {
		v, err := view.Open(t.Context(), vb.db, view.SQLite, "test.projection.p", s.ID())
		require.NoError(t, err)
		p := projecting(func(ctx context.Context, in *Recorded, _ *Reaction) error {
			_, err := view.Tx(ctx).Exec(`INSERT INTO counts (id, n) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET n = n + 1`, in.Target.ID)
			return err
		})
		p.Transaction = &Transaction{Resume: v.Resume, Run: func(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
			if owner == "a" && asleep.Load() {
				slept <- struct{}{}
				<-wake // SIGSTOP, a long pause of the machine
			}
			return v.Run(ctx, done, handle)
		}}
		b := newBench(t, &shared{Store: s}, only(p))
		b.env.owner = owner
		b.start()
		return b
	}
	a := begin("a")
	a.append("k", tallyAdded{1})
	a.settled("test.projection.p")
	asleep.Store(true)
	a.append("k", tallyAdded{1}) // is in hand
	<-slept
	require.NoError(t, s.Release(t.Context(), "a", store.Segment{Consumer: "test.projection.p"})) // its lease runs out
	b := begin("b")
	for range 3 {
		b.append("k", tallyAdded{1})
	}
	b.settled("test.projection.p")
	require.Equal(t, 5, vb.count(t, "k"))
	asleep.Store(false)
	close(wake)
	time.Sleep(5 * time.Second)
	require.Equal(t, 5, vb.count(t, "k"), "five commits")
}
