package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/store"
)

// Where a bus is configured, a command is published instead of being put into a
// mailbox, and whoever has its partition decides it: receive.go. The sender gives
// it a request ID, so that a second delivery is a repeat, and learns by that ID
// what it came to: from the receiver, when that is in this process, else from
// the store.
//
//	Send -> middleware -> publish -> bus -> receiver -> mailbox -> … -> outcome in the store
//	                         \____________ waits for the request's outcome ____/

// answerPatience bounds the wait for an answer where the sender's context does
// not: a failure in another process is not told, it is tried again there.
const answerPatience = unknownTypeGrace + time.Minute

// lastAnswer is how long a saga waits for an answer once the runtime stops.
const lastAnswer = time.Second

// The headers of a record. Its value is the command's fields as JSON, its key
// bus.Key, its topic the aggregate. They are frozen: both sides of a rolling
// upgrade read them.
const (
	headCommand     = "wow-command"
	headTenant      = "wow-tenant"
	headID          = "wow-id"
	headRequest     = "wow-request"
	headExpected    = "wow-expected"
	headCorrelation = "wow-correlation"
	headCausation   = "wow-causation"
	headChain       = "wow-chain"
	headMetadata    = "wow-meta-" // and the key
)

// publish sends a command over the bus, and waits for what it comes to.
func (r *Runtime) publish(ctx context.Context, c *Command) (Receipt, error) {
	if in := causeOf(ctx); in != nil && in.target.Aggregate != "" && r.types.commands[c.Body.WowCommand()] != nil {
		// The handler of a command waits for this one and holds a place in the
		// window meanwhile: with all places held that way nothing would be
		// fetched. So it is decided here; versions and request IDs keep it right.
		f := r.flights.get()
		f.Command = *c
		return r.send(ctx, f)
	}
	f := &flight{Command: *c, sender: ctx, cause: causeOf(ctx)}
	name := "a command"
	if t := c.Body.WowCommand(); t != nil {
		name = t.Name
	}
	failed := func(err error) (Receipt, error) {
		return Receipt{}, fmt.Errorf("runtime: sending %s to %s: %w", name, f.Target, err)
	}
	if err := ctx.Err(); err != nil {
		return failed(err)
	}
	if err := r.life.enter(f.cause != nil); err != nil {
		return failed(err)
	}
	defer r.life.leave()
	record, err := r.record(f)
	if err != nil {
		return failed(err)
	}
	if f.unattended {
		if err := r.mayDispatch(ctx, f); err != nil {
			return failed(err)
		}
		if err := r.cfg.Bus.Publish(ctx, record); err != nil {
			return failed(fmt.Errorf("%w: %w", wow.ErrUnknownOutcome, err))
		}
		return Receipt{Target: f.Target, Stage: Sent}, nil
	}
	to := replyKey{f.Target, f.Request}
	told := r.replies.expect(to)
	defer r.replies.forget(to, told)
	receipt, err := awaiting(ctx, f.cause, func(ctx context.Context) (Receipt, error) {
		if err := r.cfg.Bus.Publish(ctx, record); err != nil {
			return Receipt{}, fmt.Errorf("%w: send it again with the same request ID: %w", wow.ErrUnknownOutcome, err)
		}
		return r.outcome(ctx, to, f.Expected, told, f.cause != nil)
	})
	if err != nil && !isRefusal(err) {
		return failed(err)
	}
	if err != nil {
		return receipt, err
	}
	return r.consumers.await(ctx, f.waits, receipt)
}

// awaiting calls f; in a handler it holds no worker meanwhile.
func awaiting[T any](ctx context.Context, in *cause, f func(context.Context) (T, error)) (T, error) {
	if in == nil {
		return f(ctx)
	}
	return executor.Await(ctx, f)
}

