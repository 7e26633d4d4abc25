package executor

import (
	"bytes"
	"fmt"
	"runtime"
	"time"
)

// watch makes sure that the monitor runs while a slot is held. There is no
// ticking when all are parked:
//
//	monitor: watching = 0, looks at the slots' states
//	carrier: state = held, looks at watching
//
// so one of them sees the other, and the CAS decides who goes on.
func (e *Executor) watch() {
	if e.watching.Load() != 0 || !e.watching.CompareAndSwap(0, 1) {
		return
	}
	e.tick.Store(millis())
	if e.cfg.StallAfter < 0 || e.closing.Load() {
		e.watching.Store(0) // nobody to stop; every wake sets the clock
		return
	}
	e.carriers.Go(e.monitor)
}

// monitor is a goroutine that looks at the slots every StallAfter. A turn that
// it finds twice has held its slot for that long: the monitor takes the slot
// from it, as an Await of the handler would have given it away.
//
// The CAS of the epoch decides between the monitor and the returning carrier.
// The carrier compares with its own epoch, never with the slot's: by then the
// slot may be in another carrier's turn.
func (e *Executor) monitor() {
	seen := make([]uint64, len(e.slots))
	ticker := time.NewTicker(e.cfg.StallAfter)
	defer ticker.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-ticker.C:
		}
		e.tick.Store(millis())
		for i, s := range e.slots {
			ep := s.epoch.Load()
			if ep&1 == 0 || ep != seen[i] {
				seen[i] = ep
				continue
			}
			yield("monitor.take")
			s.rescue(ep)
		}
		if e.idle() {
			yield("monitor.idle")
			e.watching.Store(0)
			yield("monitor.asleep")
			if e.idle() || !e.watching.CompareAndSwap(0, 1) {
				return
			}
		}
	}
}

// idle reports whether no slot is held.
func (e *Executor) idle() bool {
	for _, s := range e.slots {
		if st := s.state.Load(); st == slotHeld || st == slotSeating {
			return false
		}
	}
	return true
}

// rescue takes the slot from the turn with this epoch.
func (s *slot) rescue(ep uint64) bool {
	if !s.epoch.CompareAndSwap(ep, ep+1) {
		return false
	}
	c := s.cur
	c.turn.mu.Lock()
	if c.turn.state == turnHeld {
		c.turn.state, c.turn.waits = turnAway, 0
	}
	c.turn.mu.Unlock()
	s.depart(c)
	s.clock.stop()
	// From now on credits of finished messages are not held back by the next
	// handler of a turn: it may be one like this.
	c.box.port.lane.chunk.Store(1)
	l, cell := c.box.port.lane, c.box.first
	key := l.body.key(cell)
	if s.give(true) {
		s.e.stalled(l, key, c)
	}
	return true
}

// reportAfter is how many times StallAfter a handler must have blocked, half
// of it at the same place, to be reported. Taking a slot in vain costs a few
// microseconds; a report says that somebody should change their program, and
// on a busy machine anything may take a millisecond now and then.
const reportAfter = 10

// lookEvery is the least time between two looks at the stacks of all
// goroutines, which stop the program. On a machine without CPU to spare many
// handlers seem to stall, and looking at each would make it worse.
const lookEvery = int64(time.Second)

// stalled counts a stall and reports the first of each lane, if it lasts. The
// caller owns the slot that was taken from c.
func (e *Executor) stalled(l *lane, key any, c *carrier) {
	e.stalls.Add(1)
	l.stalls.Add(1)
	if e.cfg.OnStall == nil || !l.reported.CompareAndSwap(false, true) {
		return
	}
	now, last := nanotime(), e.looked.Load()
	if last != 0 && now-last < lookEvery || !e.looked.CompareAndSwap(last, now) {
		l.reported.Store(false) // another one is looked at: this lane's turn comes
		return
	}
	e.carriers.Go(func() {
		var stack []byte
		for range 2 {
			half := time.NewTimer(reportAfter / 2 * e.cfg.StallAfter)
			select {
			case <-e.quit:
				half.Stop()
				return
			case <-half.C:
			}
			before := stack
			stack = blockedStack(c)
			if stack == nil || before != nil && !bytes.Equal(stack, before) {
				l.reported.Store(false) // it has returned, or goes on, or had no CPU
				return
			}
		}
		e.cfg.OnStall(Stall{Lane: l.name, Key: key, For: reportAfter * e.cfg.StallAfter, Stack: stack})
	})
}

// maxStacks bounds the memory for a stall's report.
const maxStacks = 1 << 20

// notBlocked are the signs in a stack of a handler that is not to blame: it
// computes, the Go runtime holds it up, or it waits as it should.
var notBlocked = []string{
	"[running", "[runnable", "[semacquire", "[preempted", "[GC ",
	"executor.Await[", "executor.(*carrier).retake",
}

// blockedStack returns the stack of the goroutine that runs a carrier's
// handler, if it is blocked and not in an Await. A stack names the carrier: it
// is the receiver of what called the handler.
func blockedStack(c *carrier) []byte {
	buf := make([]byte, maxStacks)
	buf = buf[:runtime.Stack(buf, true)]
	visit := fmt.Appendf(nil, "executor.(*carrier).visit(%p", c)
	settle := fmt.Appendf(nil, "executor.(*carrier).settle(%p", c)
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if !bytes.Contains(stack, visit) && !bytes.Contains(stack, settle) {
			continue
		}
		for _, s := range notBlocked {
			if bytes.Contains(stack, []byte(s)) {
				return nil
			}
		}
		return bytes.Clone(stack)
	}
	return nil
}

// started is the zero of the executor's clocks.
var started = time.Now()

func nanotime() int64 { return int64(time.Since(started)) }
func millis() uint32  { return uint32(nanotime() / int64(time.Millisecond)) }
