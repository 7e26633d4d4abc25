package runtime

import (
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// cached is the state of an aggregate between two of its commands.
//
// Only the mailbox of the aggregate looks at it or changes it. The cache itself
// touches the fields below the line, under the lock of their shard; it may
// forget a state while a command works on it, which costs a loading later.
type cached struct {
	target    wow.Target
	hash      uint64 // of target, by the cache; set when listed
	state     wow.State
	version   int64
	decidedAt int64 // of the last commit, microseconds
	behind    bool  // there are newer commits: load them before deciding
	listed    bool  // it was given to the cache
	measured  int64 // version at which size was measured last
	encoded   int   // estimated size of the state, encoded

	// ---
	size       int   // as counted by the shard
	used       int64 // number of sweeps before its last use
	hot        bool  // used since it last came to the end of the list
	prev, next *cached
}

// overhead is what a state costs besides its own size: the map, this struct,
// its target.
const overhead = 400

// cache keeps states, bounded in number and size: roughly those used last. One
// that was used since it last came to the end of the list gets another round,
// which makes a use cheap: no pointer moves. The shards are there so that the
// workers do not meet at one lock.
type cache struct {
	seed   maphash.Seed
	now    atomic.Int64 // counts sweeps
	shards []shard
}

type shard struct {
	mu      sync.Mutex
	states  map[uint64]*cached // by the hash of the target; of two with one hash, the newer
	list    cached             // prev is the next to go, unless it was used
	bytes   int64
	entries int
	limit   int64

	_ [64]byte // a cache line of its own
}

func newCache(cfg CacheConfig) *cache {
	// As many as there can be with 64 states and 64 KiB each, up to 64.
	n := min(64, cfg.Entries/64, int(cfg.Bytes/minCacheBytes))
	n = 1 << max(0, bits.Len(uint(n))-1)
	c := &cache{seed: maphash.MakeSeed(), shards: make([]shard, n)}
	for i := range c.shards {
		s := &c.shards[i]
		s.states = map[uint64]*cached{}
		s.list.prev, s.list.next = &s.list, &s.list
		s.limit = cfg.Bytes / int64(n)
		s.entries = max(1, cfg.Entries/n)
	}
	return c
}

// find returns the shard of an aggregate, and its key there.
func (c *cache) find(t *wow.Target) (*shard, uint64) {
	hash := maphash.Comparable(c.seed, *t)
	return c.of(hash), hash
}

func (c *cache) of(hash uint64) *shard { return &c.shards[hash&uint64(len(c.shards)-1)] }

// get returns the state of an aggregate, or nil.
func (c *cache) get(t *wow.Target) *cached {
	s, hash := c.find(t)
	s.mu.Lock()
	e := s.states[hash]
	if e != nil && e.target == *t {
		e.used, e.hot = c.now.Load(), true
	} else {
		e = nil
	}
	s.mu.Unlock()
	return e
}

// put adds a state, or counts its new size.
func (c *cache) put(e *cached) {
	size := overhead + e.encoded
	if e.listed {
		s := c.of(e.hash)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.states[e.hash] == e {
			s.bytes += int64(size - e.size)
			e.size = size
			s.trim(e)
		}
		return
	}
	var s *shard
	s, e.hash = c.find(&e.target)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.states[e.hash]; old != nil {
		s.remove(old)
	}
	e.listed, e.size, e.used = true, size, c.now.Load()
	s.states[e.hash] = e
	s.bytes += int64(size)
	s.list.push(e)
	s.trim(e)
}

// drop forgets a state that is not to be trusted any more. nil is fine.
func (c *cache) drop(e *cached) {
	if e == nil || !e.listed {
		return
	}
	s := c.of(e.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states[e.hash] == e {
		s.remove(e)
	}
}

// sweep forgets what was not used since two sweeps before the last one, which
// is the idle time or up to a half more.
func (c *cache) sweep() {
	before := c.now.Add(1) - 2
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := s.list.prev; e != &s.list; {
			older := e
			if e = e.prev; older.used < before {
				s.remove(older)
			}
		}
		s.mu.Unlock()
	}
}

// trim forgets states until the bounds hold: from the end of the list, where
// those that were used go back to the front, cold. The newest is the last to go.
func (s *shard) trim(newest *cached) {
	for len(s.states) > 0 && (len(s.states) > s.entries || s.bytes > s.limit) {
		e := s.list.prev
		if !e.hot && (e != newest || len(s.states) == 1) {
			s.remove(e)
			continue
		}
		e.hot = false
		e.unlink()
		s.list.push(e)
	}
}

func (s *shard) remove(e *cached) {
	delete(s.states, e.hash)
	s.bytes -= int64(e.size)
	e.unlink()
}

func (e *cached) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}

// push puts e behind the list's head.
func (l *cached) push(e *cached) {
	e.prev, e.next = l, l.next
	l.next.prev = e
	l.next = e
}

// keep notes that a commit, whose events the state has, is stored.
func (c *commands) keep(f *flight, commit *store.Commit) {
	e := f.cached
	e.version, e.decidedAt = commit.Version, commit.DecidedAt
	if e.grow(f.bytes) || !e.listed {
		c.cache.put(e)
	}
}

// grow estimates the size of a state that n bytes of events happened to, and
// reports whether it is another than before. A state may stay small while its
// history grows, so it is measured again each time the version has doubled;
// what that costs is spread over as many commits.
func (e *cached) grow(n int) bool {
	const first = 16 // before, the events are estimate enough
	if e.version < first {
		e.encoded += n
		return false
	}
	if e.version < 2*e.measured {
		return false
	}
	e.measured = e.version
	if data, err := json.Marshal(e.state); err == nil {
		e.encoded = len(data)
	}
	return true
}

// sweepEvery is the time between two sweeps.
func (cfg CacheConfig) sweepEvery() time.Duration { return max(cfg.Idle/2, time.Millisecond) }
