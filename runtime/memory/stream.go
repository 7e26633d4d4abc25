package memory

import (
	"hash/maphash"

	"github.com/wowgen/wow/runtime/store"
)

// stream is the history of one aggregate: commits[i] has version i+1. Readers
// take the slice under the store's lock and read it outside: what it holds
// never changes.
type stream struct {
	commits []*store.Commit

	// The requests of the commits, as an open hash table: a tag, which is the
	// hash of the request, in the upper half of a slot and a version in the
	// lower; 0 is a free slot. It holds no pointers and lies near its
	// aggregate, which makes it several times faster, and smaller, than one
	// map for all aggregates.
	//
	// Invariant: len(slots) is a power of two, at least twice used.
	slots []uint64
	used  int
}

const firstSlots = 8 // one cache line

func (st *stream) head() int64 {
	if st == nil {
		return 0
	}
	return int64(len(st.commits))
}

// tag returns the hash of a request that find and note want.
func (s *Store) tag(request string) uint32 {
	if request == "" {
		return 0
	}
	return uint32(maphash.String(s.seed, request))
}

// find returns the commit that a request came to, or nil.
func (st *stream) find(request string, tag uint32) *store.Commit {
	if st.used == 0 {
		return nil
	}
	mask := uint32(len(st.slots) - 1)
	for i := tag & mask; st.slots[i] != 0; i = (i + 1) & mask {
		if slot := st.slots[i]; uint32(slot>>32) == tag {
			if c := st.commits[uint32(slot)-1]; c.Request == request {
				return c
			}
		}
	}
	return nil
}

// note adds the request of the newest commit.
func (st *stream) note(tag uint32) {
	if 2*(st.used+1) > len(st.slots) {
		old := st.slots
		st.slots = make([]uint64, max(firstSlots, 2*len(old)))
		for _, slot := range old {
			if slot != 0 {
				st.put(slot)
			}
		}
	}
	st.put(uint64(tag)<<32 | uint64(uint32(len(st.commits))))
	st.used++
}

func (st *stream) put(slot uint64) {
	mask := uint32(len(st.slots) - 1)
	i := uint32(slot>>32) & mask
	for st.slots[i] != 0 {
		i = (i + 1) & mask
	}
	st.slots[i] = slot
}
