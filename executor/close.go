package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	maxLeft     = 1000                  // keys in a report
	answerSoon  = 10 * time.Millisecond // for a slot to answer by itself
	answerAtAll = time.Second
)

// Close stops admission and waits until everything that was admitted has
// finished. Then it lets the goroutines go and returns nil.
//
// If ctx ends first, Close gives up: nothing more is started, the handlers'
// contexts end, and a [*LeftError] tells what was left, by lane and key. The
// goroutines of handlers that still run leave when these return.
//
// It may be called twice, also at the same time.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.stopped
	e.stopped = true
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	if !first {
		select {
		case <-e.ended:
			return e.left
		case <-ctx.Done():
			return fmt.Errorf("executor: closing, while another Close drains: %w", ctx.Err())
		}
	}
	defer close(e.ended)
	for _, l := range lanes {
		l.shut()
	}
	for _, l := range lanes {
		select {
		case <-l.empty:
		case <-ctx.Done():
			e.left = e.giveUp(ctx.Err(), lanes)
			return e.left
		}
	}
	e.retire()
	e.openSlots.Wait()
	e.carriers.Wait()
	e.offloads.Wait()
	e.cancel()
	return nil
}

// giveUp ends the executor with messages left.
func (e *Executor) giveUp(cause error, lanes []*lane) error {
	e.gaveUp.Store(true)
	for _, s := range e.slots {
		if ep := s.epoch.Load(); ep&1 == 1 {
			s.rescue(ep) // so that there is somebody to ask
		}
	}
	err := e.report(cause, lanes)
	e.retire()
	e.cancel()
	return err
}

// retire closes the slots, each when its carrier has nothing to do.
//
//	retire:  closing = true, looks at the slot's state
//	carrier: state = parked, looks at closing
func (e *Executor) retire() {
	e.closing.Store(true)
	for _, s := range e.slots {
		yield("close.retire")
		if s.state.CompareAndSwap(slotParked, slotSeating) {
			s.close()
		} else {
			s.poke()
		}
	}
	e.pool.close()
}

// close ends the slot, which the caller owns: its spares leave, and so do
// carriers that want it back later.
func (s *slot) close() {
	s.spares = 0
	close(s.spare)
	s.state.Store(slotClosed)
	yield("slot.closed")
	s.release()
	s.refuse()
	s.e.openSlots.Done()
}

// report asks the slots what they hold of the lanes.
func (e *Executor) report(cause error, lanes []*lane) error {
	err := &LeftError{Cause: cause}
	ctx, cancel := context.WithTimeout(context.Background(), answerAtAll)
	defer cancel()
	of := map[*lane]bool{}
	for _, l := range lanes {
		of[l] = true
		err.Total += l.unfinished()
	}
	for _, k := range e.inspect(ctx, lanes, maxLeft) {
		if of[k.lane] {
			err.Keys = append(err.Keys, Left{Lane: k.Lane, Key: k.Key, Count: k.Backlog})
		}
	}
	slices.SortStableFunc(err.Keys, func(a, b Left) int { return cmp.Compare(b.Count, a.Count) })
	err.Keys = err.Keys[:min(len(err.Keys), maxLeft)]
	return err
}
