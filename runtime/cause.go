package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/wowgen/wow"
)

// maxDepth bounds how many handlers may wait for each other through commands
// that they send.
const maxDepth = 100

// cause is what a handler's context knows about the message being handled. A
// command sent with that context belongs to the same conversation.
type cause struct {
	correlation string            // of the conversation
	causation   string            // of what the handler sends: the message itself
	metadata    map[string]string // of the message; some of it goes on
	target      wow.Target        // of a command being decided; of another message, its tenant alone
	parent      *cause            // of the sender, where that waits for this message
	depth       int32             // number of parents
	chain       int32             // what a command adds to the chain of sagas: see chainMax
}

type causeKey struct{}

// causeOf returns the cause in ctx, or nil outside of any handler.
func causeOf(ctx context.Context) *cause {
	c, _ := ctx.Value(causeKey{}).(*cause)
	return c
}

// withCause returns the context of a consumer's handler: commands sent with it
// are caused by the message, and make its chain longer.
func withCause(ctx context.Context, m *wow.CommitMeta, causation string, chain int) context.Context {
	return context.WithValue(ctx, causeKey{}, &cause{
		correlation: m.Correlation,
		causation:   causation,
		metadata:    m.Metadata,
		target:      wow.Target{Tenant: m.Target.Tenant},
		chain:       int32(chain),
	})
}

// waitsFor reports whether a handler of target waits in this chain, so that a
// command sent to it now would wait for itself.
func (c *cause) waitsFor(target *wow.Target) bool {
	for ; c != nil; c = c.parent {
		if c.target.Aggregate != "" && c.target == *target {
			return true
		}
	}
	return false
}

// turn is the context of one decision. It is the executor's, so that wow.Await
// works, with the sender's deadline, cancellation and values. It is made for
// each decision and never used again: a handler may keep it by mistake.
type turn struct {
	context.Context                 // the executor's
	sender          context.Context // of Send
	cause           cause

	mu     sync.Mutex
	both   context.Context // ends with either; nil until somebody asks for it
	cancel func()
}

// Value looks for the cause here, then where the handler runs, then at the
// sender's.
func (t *turn) Value(key any) any {
	if _, ok := key.(causeKey); ok {
		return &t.cause
	}
	if v := t.Context.Value(key); v != nil {
		return v
	}
	return t.sender.Value(key)
}

// Deadline is the sender's.
func (t *turn) Deadline() (time.Time, bool) { return t.sender.Deadline() }

// Done ends with the sender's context, with a forced stop, and with the turn.
func (t *turn) Done() <-chan struct{} { return t.either().Done() }

// Err is nil as long as Done is open.
func (t *turn) Err() error { return t.either().Err() }

// either returns a context that ends with the sender's or the executor's. Most
// handlers never ask, so it is made when one does.
func (t *turn) either() context.Context {
	if t.sender.Done() == nil {
		return t.Context
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.both == nil {
		ctx, cancel := context.WithCancel(t.sender)
		stop := context.AfterFunc(t.Context, cancel)
		t.both, t.cancel = ctx, func() { stop(); cancel() }
	}
	return t.both
}

// end is called when the decision is over.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
