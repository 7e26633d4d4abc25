package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// counted is a store that counts reads and can be told to fail them.
type counted struct {
	store.Store
	reads atomic.Int64
	down  atomic.Bool
}

func (c *counted) Read(ctx context.Context, after wow.Position, limit int) ([]*store.Commit, error) {
	c.reads.Add(1)
	if c.down.Load() {
		return nil, errors.New("connection refused")
	}
	return c.Store.Read(ctx, after, limit)
}

func numbered(n, size int) (commits []*store.Commit) {
	for i := range n {
		commits = append(commits, &store.Commit{Position: wow.Position{Seq: int64(i + 1)}, Events: []store.Event{{Data: make([]byte, size)}}})
	}
	return commits
}

func TestTheRingKeepsTheLastCommitsWithinItsBounds(t *testing.T) {
	for _, c := range []struct{ size, n, kept int }{
		{0, tailRing, tailRing},
		{0, 3*tailRing + 5, tailRing},
		{tailBytes / 4, 100, 3}, // and 256 bytes for each commit itself
		{2 * tailBytes, 10, 1},
	} {
		ring := newTail(nil, 0, slog.New(slog.DiscardHandler))
		ring.start(0)
		for i, one := range numbered(c.n, c.size) {
			if ring.put([]*store.Commit{one}); ring.head() != int64(i+1) {
				t.Fatalf("head %d after %d commits", ring.head(), i+1)
			}
		}
		first := int64(c.n - c.kept + 1)
		into := make([]*store.Commit, c.n)
		if n, kept := ring.copyTo(into, first-1); n != c.kept || !kept || into[0].Position.Seq != first {
			t.Errorf("%+v: %d commits from %v (%t)", c, n, into[0], kept)
		}
		if first > 1 {
			if _, kept := ring.copyTo(into, first-2); kept {
				t.Errorf("%+v: the ring says it has what it dropped", c)
			}
		}
		if n, kept := ring.copyTo(into, int64(c.n)+100); n != 0 || !kept {
			t.Errorf("%+v: somebody ahead of the ring gets %d commits (%t), want none", c, n, kept)
		}
	}
}

// TestOneReadServesAllConsumersThatAreUpToDate counts what the store is asked.
func TestOneReadServesAllConsumersThatAreUpToDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memoryStore(t)}
		var all Handlers
		for i := range 10 {
			p := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
			p.Name = fmt.Sprint("test.projection.", i)
			all.Projections = append(all.Projections, p)
		}
		b := started(t, s, all)
		synctest.Wait()
		s.reads.Store(0)
		b.append("a", tallyAdded{1})
		synctest.Wait()
		for range 100 { // within the pause after the first
			b.append("a", tallyAdded{1})
		}
		for _, c := range b.cs.all {
			b.settled(c.name)
		}
		time.Sleep(time.Second)
		if n := s.reads.Load(); n > 6 {
			t.Errorf("%d reads for 101 commits and 10 consumers, want at most 6", n)
		}
		s.reads.Store(0)
		time.Sleep(time.Hour)
		if n := s.reads.Load(); n != 0 {
			t.Errorf("%d reads in an idle hour, want none", n)
		}
		b.stop()
	})
}

// TestASlowConsumerReadsForItselfUntilItMeetsTheRing holds one consumer up
// until the ring has lost what it needs.
func TestASlowConsumerReadsForItselfUntilItMeetsTheRing(t *testing.T) {
	s := &counted{Store: memoryStore(t)}
	gate := make(chan struct{})
	var got seen
	slow := projecting(func(_ context.Context, in *Recorded, out *Reaction) error {
		return out.Offload("", func(context.Context) error {
			<-gate
			got.note("a", fmt.Sprint(in.Version))
			return nil
		})
	})
	fast := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
	fast.Name = "test.projection.fast"
	b := started(t, s, Handlers{Projections: []Projection{slow, fast}})
	const n = 3 * tailRing
	for range n {
		b.append("a", tallyAdded{1})
	}
	b.settled(fast.Name) // nobody waits for the slow one
	at, taken := b.consumer(slow.Name).feeds[0].mark().progress()
	if at != 0 || taken > markWindow {
		t.Errorf("the slow one has finished %d and taken %d, want 0 and at most %d", at, taken, markWindow)
	}
	st, err := Consumer{b.consumer(slow.Name)}.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, n, st.Lag)
	close(gate)
	b.settled(slow.Name)
	list := got.of("a")
	require.Len(t, list, n)
	for i, v := range list {
		if v != fmt.Sprint(i+1) {
			t.Fatalf("message %d is version %s", i, v)
		}
	}
}

// TestAStoreThatComesBackIsReadAgain takes the store away for a while: it is
// said once, and all goes on.
func TestAStoreThatComesBackIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: memoryStore(t)}
		var got seen
		b := newBench(t, s, only(projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			got.note("a", fmt.Sprint(in.Version))
			return nil
		})))
		log := &lockedBuilder{}
		b.env.out = slog.New(slog.NewTextHandler(log, nil))
		b.start()
		b.append("a", tallyAdded{1})
		b.settled("test.projection.p")
		s.down.Store(true)
		b.append("a", tallyAdded{1})
		time.Sleep(time.Minute)
		if n := s.reads.Load(); n < 60 || n > 200 {
			t.Errorf("%d reads in a minute, want one or two a second", n)
		}
		require.Len(t, got.of("a"), 1)
		s.down.Store(false)
		b.settled("test.projection.p")
		require.Len(t, got.of("a"), 2)
		b.stop()
		require.Equal(t, 1, strings.Count(log.String(), "reading the store fails"), log.String())
		require.Equal(t, 1, strings.Count(log.String(), "reading the store works again"), log.String())
		require.Contains(t, log.String(), "connection refused")
	})
}

type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
