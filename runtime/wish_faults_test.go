package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// A wish for an earlier commit, after one for a later one, is lost in silence.
func TestAWishForAnEarlierCommitIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		s := memoryStore(t)
		b := newBench(t, &shared{Store: s}, only(picky(&got)))
		b.start()
		one := b.append("a", tallyAdded{13})
		two := b.append("a", tallyAdded{13})
		b.settled("test.projection.p")
		require.Equal(t, []string{"1 on_added", "2"}, parkedOf(t, b, "a"))
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("a"), Position: two.Position}))
		time.Sleep(2 * leaseEvery)
		require.Equal(t, []string{"1 on_added"}, parkedOf(t, b, "a"))
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("a"), Position: one.Position}))
		time.Sleep(10 * leaseEvery)
		asked, err := Asked(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("a"), Position: one.Position})
		require.NoError(t, err)
		require.False(t, asked)
		require.Empty(t, parkedOf(t, b, "a"))
	})
}

// One that is asked while the process quiesces is marked as done, and was not.
func TestAWishDuringAStopIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		s := memoryStore(t)
		b := newBench(t, &shared{Store: s}, only(picky(&got)))
		b.start()
		one := b.append("a", tallyAdded{13})
		b.settled("test.projection.p")
		require.NoError(t, b.cs.quiesce(t.Context())) // Runtime.Quiesce, before a load balancer's drain
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("a"), Position: one.Position}))
		time.Sleep(2 * leaseEvery)
		b.stop()
		again := started(t, &shared{Store: s}, only(picky(&got)))
		time.Sleep(2 * leaseEvery)
		require.Empty(t, parkedOf(t, again, "a"), "the next process should have done it")
	})
}

// The lease goes while an earlier wish runs: the rest is marked as done.
func TestWishesBehindALostLeaseAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		gate := make(chan struct{})
		broken := true
		begin := func(owner string) *bench {
			p := projecting(func(ctx context.Context, in *Recorded, out *Reaction) error {
				if broken {
					return wow.Permanent
				}
				return out.Offload("", func(context.Context) error { <-gate; return nil })
			})
			b := newBench(t, &shared{Store: s}, only(p))
			b.env.owner = owner
			b.start()
			return b
		}
		a := begin("a")
		a.append("k", tallyAdded{1})
		l := a.append("l", tallyAdded{1})
		a.settled("test.projection.p")
		broken = false
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishRetry, Target: tallyTarget("k")}))
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget("l"), Position: l.Position}))
		time.Sleep(2 * leaseEvery) // the retry runs, and takes its time
		a.store.(*shared).cut.Store(true)
		b := begin("b")
		time.Sleep(15 * time.Second)
		require.Equal(t, map[string]string{"test.projection.p": "b"}, owners(t, a, b))
		a.store.(*shared).cut.Store(false)
		close(gate)
		time.Sleep(15 * time.Second)
		require.Empty(t, parkedOf(t, b, "l"))
		require.Empty(t, parkedOf(t, b, "k"))
	})
}

func TestAWishForALongID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		s := memoryStore(t)
		b := started(t, s, only(picky(&got)))
		id := strings.Repeat("i", 250)
		one := b.append(id, tallyAdded{13})
		b.settled("test.projection.p")
		require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishSkip, Target: tallyTarget(id), Position: one.Position}))
	})
}
