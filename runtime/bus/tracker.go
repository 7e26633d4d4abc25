package bus

import "slices"

// Tracker knows up to where the deliveries of one partition are finished. It is
// for those who write a bus, and has no lock of its own.
type Tracker struct {
	open []int64        // offsets that were delivered, in order, from the first unfinished on
	done map[int64]bool // of them
}

// Deliver notes a delivery; offsets rise, with gaps or without.
func (t *Tracker) Deliver(offset int64) { t.open = append(t.open, offset) }

// Finish notes that a delivery is finished. It returns where to begin after a
// crash, and whether that has moved. A delivery that is not open is passed over.
func (t *Tracker) Finish(offset int64) (next int64, moved bool) {
	if _, open := slices.BinarySearch(t.open, offset); !open {
		return 0, false
	}
	if t.done == nil {
		t.done = map[int64]bool{}
	}
	t.done[offset] = true
	for len(t.open) > 0 && t.done[t.open[0]] {
		next, moved = t.open[0]+1, true
		delete(t.done, t.open[0])
		t.open = t.open[1:]
	}
	return next, moved
}

// Open is how many deliveries are not finished, or finished behind one that is
// not.
func (t *Tracker) Open() int { return len(t.open) }

// Full reports whether the partition gives no more for now: see MaxOpen.
func (t *Tracker) Full() bool { return len(t.open) >= MaxOpen }
