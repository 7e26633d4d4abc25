// Package bustest holds a bus to the contract of package bus. Every bus of the
// project runs it, and so can a bus of your own:
//
//	func TestBus(t *testing.T) {
//		bustest.Run(t, func(t testing.TB) bus.Bus { return mybus.New() })
//	}
//
// Each test gets a bus of its own from open, which closes it in a cleanup. It has
// four partitions or more, and its
// bound on the wait for what a member holds is a second or so.
package bustest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/runtime/bus"
)

// Open returns an empty bus, ready for use.
type Open func(t testing.TB) bus.Bus

// patience bounds everything that must happen in the end. Members of a group may
// take a while to agree.
const patience = 60 * time.Second

// Run tests a bus.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*fixture){
		"records come as they were published":                      verbatim,
		"the order of each key is kept":                            ordered,
		"a fetch returns no more than it may":                      credits,
		"what was not finished comes again":                        again,
		"a group that is new begins at the beginning":              beginning,
		"each group gets every record":                             groups,
		"a record that is stuck stops its partition at a bound":    stuck,
		"a fetch that is cut short loses nothing":                  impatient,
		"what is held too long goes to another":                    overdue,
		"members share the partitions, and no key is at two":       shared,
		"a member that leaves leaves nothing behind":               leaving,
		"a fetch ends with its context, and with its subscription": ends,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			test(&fixture{T: t, Bus: open(t), ctx: ctx})
		})
	}
}

type fixture struct {
	*testing.T
	bus.Bus
	ctx context.Context
}

const topic = "bustest.topic"

func (f *fixture) publish(keys, each int) {
	f.Helper()
	var batch []bus.Record
	for i := range each {
		for k := range keys {
			batch = append(batch, bus.Record{Topic: topic, Key: fmt.Sprint("k", k), Value: fmt.Append(nil, i)})
		}
	}
	require.NoError(f, f.Publish(f.ctx, batch...))
}

func (f *fixture) subscribe(group string) bus.Subscription {
	f.Helper()
	s, err := f.Subscribe(f.ctx, group, topic)
	require.NoError(f, err)
	f.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	return s
}

// fetch returns n deliveries or more.
func (f *fixture) fetch(s bus.Subscription, n int) (all []bus.Delivery) {
	f.Helper()
	for len(all) < n {
		some, err := s.Fetch(f.ctx, n-len(all))
		require.NoError(f, err, "after %d of %d", len(all), n)
		require.NotEmpty(f, some)
		all = append(all, some...)
	}
	return all
}

// byKey are the values of each key, as they came.
func byKey(all []bus.Delivery) map[string][]string {
	by := map[string][]string{}
	for _, d := range all {
		by[d.Key] = append(by[d.Key], string(d.Value))
	}
	return by
}

