package bustest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/runtime/bus"
)

// stuck holds one record back while its partition and others are busy.
func stuck(f *fixture) {
	const limit, keys = 100, 50
	s := f.subscribe("g")
	f.publish(1, 1)
	held := f.fetch(s, 1)[0]
	require.True(f, s.Holds(held))
	var batch []bus.Record
	for i := range bus.MaxOpen + 3*limit {
		batch = append(batch, bus.Record{Topic: topic, Key: held.Key, Value: fmt.Append(nil, i+1)})
	}
	require.NoError(f, f.Publish(f.ctx, batch...))
	seen := 1 // of the partition
	for round := 0; seen < bus.MaxOpen || round < 3; round++ {
		batch = batch[:0]
		for k := range keys {
			batch = append(batch, bus.Record{Topic: topic, Key: fmt.Sprint("other", k), Value: fmt.Append(nil, round)})
		}
		require.NoError(f, f.Publish(f.ctx, batch...))
		missing := map[string]bool{} // of those in other partitions
		for k := range keys {
			missing[fmt.Sprint("other", k)] = true
		}
		for n := len(missing); n > keys/2; n = len(missing) { // about an eighth share the partition
			some, err := s.Fetch(f.ctx, limit)
			require.NoError(f, err)
			for _, d := range some {
				if d.Partition == held.Partition {
					seen++
				}
				delete(missing, d.Key)
			}
			s.Finish(some...)
		}
		require.LessOrEqual(f, seen, bus.MaxOpen+limit, "of the partition with the stuck record")
	}
	s.Finish(held)
	for seen < bus.MaxOpen+3*limit {
		some, err := s.Fetch(f.ctx, limit)
		require.NoError(f, err, "after %d", seen)
		for _, d := range some {
			if d.Partition == held.Partition {
				seen++
			}
		}
		s.Finish(some...)
	}
}

// impatient fetches with a context that is over at any moment.
func impatient(f *fixture) {
	const keys, each = 10, 100
	s := f.subscribe("g")
	go func() {
		for i := range each {
			for k := range keys {
				_ = f.Publish(f.ctx, bus.Record{Topic: topic, Key: fmt.Sprint("k", k), Value: fmt.Append(nil, i)})
			}
		}
	}()
	var all []bus.Delivery
	for n := 0; len(all) < keys*each; n++ {
		require.NoError(f, f.ctx.Err(), "after %d", len(all))
		ctx, cancel := context.WithTimeout(f.ctx, time.Duration(n%20)*100*time.Microsecond)
		some, err := s.Fetch(ctx, 7)
		cancel()
		if err != nil {
			require.ErrorIs(f, err, context.DeadlineExceeded)
		}
		all = append(all, some...)
		s.Finish(some...)
	}
	for key, values := range byKey(all) {
		require.Equal(f, counted(0, each), values, key)
	}
}

// overdue has a member hold all it has, while another comes.
func overdue(f *fixture) {
	const keys, each = 40, 2
	one := f.subscribe("g")
	f.publish(keys, each)
	held := map[string]bus.Delivery{}
	where := func(d bus.Delivery) string { return fmt.Sprint(d.Partition, "/", d.Offset) }
	for _, d := range f.fetch(one, keys*each) {
		held[where(d)] = d
	}
	two := f.subscribe("g")
	got := f.fetch(two, 1)
	for _, d := range got {
		old, ok := held[where(d)]
		require.True(f, ok, "%s was delivered before", where(d))
		require.False(f, one.Holds(old))
		require.True(f, two.Holds(d))
	}
	kept := 0
	for _, d := range held {
		if one.Holds(d) {
			kept++
			continue
		}
		one.Finish(d) // too late
	}
	require.Positive(f, kept, "not all has moved")
	require.NoError(f, two.Close(f.ctx))
	require.False(f, two.Holds(got[0]))
	again := map[string]bool{}
	for len(again) < keys*each-kept { // to the one that is left, in another term
		for _, d := range f.fetch(one, 1) {
			again[where(d)] = true
			require.True(f, one.Holds(d))
			require.False(f, one.Holds(held[where(d)]), "%s: that was in another term", where(d))
		}
	}
}
