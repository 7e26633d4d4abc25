package wowtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
)

// Reaction is what the consumers made of a commit or a refusal.
type Reaction struct {
	s        *Scenario
	step     []string
	commands wow.Commands
	err      error
}

// consumer is a projection, a processor or a saga.
type consumer struct {
	name      string
	past      bool // it has seen what is given
	saga      bool
	tx        *wowrt.Transaction // of a projection that keeps its own progress
	functions []wowrt.Function
	onEvent   func(context.Context, *wowrt.Recorded, *wowrt.Outbox) error
	onState   func(context.Context, *wowrt.StateRecorded, *wowrt.Outbox) error
	onRefused func(context.Context, *wowrt.RefusedCommand, *wowrt.Outbox) error
}

// consumers lists what is registered, projections first: sagas and processors
// may ask them.
func (a *App) consumers() []consumer {
	var all []consumer
	reacts := func(name string, past bool, fs []wowrt.Function,
		onEvent func(context.Context, *wowrt.Recorded, *wowrt.Reaction) error,
		onState func(context.Context, *wowrt.StateRecorded, *wowrt.Reaction) error) {
		all = append(all, consumer{name: name, past: past, functions: fs,
			onEvent: func(ctx context.Context, in *wowrt.Recorded, out *wowrt.Outbox) error {
				return onEvent(ctx, in, &out.Reaction)
			},
			onState: func(ctx context.Context, in *wowrt.StateRecorded, out *wowrt.Outbox) error {
				return onState(ctx, in, &out.Reaction)
			},
		})
	}
	for _, p := range a.handlers.Projections {
		reacts(p.Name, true, p.Functions, p.OnEvent, p.OnState)
		all[len(all)-1].tx = p.Transaction
	}
	for _, p := range a.handlers.Processors {
		reacts(p.Name, false, p.Functions, p.OnEvent, p.OnState)
	}
	for _, s := range a.handlers.Sagas {
		all = append(all, consumer{name: s.Name, saga: true, functions: s.Functions, onEvent: s.OnEvent, onState: s.OnState, onRefused: s.OnRefused})
	}
	return all
}

// WhenEvent hands one commit with these events, of the aggregate with this ID,
// to every registered consumer. Projections have seen what is given;
// processors and sagas see the new commit only.
func (s *Scenario) WhenEvent(id string, events ...wow.DomainEvent) *Reaction {
	s.app.t.Helper()
	if len(events) == 0 {
		s.app.t.Fatalf("wowtest: handing over a commit: it has no events")
	}
	return s.WhenCommit(s.app.targetOf(id, events[0]), events...)
}

