package runtime

import "sync"

// markWindow is how far a consumer may run ahead of its oldest unfinished
// commit. A larger window hides slow aggregates longer; a crash repeats at most
// this much. It is a power of two.
const markWindow = 4096

// watermark knows below which position a consumer has finished everything:
// that position, and no later one, may become its checkpoint.
//
// One goroutine takes positions, in order and without gaps; any goroutine
// finishes them, in any order. All methods may be called at the same time.
type watermark struct {
	mu sync.Mutex
	// Invariant: low <= taken <= low + markWindow, and the bit of low+1 is not set.
	low   int64                    // everything up to here is finished
	taken int64                    // everything up to here was taken
	done  [markWindow / 64]uint64  // bit seq%markWindow: a seq in (low, taken] is finished
	short bool                     // the taker found no room and waits for some
	gone  error                    // nobody finishes anything any more, and why
	waits map[int64][]chan<- error // who waits for a position to be finished
}

// start puts the mark where a checkpoint was.
func (w *watermark) start(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.low, w.taken = seq, seq
}

// room returns how many positions may be taken now, at most want. When it is
// none, a later finish says that there is room again.
func (w *watermark) room(want int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(int64(want), w.low+markWindow-w.taken)
	w.short = n == 0
	return int(n)
}

// take notes that the next n positions are in the consumer's hands. There must
// be room for them. It reports whether all before them were finished.
func (w *watermark) take(n int) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken+int64(n) > w.low+markWindow {
		panic("runtime: a consumer took more commits than its window has room for")
	}
	first = w.low == w.taken
	w.taken += int64(n)
	return first
}

// finish notes that one position is finished: handled (nil), or set aside, in
// which case err tells those who wait for it. It reports whether the mark moved
// and whether the taker should be woken.
//
// The taker is woken when a sixteenth of the window is free, not at the first
// free place: else each finished commit would wake it for one more.
func (w *watermark) finish(seq int64, err error) (moved, wake bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq <= w.low || seq > w.taken {
		return false, false
	}
	w.tell(seq, err)
	if seq != w.low+1 {
		w.done[seq%markWindow/64] |= 1 << (seq % 64)
		return false, false
	}
	w.low++
	w.absorb()
	return true, w.wanted()
}

// pass notes that the positions from..to are finished, which were none of them
// before. It reports what finish does.
func (w *watermark) pass(from, to int64) (moved, wake bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waits) > 0 {
		for seq := from; seq <= to; seq++ {
			w.tell(seq, nil)
		}
	}
	if from == w.low+1 {
		w.low = to
		w.absorb()
		return true, w.wanted()
	}
	for seq := from; seq <= to; seq++ {
		w.done[seq%markWindow/64] |= 1 << (seq % 64)
	}
	return false, false
}

// absorb moves the mark over what is finished above it; w.mu is held.
func (w *watermark) absorb() {
	for w.low < w.taken {
		next := w.low + 1
		word, bit := &w.done[next%markWindow/64], uint64(1)<<(next%64)
		if *word&bit == 0 {
			return
		}
		*word &^= bit
		w.low = next
	}
}

// wanted reports once that a taker who found no room has some; w.mu is held.
func (w *watermark) wanted() bool {
	if !w.short || w.low+markWindow-w.taken < markWindow/16 {
		return false
	}
	w.short = false
	return true
}

// checkpoint returns the position below which everything is finished.
func (w *watermark) checkpoint() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.low
}

// progress returns the checkpoint and the last position taken.
func (w *watermark) progress() (checkpoint, taken int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.low, w.taken
}

// isDone reports whether one position is finished. The caller holds mu.
func (w *watermark) isDone(seq int64) bool {
	return seq <= w.low || seq <= w.taken && w.done[seq%markWindow/64]&(1<<(seq%64)) != 0
}

// watch has to told what finish says about seq. It reports false when seq is
// finished already. to must have room for one more value.
func (w *watermark) watch(seq int64, to chan<- error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isDone(seq) {
		return false
	}
	if w.gone != nil {
		to <- w.gone
		return true
	}
	if w.waits == nil {
		w.waits = map[int64][]chan<- error{}
	}
	w.waits[seq] = append(w.waits[seq], to)
	return true
}

// abandon ends all waits with err, also those to come.
func (w *watermark) abandon(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = err
	for seq := range w.waits {
		w.tell(seq, err)
	}
}

// unwatch undoes watch. It is no error when to was told already.
func (w *watermark) unwatch(seq int64, to chan<- error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.waits[seq]
	for i, c := range list {
		if c == to {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if w.waits[seq] = list; len(list) == 0 {
		delete(w.waits, seq)
	}
}

// tell ends the waits for seq; w.mu is held.
func (w *watermark) tell(seq int64, err error) {
	if len(w.waits) == 0 {
		return
	}
	for _, c := range w.waits[seq] {
		c <- err
	}
	delete(w.waits, seq)
}
