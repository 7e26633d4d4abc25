package executor

import (
	"runtime"
	"time"
)

const (
	defaultSpin = 150 * time.Microsecond
	maxSpin     = time.Second
	spinTurns   = 1000 // looks in one spin at most, should the clock stand still
	streamLooks = 20   // looks at the end of a stream
	streamMin   = 8    // messages that make a stream
	spinDelay   = 40   // turns of an empty loop between looks
	hitWithin   = 400  // ns: a Gosched that took longer let another goroutine run
	maxPenalty  = 1023 // idle times without a spin
	sampleEvery = 8    // of the spins left out, one is measured
)

// A spinner decides whether a slot that ran dry looks for work a while before
// it is parked. A parked goroutine costs its waker up to 25 us and its message
// 100; a spinning one costs a CPU, which the sender may need. So a spin must
// pay: one that ended without a message, or with a message from a goroutine
// that had to wait for this very P, is a miss, and after n misses in a row
// 2^n - 1 idle times pass without. Of those one in eight is timed, and if it
// ended early enough for a spin to have paid, spinning starts again.
type spinner struct {
	skip, penalty int
}

// linger looks for work a little longer; true: there is some.
func (s *slot) linger() bool {
	if s.clock.streak+s.clock.messages >= streamMin {
		// A stream: the next message is probably being written. But not if
		// its sender waits for us.
		if s.dirty == nil || s.dirty.lane.flags.Load() == 0 {
			for range streamLooks {
				if s.look() {
					return true
				}
				pause(spinDelay)
			}
		}
		return s.look()
	}
	if s.e.cfg.Spin <= 0 {
		return false
	}
	if s.spin.skip > 0 {
		s.spin.skip--
		return false
	}
	if !s.e.spinning.CompareAndSwap(false, true) { // one of all slots at a time
		return false
	}
	defer s.e.spinning.Store(false)
	began := nanotime()
	last := began
	for range spinTurns {
		runtime.Gosched()
		now := nanotime()
		if s.look() {
			if now-last > hitWithin {
				s.spin.miss()
			} else {
				s.spin.penalty /= 2
			}
			return true
		}
		if now-began > int64(s.e.cfg.Spin) {
			break
		}
		pause(spinDelay)
		last = nanotime()
	}
	s.spin.miss()
	return false
}

func (p *spinner) miss() {
	p.penalty = min(2*p.penalty+1, maxPenalty)
	p.skip = p.penalty
}

// sample says whether to time the coming idle time, and since when.
func (p *spinner) sample() (bool, int64) {
	if p.skip%sampleEvery != sampleEvery-1 {
		return false, 0
	}
	return true, nanotime()
}

// learn is told how long a sampled idle time was.
func (p *spinner) learn(idle, spin int64) {
	if idle > 5_000 && idle < 2*spin {
		p.skip, p.penalty = 0, 0
	}
}

// look polls if there seems to be something.
func (s *slot) look() bool {
	if s.nothing() {
		return false
	}
	s.poll()
	return s.qhead != nil
}

// pause passes a few ns.
//
//go:noinline
func pause(n int) {
	for range n {
	}
}