// record completes and checks a command, as for a mailbox, and returns what is
// published.
func (r *Runtime) record(f *flight) (bus.Record, error) {
	t := f.Body.WowCommand()
	if t == nil || t.Decode == nil {
		return bus.Record{}, fmt.Errorf("%w: %T cannot be sent over a bus", wow.ErrInvalid, f.Body)
	}
	or(&f.Request, r.commands.newID(r.cfg.Now()))
	if err := r.admitted(t, f); err != nil {
		return bus.Record{}, err
	}
	body, err := json.Marshal(f.Body)
	if err != nil {
		return bus.Record{}, fmt.Errorf("%w: encoding it: %w", wow.ErrInvalid, err)
	}
	if len(body) > store.MaxCommit {
		return bus.Record{}, fmt.Errorf("%w: it has %d bytes, the limit is %d", wow.ErrInvalid, len(body), store.MaxCommit)
	}
	head := map[string]string{headCommand: t.Name, headID: f.Target.ID, headRequest: f.Request}
	for _, h := range [...]struct{ name, value string }{
		{headTenant, f.Target.Tenant}, {headCorrelation, f.Correlation}, {headCausation, f.Causation},
	} {
		if h.value != "" {
			head[h.name] = h.value
		}
	}
	if f.Expected != 0 {
		head[headExpected] = strconv.FormatInt(f.Expected, 10)
	}
	for k, v := range f.Metadata {
		if k == chainKey {
			head[headChain] = v
			continue
		}
		head[headMetadata+k] = v
	}
	return bus.Record{Topic: f.Target.Aggregate, Key: bus.Key(f.Target), Headers: head, Value: body}, nil
}

// admitted is admit, also for an aggregate that is not registered here. What
// only the aggregate knows is checked where it is.
func (r *Runtime) admitted(t *wow.CommandType, f *flight) error {
	if r.types.commands[t] != nil {
		return r.admit(f)
	}
	if c := f.cause; c != nil {
		or(&f.Correlation, c.correlation)
		or(&f.Causation, c.causation)
		r.propagate(f, c)
	}
	if f.Target.ID == "" && t.Mode == wow.Create {
		f.Target.ID = r.createdID(f)
	}
	if err := store.CheckTarget(f.Target); err != nil {
		return err
	}
	if err := f.checkSent(); err != nil {
		return err
	}
	if v, ok := f.Body.(Validatable); ok {
		if err := validate(v); err != nil {
			return err
		}
	}
	return f.chain()
}

// outcome waits for what a request came to. That a command expected a version
// which the aggregate has left is no outcome that is kept, and is seen by that:
// first that it has left it, then that this was not by the command itself.
//
// A saga that stops waits for lastAnswer only: it sends again at its next start.
func (r *Runtime) outcome(ctx context.Context, of replyKey, expected int64, told <-chan reported, inHandler bool) (Receipt, error) {
	var quiet chan struct{}
	if inHandler && r.consumers.env != nil {
		quiet = r.consumers.env.quiet
	}
	var over <-chan time.Time
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerPatience)
		defer cancel()
	}
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	passed, failed := false, error(nil)
	for tries := 1; ; tries++ {
		pause.Reset(pauseBefore(tries, lookFirst, lookMost))
		select {
		case a := <-told:
			return a.receipt, a.err
		case <-pause.C:
		case <-quiet:
			quiet, over = nil, time.After(lastAnswer)
		case <-over:
			return Receipt{}, fmt.Errorf("%w: %w", wow.ErrUnknownOutcome, wow.ErrStopping)
		case <-r.receivers.ended:
			return Receipt{}, fmt.Errorf("%w: the runtime stopped: %w", wow.ErrUnknownOutcome, wow.ErrStopping)
		case <-ctx.Done():
			return Receipt{}, errors.Join(fmt.Errorf("%w: send it again with the same request ID: %w", wow.ErrUnknownOutcome, context.Cause(ctx)), failed)
		}
		settled, err := r.store.Settle(ctx, []store.Settlement{{Target: of.target, Outcome: store.Outcome{Request: of.request}}})
		switch {
		case err != nil:
			if ctx.Err() == nil {
				failed = fmt.Errorf("looking for its outcome: %w", err)
			}
			continue // perhaps the next time
		case settled[0].First == nil && passed:
			return Receipt{}, fmt.Errorf("%w: it is at version %d, the sender expects %d", wow.ErrConflict, settled[0].Head, expected)
		case settled[0].First == nil:
			passed = expected != 0 && settled[0].Head > expected
			continue
		}
		var f flight
		f.Target = of.target
		f.repeat(settled[0].First)
		f.receipt.Repeated = false // as far as is known
		return f.receipt, f.err
	}
}

