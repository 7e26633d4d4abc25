package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// saga sends the commands of one saga consumer.
//
// Its message is finished when each command has an outcome, and may be run
// again at any time before: after a crash, a retry, or a park. So each command
// has a request ID that is the same in every run. What was sent before is not
// done twice then, and answers as it did: a duplicate is a success, a refusal
// is the same refusal.
type saga struct {
	name      string
	table     *table
	onRefused func(ctx context.Context, in *RefusedCommand, out *Outbox) error
	// ignore takes a refusal that no function is for as an outcome like any
	// other. Else it parks the message.
	ignore bool
	// send sends a command under a request ID and waits for its outcome.
	send func(ctx context.Context, cmd wow.Sendable, request string) error
	// later keeps what is to be sent later.
	later delays
}

// reply is what a saga's function returned, to what.
type reply struct {
	function string
	causeID  string        // see sagaRequest
	cause    wow.EventMeta // the event that all began with
	chain    int           // how much longer the commands make their chain
	order    *int64        // of the next delay that is set or taken back
}

// sagaRequest returns the ID under which a saga sends a command: derived from
// the names of the consumer and the function, the cause, and the index of the
// command among those that the function returned.
//
// cause is "commit/event" with the ID of the commit and the index of the event
// in it, "commit/state" for a function that takes the state, and the request ID
// of the refused command for one that takes a refusal.
//
// It is stored with each outcome: changing it would send old commands again.
func sagaRequest(consumer, function, cause string, index int) string {
	return derivedID(consumer, function, cause, strconv.Itoa(index))
}

// deliver sends what the function of the task's next step returned, and waits
// for the outcomes.
func (sg *saga) deliver(ctx context.Context, t *task, s *subscriber) error {
	order := int64(t.at) * orderOfStep
	to := &reply{function: s.Name, cause: wow.EventMeta{CommitMeta: commitMeta(t.commit), Index: t.at}, chain: 1, order: &order}
	to.causeID = to.cause.ID()
	if s.State != nil {
		to.cause.Index = len(t.commit.Events) - 1
		to.causeID = to.cause.Commit + "/state"
	}
	return sg.sendAll(ctx, t.out.commands, to)
}

// sendAll sends commands in order, and sets those to be sent later. It stops at
// the first without an outcome: those before are duplicates when it is called
// again.
func (sg *saga) sendAll(ctx context.Context, commands []wow.Sendable, to *reply) error {
	if len(commands) == 0 {
		return nil
	}
	caused := withCause(ctx, &to.cause.CommitMeta, to.cause.ID(), to.chain)
	var timers []store.Timer
	for i, cmd := range commands {
		if cmd == nil {
			return fmt.Errorf("runtime: saga %s: command %d of %s is nil (%w)", sg.name, i, to.function, wow.Permanent)
		}
		request := sagaRequest(sg.name, to.function, to.causeID, i)
		if d, ok := cmd.(wow.Deferred); ok {
			timer, err := sg.timer(d, request, to)
			if err != nil {
				return fmt.Errorf("runtime: saga %s: command %d of %s: %w (%w)", sg.name, i, to.function, err, wow.Permanent)
			}
			timers = append(timers, timer)
			continue
		}
		err := sg.send(caused, cmd, request)
		if err == nil {
			continue
		}
		if !isRefusal(err) {
			return fmt.Errorf("runtime: saga %s: sending %T to %s: %w", sg.name, cmd, cmd.WowTarget(), hopeless(err))
		}
		if err := sg.refused(ctx, cmd, wow.RefusalOf(err), request, to); err != nil {
			return err
		}
	}
	return sg.later.set(ctx, timers)
}

// refused tells the saga that its command was refused, and sends what it
// returns to that.
func (sg *saga) refused(ctx context.Context, cmd wow.Sendable, reason *wow.Refusal, request string, to *reply) error {
	s := sg.table.refusal(cmd.WowCommand())
	if s == nil {
		if sg.ignore {
			return nil
		}
		return fmt.Errorf("runtime: saga %s: %T was refused by %s, and no method takes that: %w (%w)", sg.name, cmd, cmd.WowTarget(), reason, wow.Permanent)
	}
	var out Outbox
	in := &RefusedCommand{Target: cmd.WowTarget(), Body: cmd, Reason: reason, Cause: to.cause}
	caused := withCause(ctx, &to.cause.CommitMeta, to.cause.ID(), to.chain+1)
	err := guarded(func() error { return sg.onRefused(caused, in, &out) })
	if err == nil && out.work.run != nil {
		_, err = executor.Await(caused, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, guarded(func() error { return out.work.run(ctx) })
		})
	}
	if err != nil {
		return err
	}
	return sg.sendAll(ctx, out.commands, &reply{function: s.Name, causeID: request, cause: to.cause, chain: to.chain + 1, order: to.order})
}

// isRefusal reports whether a command was refused by its aggregate. One that
// failed is not, whatever its handler returned on the last try.
func isRefusal(err error) bool {
	return errors.As(err, new(*wow.Refusal)) && !errors.Is(err, wow.ErrFailed)
}

// hopeless marks errors that sending again does not mend.
func hopeless(err error) error {
	if errors.Is(err, wow.ErrInvalid) || errors.Is(err, wow.ErrUnknownType) {
		return fmt.Errorf("%w (%w)", err, wow.Permanent)
	}
	return err
}
