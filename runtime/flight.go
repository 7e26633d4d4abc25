package runtime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

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
	cause   *cause               // of the sender's context, if it is a handler
	then    func(Receipt, error) // gets the answer, where nobody waits for it

	step   step
	tries  int           // decisions so far
	cached *cached       // the state that the decision is made on
	id     string        // of the commit, kept over all tries
	out    Decision      // what the handler decided
	meta   wow.EventMeta // of the event being applied
	commit *store.Commit // being appended
	bytes  int           // of its events
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

// What hold says. It decides two races: a sender that leaves against a mailbox
// that begins, and against one that answers.
//
//	queued -> claimed -> answered   as a rule
//	queued -> gone                  the sender left first: nothing is run
//	claimed -> left                 the sender left: the answer is for nobody
const (
	queued int32 = iota
	claimed
	answered
	gone
	left
)

// flightPool keeps flights for the next commands of one runtime. They hold a
// channel, which must not wander from one synctest bubble into another.
type flightPool struct{ sync.Pool }

func (p *flightPool) get() *flight {
	if f, ok := p.Get().(*flight); ok {
		return f
	}
	return &flight{pool: p, done: make(chan struct{}, 1)}
}

// free gives the flight back, with nothing of the command left in it.
func (f *flight) free() {
	pool, done, events := f.pool, f.done, f.out.events
	clear(events)
	*f = flight{pool: pool, done: done}
	if cap(events) <= 16 {
		f.out.events = events[:0]
	}
	pool.Put(f)
}

// claim reports whether the sender still waits, which it may not stop to do
// unnoticed from now on.
func (f *flight) claim() bool { return f.hold.CompareAndSwap(queued, claimed) }

// fail makes err the answer, as a technical failure unless it has a kind of its
// own. It returns the outcome of the message.
func (f *flight) fail(doing string, err error) executor.Outcome {
	if wow.Code(err) == "failed" {
		err = fmt.Errorf("%w: %w", wow.ErrFailed, err)
	}
	f.err = fmt.Errorf("runtime: %s for %s of %s: %w", doing, f.handler.Command.Name, f.Target, err)
	return executor.Done(nil)
}

// answer hands the answer to the sender. The flight is the sender's then.
func (f *flight) answer() {
	switch {
	case f.then != nil:
		f.then(f.receipt, f.err)
		f.free()
	case f.hold.CompareAndSwap(claimed, answered):
		f.done <- struct{}{}
	default: // gone or left
		f.free()
	}
}

// wait returns when there is an answer. It reports an error, and the flight is
// not the sender's any more, when ctx or the runtime ends before.
func (f *flight) wait(ctx context.Context, dead <-chan struct{}) error {
	var cause error
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-dead:
		cause = wow.ErrStopping
	}
	name, target := f.handler.Command.Name, f.Target // f may be somebody else's in a moment
	switch {
	case f.hold.CompareAndSwap(queued, gone):
		return fmt.Errorf("runtime: %s was not run by %s: %w", name, target, cause)
	case f.hold.CompareAndSwap(claimed, left):
		return fmt.Errorf("runtime: waiting for %s of %s: %w: %w", name, target, wow.ErrUnknownOutcome, cause)
	}
	<-f.done // it was answered at the same moment
	return nil
}
