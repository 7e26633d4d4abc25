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
// contexts end, and a [*LeftError] tells what was left, by lane and key.
// Handlers that still run then are not waited for. A second Close does, or
// until its own ctx ends, and returns nil when nothing runs any more.
//
// It may be called from several goroutines.
func (e *Executor) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.stopped
	e.stopped = true
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	if !first {
		return e.closeAgain(ctx)
	}
	defer close(e.ended)
	for _, l := range lanes {
		l.shut()
	}
	for _, l := range lanes {
		if err := l.drained(ctx); err != nil {
			return e.giveUp(err, lanes)
		}
	}
	e.retire()
	e.leave()
	e.cancel()
	return nil
}

// drained waits until the lane is empty.
func (l *lane) drained(ctx context.Context) error {
	select {
	case <-l.empty: // though ctx may have ended too
		return nil
	default:
	}
	select {
	case <-l.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave waits until no goroutine of the executor is left.
func (e *Executor) leave() {
	e.openSlots.Wait() // from then on nobody starts a carrier
	e.carriers.Wait()
	e.offloads.Wait()
}

// closeAgain waits for the first Close, and for what it left running.
func (e *Executor) closeAgain(ctx context.Context) error {
	left := make(chan struct{})
	go func() {
		defer close(left)
		<-e.ended
		e.leave()
	}()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("executor: closing, waiting for the handlers that still run: %w", ctx.Err())
	}
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
	if err.Total == 0 { // the last message finished meanwhile
		return nil
	}
	return err
}

// retire closes the slots, each when its carrier has nothing to do.
//
//	retire:  closing = true, looks at the slot's state
//	carrier: state = parked, looks at closing
func (e *Executor) retire() {
	e.closing.Store(true)
	close(e.quit)
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
func (e *Executor) report(cause error, lanes []*lane) *LeftError {
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