// replies are the senders of this process that wait for an answer.
type replies struct {
	mu      sync.Mutex
	waiting map[replyKey][]chan reported
	empty   chan struct{} // closed when nobody waits any more; nil: nobody asked
}

type replyKey struct {
	target  wow.Target
	request string
}

// reported is the answer to a command.
type reported struct {
	receipt Receipt
	err     error
}

func (rs *replies) expect(k replyKey) chan reported {
	told := make(chan reported, 1)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.waiting == nil {
		rs.waiting = map[replyKey][]chan reported{}
	}
	rs.waiting[k] = append(rs.waiting[k], told)
	return told
}

func (rs *replies) forget(k replyKey, told chan reported) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	list := rs.waiting[k]
	for i := range list {
		if list[i] == told {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if rs.waiting[k] = list; len(list) == 0 {
		delete(rs.waiting, k)
	}
	if len(rs.waiting) == 0 && rs.empty != nil {
		close(rs.empty)
		rs.empty = nil
	}
}

// answered returns when nobody waits any more, or ctx ends.
func (rs *replies) answered(ctx context.Context) {
	rs.mu.Lock()
	if len(rs.waiting) == 0 {
		rs.mu.Unlock()
		return
	}
	if rs.empty == nil {
		rs.empty = make(chan struct{})
	}
	empty := rs.empty
	rs.mu.Unlock()
	await(ctx, nil, empty)
}

// tell answers all who wait, and reports whether anybody does.
func (rs *replies) tell(k replyKey, receipt Receipt, err error) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, told := range rs.waiting[k] {
		select {
		case told <- reported{receipt, err}:
		default: // it was told already
		}
	}
	return len(rs.waiting[k]) > 0
}

// targetOf is the aggregate that a record is for.
func targetOf(rec *bus.Record) wow.Target {
	return wow.Target{Tenant: rec.Headers[headTenant], Aggregate: rec.Topic, ID: rec.Headers[headID]}
}

// commandOf reads a record: what publish wrote.
func (r *Runtime) commandOf(rec *bus.Record) (c Command, chain int, err error) {
	head := rec.Headers
	invalid := func(format string, args ...any) (Command, int, error) {
		return c, 0, fmt.Errorf("%w: %w", wow.ErrInvalid, fmt.Errorf(format, args...))
	}
	c.Target = targetOf(rec)
	c.Request, c.Correlation, c.Causation = head[headRequest], head[headCorrelation], head[headCausation]
	switch {
	case head[headCommand] == "":
		return invalid("it has no header %s", headCommand)
	case c.Request == "":
		return invalid("it has no header %s: it could not be told from a second one", headRequest)
	case rec.Key != bus.Key(c.Target):
		return invalid("its key is %q, that of its aggregate would be %q", rec.Key, bus.Key(c.Target))
	}
	kind, err := r.types.command(rec.Topic, head[headCommand])
	if err != nil {
		return c, 0, err
	}
	if c.Expected, err = strconv.ParseInt(cmp.Or(head[headExpected], "0"), 10, 64); err != nil {
		return invalid("header %s: %w", headExpected, err)
	}
	if chain, err = strconv.Atoi(cmp.Or(head[headChain], "0")); err != nil || chain < 0 {
		return invalid("header %s is %q", headChain, head[headChain])
	}
	for k, v := range head {
		if key, ok := strings.CutPrefix(k, headMetadata); ok {
			if c.Metadata == nil {
				c.Metadata = map[string]string{}
			}
			c.Metadata[key] = v
		}
	}
	body := rec.Value
	if len(body) == 0 {
		body = []byte("{}")
	}
	err = guarded(func() (err error) { // a decoder is the domain's
		c.Body, err = kind.Decode(json.Unmarshal, c.Target.ID, body)
		return err
	})
	if err != nil {
		return invalid("decoding it: %w", err)
	}
	in := c.Body.WowTarget()
	if in.ID != "" && in.ID != c.Target.ID {
		return invalid("it is for %q, its body says %q", c.Target.ID, in.ID)
	}
	return c, chain, nil
}

// errPanicked marks what no second try is likely to mend.
var errPanicked = errors.New("panic")
