package wowtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
)

// Outcome is what became of a command.
type Outcome struct {
	s      *Scenario
	cmd    wow.Sendable
	events wow.Events
	err    error
	state  wow.State // after the events
}

// When has the aggregate decide a command. One that creates needs no ID; the
// aggregate is called "created" then.
func (s *Scenario) When(cmd wow.Sendable) *Outcome {
	t := s.app.t
	t.Helper()
	target := cmd.WowTarget()
	g := s.app.aggregates[target.Aggregate]
	if g == nil {
		t.Fatalf("wowtest: deciding %s: nobody handles the commands of %s; pass its Register function to New", typeName(cmd), target.Aggregate)
	}
	body := s.app.crossCommand(cmd)
	if target.ID == "" {
		target.ID = "created"
	}
	w := s.fold(target, g.State)
	o := &Outcome{s: s, cmd: cmd, state: w.a}
	m := s.commitMeta(target, w.version+1)
	in := &wowrt.Command{
		CommandMeta: wow.CommandMeta{Target: target, Time: m.Time, Correlation: m.Correlation, Metadata: m.Metadata},
		Body:        body,
	}
	if c, ok := body.(wow.Requested); ok {
		in.Request = c.WowRequest()
	}
	if c, ok := body.(wow.Versioned); ok {
		in.Expected = c.WowExpected()
	}
	if o.err = admit(in, w.version, g.State.IsDeleted(w.a)); o.err != nil {
		return o
	}
	o.events, o.err = wowrt.Decided(t.Context(), func(out *wowrt.Decision) error {
		return g.Decide(t.Context(), w.a, in, out)
	})
	if d := diff(w.b, w.a); len(d) > 0 {
		t.Fatalf("wowtest: deciding %s: the decision changed the state\n%s\n"+
			"return an event instead, and change the state in its apply method", show(cmd), list("before", "after", d))
	}
	if o.err != nil {
		o.events = nil
		return o
	}
	if len(o.events) > 0 {
		s.happen(w, target, o.events...)
		s.crossState(w)
		o.state = w.a
	}
	return o
}

// admit checks what the runtime checks before a handler is asked.
func admit(in *wowrt.Command, version int64, deleted bool) error {
	if v, ok := in.Body.(wowrt.Validatable); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%w: %w", wow.ErrInvalid, err)
		}
	}
	return wowrt.Admit(in.Body.WowCommand(), in.Target, version, in.Expected, deleted)
}

// Then expects that exactly these events happen, in this order.
func (o *Outcome) Then(want ...wow.DomainEvent) *Outcome {
	o.s.app.t.Helper()
	if o.err != nil {
		o.fail(lines(want), o.told(), nil)
	}
	if d := diffLists(want, o.events); len(d) > 0 {
		o.fail(lines(want), o.told(), d)
	}
	return o
}

// ThenNothing expects that the command is accepted and nothing happens.
func (o *Outcome) ThenNothing() *Outcome {
	o.s.app.t.Helper()
	return o.Then()
}

// ThenRefused expects that the command is refused with a code: that of
// [wow.Refuse], or "refused" for any other error of a handler.
func (o *Outcome) ThenRefused(code string) *Outcome {
	o.s.app.t.Helper()
	if o.err == nil || failed(o.err) || wow.RefusalOf(o.err).Code != code {
		o.fail([]string{fmt.Sprintf("refused with the code %q", code)}, o.told(), nil)
	}
	return o
}

// ThenFails expects an error that is target and no refusal: one that can be
// retried, a version conflict, or [wow.ErrInvalid] from the command's Validate.
func (o *Outcome) ThenFails(target error) *Outcome {
	o.s.app.t.Helper()
	if o.err == nil || !failed(o.err) || !errors.Is(o.err, target) {
		o.fail([]string{"a failure: " + target.Error()}, o.told(), nil)
	}
	return o
}

// ThenState expects the state after the events, whole.
func (o *Outcome) ThenState(want wow.State) *Outcome {
	o.s.app.t.Helper()
	if d := diff(want, o.state); len(d) > 0 {
		o.fail([]string{show(want)}, []string{show(o.state)}, d)
	}
	return o
}

// Events returns what happened.
func (o *Outcome) Events() wow.Events { return o.events }

// Err returns the refusal or the failure, nil if there was none.
func (o *Outcome) Err() error { return o.err }

// StateOf returns the state after the events, for a closer look than
// [Outcome.ThenState]:
//
//	if total := wowtest.StateOf[domain.Cart](outcome).Total(); total != 500 {
func StateOf[S any, P interface {
	*S
	wow.State
}](o *Outcome) *S {
	o.s.app.t.Helper()
	s, ok := o.state.(P)
	if !ok {
		o.s.app.t.Fatalf("wowtest: looking at the state of %s: it is a %s, not a %s", o.cmd.WowTarget(), typeName(o.state), typeName(P(nil)))
	}
	return s
}

// failed tells other errors from refusals.
func failed(err error) bool { return errors.Is(err, wow.ErrInvalid) || !wowrt.IsRefusal(err) }

// told says what happened instead.
func (o *Outcome) told() []string {
	switch {
	case o.err == nil:
		return lines(o.events)
	case failed(o.err):
		return []string{"a failure: " + o.err.Error()}
	}
	r := wow.RefusalOf(o.err)
	return []string{fmt.Sprintf("refused with the code %q: %s", r.Code, r.Message)}
}

func (o *Outcome) fail(want, got []string, differences []difference) {
	o.s.app.t.Helper()
	o.s.fail("when", []string{show(o.cmd)}, want, got, differences)
}

// fail reports a step that came to something else, with the whole scenario.
func (s *Scenario) fail(step string, steps, want, got []string, differences []difference) {
	s.app.t.Helper()
	var b strings.Builder
	section(&b, "given", lines(s.given))
	section(&b, step, steps)
	section(&b, "want", want)
	section(&b, "got", got)
	if len(differences) > 0 {
		b.WriteString(list("want", "got", differences))
	}
	s.app.t.Fatalf("wowtest: the outcome is another one\n%s", strings.TrimRight(b.String(), "\n"))
}

func section(b *strings.Builder, name string, lines []string) {
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	for i, l := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(b, "  %-6s %s\n", name, l)
	}
}
