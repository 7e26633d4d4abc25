package runtime

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// faulty is a store whose calls a test can bend. Being no store.Instant, it
// also takes the way that stores on a disk take: through the committer.
type faulty struct {
	store.Store
	mu      sync.Mutex
	append  func(entries []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result
	settle  func(ds []store.Settlement, next func([]store.Settlement) ([]store.Settled, error)) ([]store.Settled, error)
	stream  func(next func() ([]*store.Commit, error)) ([]*store.Commit, error)
	batches []int // sizes of the appends
}

func newFaulty() *faulty { return &faulty{Store: memory.New()} }

func (s *faulty) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	s.mu.Lock()
	bend := s.append
	s.batches = append(s.batches, len(entries))
	s.mu.Unlock()
	next := func(es []*store.Commit) []store.Result { return s.Store.Append(ctx, es) }
	if bend == nil {
		return next(entries)
	}
	return bend(entries, next)
}

func (s *faulty) Settle(ctx context.Context, ds []store.Settlement) ([]store.Settled, error) {
	s.mu.Lock()
	bend := s.settle
	s.mu.Unlock()
	next := func(ds []store.Settlement) ([]store.Settled, error) { return s.Store.Settle(ctx, ds) }
	if bend == nil {
		return next(ds)
	}
	return bend(ds, next)
}

func (s *faulty) Stream(ctx context.Context, t wow.Target, after int64, limit int) ([]*store.Commit, error) {
	s.mu.Lock()
	bend := s.stream
	s.mu.Unlock()
	next := func() ([]*store.Commit, error) { return s.Store.Stream(ctx, t, after, limit) }
	if bend == nil {
		return next()
	}
	return bend(next)
}

// bend changes how the store behaves from now on.
func (s *faulty) bend(f func(s *faulty)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// all answers each entry alike.
func all(entries []*store.Commit, r store.Result) []store.Result {
	results := make([]store.Result, len(entries))
	for i := range results {
		results[i] = r
	}
	return results
}

// eachWay runs a test on the memory store, which appends on the worker, and on
// one that goes through the committer.
func eachWay(t *testing.T, f func(t *testing.T, s store.Store)) {
	t.Run("instant", func(t *testing.T) { f(t, memory.New()) })
	t.Run("committer", func(t *testing.T) { f(t, newFaulty()) })
}

// requireOneHistory checks that an aggregate's versions are 1..n, and returns
// how many events they hold.
func requireOneHistory(t *testing.T, s store.Store, target wow.Target) (versions, events int64) {
	t.Helper()
	for {
		commits, err := s.Stream(context.Background(), target, versions, 1000)
		require.NoError(t, err)
		if len(commits) == 0 {
			return versions, events
		}
		for _, c := range commits {
			versions++
			require.Equal(t, versions, c.Version)
			events += int64(len(c.Events))
		}
	}
}