func counted(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func verbatim(f *fixture) {
	want := []bus.Record{
		{Topic: topic, Key: "a|b%7C|ö", Headers: map[string]string{"wow-x": "1", "empty": "", "bytes": "\x00\xff"}, Value: []byte{0, 0xff, '\n'}},
		{Topic: topic, Key: "empty"},
		{Topic: topic, Key: "large", Value: bytes.Repeat([]byte("x"), 900<<10)},
		{Topic: topic, Key: strings.Repeat("k", 1000), Value: []byte("long key")},
	}
	require.NoError(f, f.Publish(f.ctx, want...))
	s := f.subscribe("g")
	got := map[string]bus.Record{}
	for _, d := range f.fetch(s, len(want)) {
		got[d.Key] = d.Record
		s.Finish(d)
	}
	for _, w := range want {
		g := got[w.Key]
		if !bytes.Equal(g.Value, w.Value) || !maps.Equal(g.Headers, w.Headers) || g.Topic != w.Topic {
			f.Errorf("record %.20q: got %d bytes of %q with %q", w.Key, len(g.Value), g.Topic, g.Headers)
		}
	}
}

func ordered(f *fixture) {
	s := f.subscribe("g")
	f.publish(20, 50)
	for key, values := range byKey(f.fetch(s, 1000)) {
		require.Equal(f, counted(0, 50), values, key)
	}
}

func credits(f *fixture) {
	s := f.subscribe("g")
	f.publish(10, 20)
	for got := 0; got < 200; {
		limit := 1 + rand.IntN(7)
		some, err := s.Fetch(f.ctx, limit)
		require.NoError(f, err)
		require.LessOrEqual(f, len(some), limit)
		require.NotEmpty(f, some)
		got += len(some)
		s.Finish(some...)
	}
}

func again(f *fixture) {
	f.publish(1, 10)
	s := f.subscribe("g")
	all := f.fetch(s, 10)
	for i, d := range all {
		if i != 3 && i != 7 {
			s.Finish(d)
		}
	}
	require.NoError(f, s.Close(f.ctx))
	s.Finish(all[3]) // too late
	next := f.subscribe("g")
	values := byKey(f.fetch(next, 7))["k0"]
	require.Equal(f, counted(3, 10), values, "from the lowest unfinished on")
}

func beginning(f *fixture) {
	f.publish(3, 3)
	require.Len(f, byKey(f.fetch(f.subscribe("late"), 9)), 3)
}

func groups(f *fixture) {
	one, two := f.subscribe("one"), f.subscribe("two")
	f.publish(5, 5)
	one.Finish(f.fetch(one, 25)...)
	for key, values := range byKey(f.fetch(two, 25)) {
		require.Equal(f, counted(0, 5), values, key)
	}
}

// crew are members of one group at work.
type crew struct {
	f       *fixture
	mu      sync.Mutex
	seen    map[string][]string // by key
	inHand  map[string]int      // by key: how many, negative never
	at      map[string]string   // by key: which member has some in hand
	by      map[string]int      // how much each member got
	working sync.WaitGroup
}

// work has a member handle what it gets until ctx ends, a few at a time.
func (c *crew) work(ctx context.Context, name string, s bus.Subscription) {
	c.working.Go(func() {
		for {
			some, err := s.Fetch(ctx, 8)
			if err != nil {
				return
			}
			c.mu.Lock()
			for _, d := range some {
				if c.inHand[d.Key] > 0 && c.at[d.Key] != name {
					c.f.Errorf("%s gets %s while %s has %d of it in hand", name, d.Key, c.at[d.Key], c.inHand[d.Key])
				}
				c.at[d.Key] = name
				c.inHand[d.Key]++
				c.by[name]++
				c.seen[d.Key] = append(c.seen[d.Key], string(d.Value))
			}
			c.mu.Unlock()
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			c.mu.Lock()
			for _, d := range some {
				c.inHand[d.Key]--
			}
			c.mu.Unlock()
			s.Finish(some...)
		}
	})
}

// all waits until each key was seen each times, in order.
func (c *crew) all(keys, each int) {
	c.f.Helper()
	for {
		c.mu.Lock()
		n := 0
		for _, values := range c.seen {
			if len(slices.Compact(slices.Sorted(slices.Values(values)))) == each {
				n++
			}
		}
		c.mu.Unlock()
		if n == keys {
			return
		}
		select {
		case <-c.f.ctx.Done():
			c.f.Fatalf("%d of %d keys are complete", n, keys)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func newCrew(f *fixture) *crew {
	return &crew{f: f, seen: map[string][]string{}, inHand: map[string]int{}, at: map[string]string{}, by: map[string]int{}}
}

func shared(f *fixture) {
	const keys, each = 40, 60
	c := newCrew(f)
	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	c.work(ctx, "one", f.subscribe("g"))
	f.publish(keys, each/3)
	c.work(ctx, "two", f.subscribe("g"))
	for i := range 2 {
		var batch []bus.Record
		for n := range each / 3 {
			for k := range keys {
				batch = append(batch, bus.Record{Topic: topic, Key: fmt.Sprint("k", k), Value: fmt.Append(nil, (i+1)*each/3+n)})
			}
		}
		require.NoError(f, f.Publish(f.ctx, batch...))
	}
	c.all(keys, each)
	stop()
	c.working.Wait()
	for key, values := range c.seen {
		require.Equal(f, counted(0, each), values, "%s: each once, as nobody died", key)
	}
}

func leaving(f *fixture) {
	const keys, each = 30, 30
	c := newCrew(f)
	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	one, two := f.subscribe("g"), f.subscribe("g")
	c.work(ctx, "two", two)
	f.publish(keys, each)
	short, end := context.WithTimeout(f.ctx, time.Second)
	defer end()
	if held, err := one.Fetch(short, 50); err == nil { // it gets some, and dies with them
		require.NotEmpty(f, held)
	}
	require.NoError(f, one.Close(f.ctx))
	c.all(keys, each)
	stop()
	c.working.Wait()
}

func ends(f *fixture) {
	s := f.subscribe("g")
	short, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	_, err := s.Fetch(short, 1)
	require.ErrorIs(f, err, context.DeadlineExceeded)
	require.NoError(f, s.Close(f.ctx))
	require.NoError(f, s.Close(f.ctx), "twice is no error")
	_, err = s.Fetch(f.ctx, 1)
	require.ErrorIs(f, err, bus.ErrClosed)
}
