package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// flight is one command from Send to its answer. Flights are pooled: whatever
// user code gets is a copy, or is made for one decision (see turn).
//
// The sender owns it until it enters the lane, the mailbox until the answer,
// the sender again after that. A sender that leaves early leaves it to the
// mailbox.
type flight struct {
	Command
	handler *handler
	sender  context.Context
	cause   *cause // of the sender's context, if it is a handler

	step   step
	tries  int           // decisions so far
	cached *cached       // the state that the decision is made on
	id     string        // of the commit, kept over all tries
	out    Decision      // what the handler decided
	meta   wow.EventMeta // of the event being applied
	commit *store.Commit // being appended
	bytes  int           // of its events
	flat   bool          // its events are what their bytes decode to
	// What was decided instead of a commit; neither is a no-op.
	refusal  *wow.Refusal
	conflict error // the sender expects another version
	unsure   int64 // when an append first had no answer, microseconds; 0 if none
	resume   executor.Completion

	receipt Receipt // the answer
	err     error
	hold    atomic.Int32  // see below
	pool    *flightPool   // where it comes from
	done    chan struct{} // gets one token with the answer
}

// step says what the mailbox does next with a command.
type step uint8

const (
	stepBegin  step = iota // nothing is done yet
	stepDecide             // load what is missing and decide
	stepAppend             // decided, encoded and applied: append it
	stepSettle             // nothing to append: confirm that
)

// What hold says. It decides the races between a sender that leaves, a mailbox
// that begins or answers, and a stop by force.
//
//	queued -> claimed -> answered   as a rule
//	queued -> gone                  the sender left first: nothing is run
//	claimed -> left                 the sender left: the answer is for nobody
//	queued, claimed -> cut          the runtime stopped by force
const (
	idle int32 = iota // not in a lane: in the pool, or the sender's
	queued
	claimed
	answered
	gone
	left
	cut
)

// flightPool keeps flights for the next commands of one runtime. They hold a
// channel, which must not wander from one synctest bubble into another.
type flightPool struct {
	sync.Pool
	mu    sync.Mutex
	all   []weak.Pointer[flight] // every flight there is, in use or not
	prune int                    // length of all at which the dead are taken out
}

func (p *flightPool) get() *flight {
	if f, ok := p.Get().(*flight); ok {
		return f
	}
	f := &flight{pool: p, done: make(chan struct{}, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= p.prune {
		p.all = slices.DeleteFunc(p.all, func(w weak.Pointer[flight]) bool { return w.Value() == nil })
		p.prune = 2*len(p.all) + 64
	}
	p.all = append(p.all, weak.Make(f))
	return f
}

// cut releases every sender that waits. Their flights are not used again: the
// mailbox may still have them.
func (p *flightPool) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if f := w.Value(); f != nil && (f.hold.CompareAndSwap(queued, cut) || f.hold.CompareAndSwap(claimed, cut)) {
			f.done <- struct{}{}
		}
	}
}

// free gives the flight back. What is not cleared here is set by the next
// command before it is looked at: clearing everything twice costs more than the
// rest of a flight.
func (f *flight) free() {
	f.Body, f.Metadata, f.meta.Metadata, f.waits, f.unattended = nil, nil, nil, nil, false
	f.handler, f.sender, f.cause = nil, nil, nil
	f.step, f.tries, f.bytes, f.unsure = 0, 0, 0, 0
	f.cached, f.commit, f.refusal, f.conflict, f.err = nil, nil, nil, nil, nil
	f.id, f.resume = "", executor.Completion{}
	events := f.out.events
	clear(events)
	f.out = Decision{}
	if cap(events) <= 16 {
		f.out.events = events[:0]
	}
	f.hold.Store(idle)
	f.pool.Put(f)
}

// claim reports whether the sender still waits, which it may not stop to do
// unnoticed from now on.
func (f *flight) claim() bool { return f.hold.CompareAndSwap(queued, claimed) }

// fail makes err the answer, as a technical failure unless it has a kind of its
// own. It returns the outcome of the message.
func (f *flight) fail(doing string, err error) executor.Outcome {
	if wow.Code(err) == "failed" && !errors.Is(err, wow.ErrFailed) {
		err = fmt.Errorf("%w: %w", wow.ErrFailed, err)
	}
	f.err = fmt.Errorf("runtime: %s for %s of %s: %w", doing, f.handler.Command.Name, f.Target, err)
	return executor.Done(nil)
}

// answer hands the answer to the sender. The flight is the sender's then.
func (f *flight) answer() {
	if f.hold.CompareAndSwap(claimed, answered) {
		f.done <- struct{}{}
		return
	}
	if h := f.hold.Load(); h == gone || h == left {
		f.free()
	}
}

// wait returns when there is an answer. It reports an error, and the flight is
// not the sender's any more, when ctx or the runtime ends before.
func (f *flight) wait(ctx context.Context) error {
	done := ctx.Done()
	if done == nil {
		<-f.done
	} else {
		select {
		case <-f.done:
		case <-done:
			name, target := f.handler.Command.Name, f.Target // f may be somebody else's in a moment
			if f.hold.CompareAndSwap(queued, gone) {
				return fmt.Errorf("runtime: %s was not run by %s: %w", name, target, context.Cause(ctx))
			}
			if f.hold.CompareAndSwap(claimed, left) {
				return fmt.Errorf("runtime: waiting for %s of %s: %w: %w", name, target, wow.ErrUnknownOutcome, context.Cause(ctx))
			}
			<-f.done // it was answered, or cut, at the same moment
		}
	}
	if f.hold.Load() == cut {
		return fmt.Errorf("runtime: waiting for an answer: %w: the runtime was stopped by force: %w", wow.ErrUnknownOutcome, wow.ErrStopping)
	}
	return nil
}
