// Package memory is a store that lives as long as its process: for tests, for
// a first run, and for histories that need not outlive a restart.
//
// It keeps the whole contract of package store but durability: an aggregate's
// history is one line, a request takes effect once, readers see positions
// without gaps. What it acknowledged is lost when the process ends.
package memory

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/internal/bell"
	"github.com/wowgen/wow/internal/leases"
	"github.com/wowgen/wow/runtime/store"
)

// Store is a store in memory. Use New; all methods are safe for concurrent use.
//
// Appending takes one lock for a map look-up and a few pointer writes. Reading
// behind a position takes none: the log only grows, and its head is published
// after what lies below it.
type Store struct {
	id     string
	seed   maphash.Seed
	log    log
	bell   bell.Bell
	closed atomic.Bool

	mu       sync.Mutex // guards what follows, and writing to log
	streams  map[wow.Target]*stream
	kept     map[request]*store.Outcome // of refusals and no-ops; commits know their own
	expiring []expiring                 // the keys of kept, oldest first
	storedAt int64                      // of the last commit

	side   side         // snapshots, checkpoints and parked messages, under a lock of their own
	leases leases.Table // likewise
}

var _ store.Instant = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		id:      uuid.NewString(),
		streams: make(map[wow.Target]*stream),
		kept:    make(map[request]*store.Outcome),
		seed:    maphash.MakeSeed(),
		side:    newSide(),
	}
}

// ID implements store.Store. Each New gives another one.
func (s *Store) ID() string { return s.id }

// Shards implements store.Log: there is one.
func (s *Store) Shards() int32 { return 1 }

// Sole implements store.Log: nobody else can reach it.
func (s *Store) Sole() bool { return true }

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock() // an append is either whole before this, or refused
	s.closed.Store(true)
	s.mu.Unlock()
	s.bell.Ring()
	return nil
}

// usable reports why a call must not begin.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

func checkShard(shard int32) error {
	if shard != 0 {
		return fmt.Errorf("memory: there is no shard %d, only 0", shard)
	}
	return nil
}
