package runtime

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// kept counts what a cache holds, and its bytes.
func (c *cache) kept() (states int, bytes int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		states += len(s.states)
		bytes += s.bytes
		s.mu.Unlock()
	}
	return states, bytes
}

func TestTheCacheIsBoundedInEntries(t *testing.T) {
	for _, entries := range []int{1, 7, 100, 5000} {
		c := newCache(CacheConfig{Entries: entries, Bytes: 1 << 30})
		for i := range 3 * entries {
			target := accountTarget(fmt.Sprint(i))
			require.Nil(t, c.get(&target))
			e := &cached{target: target}
			c.put(e)
			require.Same(t, e, c.get(&target), "the newest is there")
		}
		n, _ := c.kept()
		require.LessOrEqual(t, n, entries)
		require.Greater(t, 2*n, entries, "of %d", entries)
	}
}

func TestTheCacheIsBoundedInBytes(t *testing.T) {
	const bytes = 4 << 20
	c := newCache(CacheConfig{Entries: 1 << 20, Bytes: bytes})
	for i := range 10_000 {
		c.put(&cached{target: accountTarget(fmt.Sprint(i)), encoded: 1000})
	}
	n, size := c.kept()
	require.LessOrEqual(t, size, int64(bytes))
	require.EqualValues(t, n*(1000+overhead), size)
	require.Greater(t, size, int64(bytes/2))

	grown := &cached{target: accountTarget("grown"), encoded: 10}
	c.put(grown)
	grown.encoded = bytes // more than all there is
	c.put(grown)
	require.Nil(t, c.get(&grown.target))
	for n, _ := c.kept(); n > 0; n, _ = c.kept() {
		for i := range c.shards {
			if last := c.shards[i].list.prev; last != &c.shards[i].list {
				c.drop(last)
			}
		}
	}
	_, size = c.kept()
	require.Zero(t, size, "what goes is no longer counted")
}

func TestTheCacheKeepsWhatIsUsed(t *testing.T) {
	c := newCache(CacheConfig{Entries: 10, Bytes: 1 << 30})
	used := accountTarget("used")
	c.put(&cached{target: used})
	for i := range 1000 {
		c.put(&cached{target: accountTarget(fmt.Sprint(i))})
		require.NotNil(t, c.get(&used), i)
	}
}

func TestTheCacheForgetsWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{Cache: CacheConfig{Idle: time.Minute}})
		for i := range 100 {
			_, err := g.Send(t.Context(), Deposit{ID: fmt.Sprint(i), Amount: 1})
			require.NoError(t, err)
		}
		time.Sleep(50 * time.Second)
		_, err := g.Send(t.Context(), Deposit{ID: "7", Amount: 1})
		require.NoError(t, err)
		time.Sleep(50 * time.Second)
		n, _ := g.r.commands.cache.kept()
		require.Equal(t, 1, n)
		got, err := g.Send(t.Context(), Deposit{ID: "3", Amount: 1})
		require.NoError(t, err)
		require.EqualValues(t, 2, got.Version, "it is loaded again")
	})
}

// A state that stays small while its history grows is not counted as large.
func TestTheSizeOfAStateIsMeasuredNotSummed(t *testing.T) {
	g := bank(t, Config{})
	for range 3000 {
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
	}
	_, bytes := g.r.commands.cache.kept()
	require.Less(t, bytes, int64(overhead+200))
	_, err := g.Send(t.Context(), Tag{ID: "b", Tags: map[string]string{"k": strings.Repeat("x", 100_000)}})
	require.NoError(t, err)
	_, bytes = g.r.commands.cache.kept()
	require.Greater(t, bytes, int64(100_000))
}

func TestIDsAreUUIDs(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	now := time.Date(2026, 12, 1, 0, 0, 0, 123_456_789, time.UTC)
	for range 10_000 {
		id := newID(now)
		u, err := uuid.Parse(id)
		require.NoError(t, err)
		require.Equal(t, u.String(), id)
		require.EqualValues(t, 7, u.Version())
		require.Equal(t, uuid.RFC4122, u.Variant())
		require.False(t, seen[id])
		require.Greater(t, id, last, "in order, also within a moment")
		seen[id], last = true, id
	}
	u, err := uuid.Parse(derivedID("a", "b"))
	require.NoError(t, err)
	require.EqualValues(t, 8, u.Version())
	require.NotEqual(t, derivedID("a", "b"), derivedID("ab", ""))
}

func TestHandoverGivesOnlyWhatItWasGiven(t *testing.T) {
	h := new(handover)
	at := func(seq int64) *store.Commit { return &store.Commit{Position: wow.Position{Seq: seq}} }
	one, two := Deposited{Amount: 1}, Withdrawn{2}
	h.put(wow.Position{Seq: 5}, []wow.DomainEvent{one})
	h.put(wow.Position{Seq: 6}, []wow.DomainEvent{one, two})
	require.Equal(t, one, h.get(at(5), 0, &depositedEvent))
	require.Nil(t, h.get(at(5), 0, &withdrawnEvent), "another type")
	require.Equal(t, two, h.get(at(6), 1, &withdrawnEvent))
	require.Nil(t, h.get(at(6), 2, &withdrawnEvent))
	require.Nil(t, h.get(at(5+handoverSize), 0, &depositedEvent), "another position")
	require.Nil(t, (*handover)(nil).get(at(5), 0, &depositedEvent))
	h.put(wow.Position{Seq: 5 + handoverSize}, []wow.DomainEvent{two})
	require.Nil(t, h.get(at(5), 0, &depositedEvent), "overwritten")
}

func TestFlatEventsAreThoseThatTheirBytesHoldWhole(t *testing.T) {
	type inner struct{ A [3]int8 }
	for _, tc := range []struct {
		event wow.EventType
		flat  bool
	}{
		{depositedEvent, true},
		{notedEvent, true},
		{taggedEvent, false},
		{eventType[holding[inner]]("x"), true},
		{eventType[holding[*int]]("x"), false},
		{eventType[holding[[]byte]]("x"), false},
		{eventType[holding[time.Time]]("x"), false},
		{eventType[holding[any]]("x"), false},
		{eventType[holding[struct{ a int }]]("x"), false},
		{eventType[holding[struct{ inner }]]("x"), false},
		{eventType[holding[struct {
			A int `json:"-"`
		}]]("x"), false},
		{eventType[holding[struct {
			A int `json:"b"`
			B int
		}]]("x"), false}, // encoding/json looks for names of any case
	} {
		require.Equal(t, tc.flat, isFlat(&tc.event), "%T", tc.event)
	}
}

type holding[T any] struct{ Field T }

func (holding[T]) WowEvent() *wow.EventType { return nil }
