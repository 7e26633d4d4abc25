// Package leases is store.Leases for a store that one process has to itself:
// who owns what is kept in memory, and forgotten with the process.
package leases

import (
	"slices"
	"sync"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// Table is the leases of one store. The zero value is ready; its methods may be
// called at the same time.
type Table struct {
	mu     sync.Mutex
	owners map[string]time.Time // until when each is alive
	held   map[store.Segment]lease
}

type lease struct {
	store.Lease
	until time.Time
}

// Claim implements store.Leases. raise stores a higher epoch than a segment had,
// and returns it.
func (t *Table) Claim(owner string, ttl time.Duration, segments []store.Segment, take int, raise func(store.Segment) (int64, error)) (store.Claimed, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners == nil {
		t.owners, t.held = map[string]time.Time{}, map[store.Segment]lease{}
	}
	now := time.Now()
	until := now.Add(ttl)
	t.owners[owner] = until
	for o, alive := range t.owners {
		if !alive.After(now) {
			delete(t.owners, o)
		}
	}
	answer := store.Claimed{Owners: len(t.owners), Leases: make([]store.Lease, len(segments))}
	for i, s := range segments {
		l := t.held[s]
		switch free := l.Owner == "" || !l.until.After(now); {
		case l.Owner == owner:
			l.until = until
		case free && take > 0:
			epoch, err := raise(s)
			if err != nil {
				return store.Claimed{}, err
			}
			take--
			l = lease{store.Lease{Owner: owner, Epoch: epoch}, until}
		case free:
			l.Owner = ""
		}
		t.held[s] = l
		answer.Leases[i] = l.Lease
	}
	return answer, nil
}

// Release implements store.Leases.
func (t *Table) Release(owner string, segments ...store.Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(segments) == 0 {
		delete(t.owners, owner)
	}
	for s, l := range t.held {
		if l.Owner == owner && (len(segments) == 0 || slices.Contains(segments, s)) {
			l.Owner = ""
			t.held[s] = l
		}
	}
}