// WhenCommit is [Scenario.WhenEvent] where the events alone do not say which
// aggregate they come from, or the aggregate has tenants.
func (s *Scenario) WhenCommit(t wow.Target, events ...wow.DomainEvent) *Reaction {
	s.app.t.Helper()
	s.before = s.app.commits
	s.app.commits += int64(len(s.given)) + 1
	r := &Reaction{s: s, step: lines(events)}
	handled := false
	for _, c := range s.app.consumers() {
		if !c.subscribes(t, events) {
			continue
		}
		handled = true
		if c.past {
			for i, e := range s.given {
				if _, err := s.hand(c, t, int64(i+1), []wow.DomainEvent{e}); err != nil {
					s.app.t.Fatalf("wowtest: handing what is given to %s: %s: %v", c.name, show(e), err)
				}
			}
		}
		version := int64(len(s.given) + 1)
		cmds, err := s.hand(c, t, version, events)
		if err != nil {
			r.err = errors.Join(r.err, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		if c.saga {
			again, err := s.hand(c, t, version, events)
			r.sameAgain(c, cmds, again, err)
		}
		r.commands = append(r.commands, cmds...)
	}
	if !handled {
		s.app.t.Fatalf("wowtest: handing over %s of %s: nobody registered handles it; pass the consumer's Register function to New", typeName(events[0]), t.Aggregate)
	}
	return r
}

// WhenRefused tells the sagas that a command of theirs was refused. refusal is
// one of [wow.Refuse], or any other error of a command handler.
func (s *Scenario) WhenRefused(cmd wow.Sendable, refusal error) *Reaction {
	s.app.t.Helper()
	r := &Reaction{s: s, step: []string{show(cmd) + " is refused: " + refusal.Error()}}
	handled := false
	for _, c := range s.app.consumers() {
		for _, f := range c.functions {
			if f.Refused != cmd.WowCommand() {
				continue
			}
			handled = true
			ask := func() (wow.Commands, error) {
				in := &wowrt.RefusedCommand{Target: cmd.WowTarget(), Body: s.app.crossCommand(cmd), Reason: wow.RefusalOf(refusal), Cause: s.cause}
				return wowrt.Reacted(s.app.t.Context(), func(out *wowrt.Outbox) error { return c.onRefused(s.app.t.Context(), in, out) })
			}
			cmds, err := ask()
			if err != nil {
				r.err = errors.Join(r.err, fmt.Errorf("%s: %w", c.name, err))
				continue
			}
			again, err := ask()
			r.sameAgain(c, cmds, again, err)
			r.commands = append(r.commands, cmds...)
		}
	}
	if !handled {
		s.app.t.Fatalf("wowtest: refusing %s: no registered saga has a method for it; write one that takes wow.Refused[%s]", typeName(cmd), typeName(cmd))
	}
	return r
}

// subscribes reports whether a consumer has a function for any of the events,
// or for the state of their aggregate.
func (c *consumer) subscribes(t wow.Target, events []wow.DomainEvent) bool {
	return slices.ContainsFunc(c.functions, func(f wowrt.Function) bool { return takesState(f, t) }) ||
		slices.ContainsFunc(events, func(e wow.DomainEvent) bool { return c.takesEvent(t, e) })
}

func (c *consumer) takesEvent(t wow.Target, e wow.DomainEvent) bool {
	return slices.ContainsFunc(c.functions, func(f wowrt.Function) bool {
		return f.Event == e.WowEvent() && (f.From == "" || f.From == t.Aggregate)
	})
}

func takesState(f wowrt.Function, t wow.Target) bool {
	return f.State != nil && f.State.Aggregate == t.Aggregate
}

// hand gives one commit to one consumer: its events, then the state after it.
func (s *Scenario) hand(c consumer, t wow.Target, version int64, events []wow.DomainEvent) (sent wow.Commands, err error) {
	s.app.t.Helper()
	ctx, meta := s.app.t.Context(), s.commitMeta(t, version)
	deliver := func(ctx context.Context) (err error) {
		sent, err = s.deliver(ctx, c, meta, events)
		return err
	}
	if c.tx != nil {
		if _, err := c.tx.Resume(s.app.t.Context(), meta.Position.Shard); err != nil { // as a start does
			return nil, err
		}
		err = c.tx.Run(ctx, meta.Position, deliver)
	} else {
		err = deliver(ctx)
	}
	return sent, err
}

func (s *Scenario) deliver(ctx context.Context, c consumer, meta wow.CommitMeta, events []wow.DomainEvent) (wow.Commands, error) {
	s.app.t.Helper()
	var sent wow.Commands
	call := func(f func(*wowrt.Outbox) error) error {
		cmds, err := wowrt.Reacted(ctx, f)
		for _, cmd := range cmds {
			sent = append(sent, s.app.crossCommand(cmd))
		}
		return err
	}
	for i, e := range events {
		if !c.takesEvent(meta.Target, e) {
			continue
		}
		in := &wowrt.Recorded{EventMeta: wow.EventMeta{CommitMeta: meta, Index: i}, Event: s.app.crossEvent(e)}
		if err := call(func(out *wowrt.Outbox) error { return c.onEvent(ctx, in, out) }); err != nil {
			return nil, err
		}
	}
	for _, f := range c.functions {
		if !takesState(f, meta.Target) {
			continue
		}
		in := &wowrt.StateRecorded{CommitMeta: meta, State: s.stateAfter(meta.Target, f.State, meta.Version, events), Events: s.app.crossEvents(events)}
		if err := call(func(out *wowrt.Outbox) error { return c.onState(ctx, in, out) }); err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// stateAfter is a state of the receiver's own, at a version, after its events.
func (s *Scenario) stateAfter(t wow.Target, kind *wow.StateType, version int64, events []wow.DomainEvent) wow.State {
	s.app.t.Helper()
	past := *s
	past.given = s.given[:version-1]
	w := past.fold(t, kind)
	past.happen(w, t, events...)
	past.crossState(w)
	return w.a
}

func (a *App) crossEvents(events []wow.DomainEvent) wow.Events {
	a.t.Helper()
	crossed := make(wow.Events, len(events))
	for i, e := range events {
		crossed[i] = a.crossEvent(e)
	}
	return crossed
}

// sameAgain reports a saga that answers the same event differently. The IDs of
// its commands derive from their order, so that a repeat is noticed.
func (r *Reaction) sameAgain(c consumer, first, second wow.Commands, err error) {
	r.s.app.t.Helper()
	if err != nil {
		r.s.app.t.Fatalf("wowtest: handing %s to %s a second time: %v", r.step[0], c.name, err)
	}
	if d := diffLists(first, second); len(d) > 0 {
		r.s.app.t.Fatalf("wowtest: handing %s to %s a second time: it asks for other commands\n%s\n"+
			"a saga sees an event again after a crash, and must ask for the same in the same order: no clock, no random number, no order of a map",
			r.step[0], c.name, list("first", "second", d))
	}
}

// ThenSends expects that the sagas send exactly these commands, in this order.
func (r *Reaction) ThenSends(want ...wow.Sendable) *Reaction {
	r.s.app.t.Helper()
	if d := diffLists(want, r.commands); r.err != nil || len(d) > 0 {
		r.s.fail("when", r.step, lines(want), r.told(), d)
	}
	return r
}

// ThenNothing expects that the consumers succeed and send nothing.
func (r *Reaction) ThenNothing() *Reaction {
	r.s.app.t.Helper()
	return r.ThenSends()
}

// ThenFails expects that a consumer fails with an error that is target.
func (r *Reaction) ThenFails(target error) *Reaction {
	r.s.app.t.Helper()
	if !errors.Is(r.err, target) {
		r.s.fail("when", r.step, []string{"a failure: " + target.Error()}, r.told(), nil)
	}
	return r
}

// Commands returns what the sagas send.
func (r *Reaction) Commands() wow.Commands { return r.commands }

// Err returns what the consumers failed with, nil if they did not.
func (r *Reaction) Err() error { return r.err }

func (r *Reaction) told() []string {
	if r.err != nil {
		return []string{"a failure: " + r.err.Error()}
	}
	return lines(r.commands)
}
