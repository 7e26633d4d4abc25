package postgres

import (
	"sync"

	"github.com/wowgen/wow"
)

// known remembers versions that are there, of the aggregates used last: at
// most limit of them, in two halves. Versions only grow, so what it says stays
// true; others may have appended more. It saves an append the look for the
// version before its own.
type known struct {
	mu         sync.Mutex
	half       int
	young, old map[wow.Target]int64
}

func newKnown(limit int) known {
	return known{half: limit / 2, young: make(map[wow.Target]int64)}
}

// covers reports whether a version is known to be there.
func (k *known) covers(t wow.Target, version int64) bool {
	if version == 0 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.young[t]
	if !ok {
		if v, ok = k.old[t]; ok {
			k.put(t, v)
		}
	}
	return v >= version
}

// add notes that a version is there.
func (k *known) add(t wow.Target, version int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(t, max(version, k.young[t], k.old[t]))
}

func (k *known) put(t wow.Target, version int64) {
	if len(k.young) >= k.half {
		k.old, k.young = k.young, make(map[wow.Target]int64)
	}
	k.young[t] = version
}
