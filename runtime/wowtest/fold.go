package wowtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wowgen/wow"
)

// A state is folded twice, from events that were decoded twice. Where the two
// differ, an apply method looks at something besides its event; where they
// differ after a decision, the decision changed the one that it saw.

// twins are two states of one aggregate, folded apart from the same events.
type twins struct {
	kind    *wow.StateType
	a, b    wow.State
	version int64
}

// fold lets the past of a scenario happen.
func (s *Scenario) fold(t wow.Target, kind *wow.StateType) *twins {
	s.app.t.Helper()
	w := &twins{kind: kind, a: kind.New(t), b: kind.New(t)}
	for _, e := range s.given {
		s.happen(w, t, e)
	}
	s.crossState(w)
	return w
}

// happen applies the events of one commit to both twins.
func (s *Scenario) happen(w *twins, t wow.Target, events ...wow.DomainEvent) {
	s.app.t.Helper()
	w.version++
	for i, e := range events {
		m := wow.EventMeta{CommitMeta: s.commitMeta(t, w.version), Index: i}
		m.Position = wow.Position{} // an event is applied before it is stored
		first, second := s.app.crossEvent(e), s.app.crossEvent(e)
		n := m
		if !w.kind.Apply(w.a, first, &m) || !w.kind.Apply(w.b, second, &n) {
			s.app.t.Fatalf("wowtest: applying %s to %s: %s", typeName(e), t, s.unapplied(w.kind, e))
		}
		if d := diff(w.a, w.b); len(d) > 0 {
			s.app.t.Fatalf("wowtest: applying %s to %s twice, to equal states: the results differ\n%s\n"+
				"an apply method may look at its event and nothing else: no clock, no random number, no order of a map",
				show(e), t, list("first", "second", d))
		}
	}
}

// unapplied says why an event cannot happen to an aggregate.
func (s *Scenario) unapplied(kind *wow.StateType, e wow.DomainEvent) string {
	for _, name := range e.WowEvent().Aggregates {
		if name == kind.Aggregate {
			return fmt.Sprintf("there is no apply method for it; write  func (s *%s) %s(e %s)  and generate",
				strings.TrimPrefix(typeName(kind.New(wow.Target{ID: "x"})), "*"), typeName(e), typeName(e))
		}
	}
	return fmt.Sprintf("it is not an event of %s but of %s", kind.Aggregate, strings.Join(e.WowEvent().Aggregates, " and "))
}

// crossState goes on with one of the twins as it would be read back from a
// snapshot, where the aggregate has snapshots.
func (s *Scenario) crossState(w *twins) {
	s.app.t.Helper()
	if w.kind.Snapshot == 0 {
		return
	}
	decoded := s.app.decodeState(w.kind, w.a)
	if d := diff(w.b, decoded); len(d) > 0 {
		s.app.t.Fatalf("wowtest: encoding and decoding the state %s: it comes back different\n%s\n"+
			"a snapshot would lose this; export the fields, or give the type MarshalJSON and UnmarshalJSON",
			show(w.b), list("before", "after", d))
	}
	w.a = decoded
}

func (a *App) decodeState(kind *wow.StateType, s wow.State) wow.State {
	a.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		a.t.Fatalf("wowtest: encoding the state %s: %v", show(s), err)
	}
	decoded, err := kind.Decode(json.Unmarshal, data)
	if err != nil {
		a.t.Fatalf("wowtest: decoding the state %s: %v", data, err)
	}
	return decoded
}

// crossEvent returns e as it comes out of a store.
func (a *App) crossEvent(e wow.DomainEvent) wow.DomainEvent {
	a.t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		a.t.Fatalf("wowtest: encoding the event %s: %v", show(e), err)
	}
	decoded, err := e.WowEvent().Decode(json.Unmarshal, data)
	if err != nil {
		a.t.Fatalf("wowtest: decoding the event %s from %s: %v", typeName(e), data, err)
	}
	if d := diff(e, decoded); len(d) > 0 {
		a.t.Fatalf("wowtest: encoding and decoding the event %s: it comes back different\n%s", show(e), list("before", "after", d))
	}
	return decoded
}

// crossCommand returns cmd as it comes off a bus, where its key travels apart.
func (a *App) crossCommand(cmd wow.Sendable) wow.Sendable {
	a.t.Helper()
	if d, ok := cmd.(wow.Deferred); ok {
		if _, _, inner := d.Deferred(); inner != nil {
			a.crossCommand(inner)
		}
		return cmd
	}
	t := cmd.WowTarget()
	if t.ID == "" && cmd.WowCommand().Mode != wow.Create { // whose ID can be derived
		a.t.Fatalf("wowtest: routing %s: its key is empty", show(cmd))
	}
	data, err := json.Marshal(cmd)
	if err != nil {
		a.t.Fatalf("wowtest: encoding the command %s: %v", show(cmd), err)
	}
	decoded, err := cmd.WowCommand().Decode(json.Unmarshal, t.ID, data)
	if err != nil {
		a.t.Fatalf("wowtest: decoding the command %s from %s: %v", typeName(cmd), data, err)
	}
	if d := diff(cmd, decoded); len(d) > 0 {
		a.t.Fatalf("wowtest: encoding and decoding the command %s: it comes back different\n%s", show(cmd), list("before", "after", d))
	}
	if got := decoded.WowTarget(); got != t {
		a.t.Fatalf("wowtest: encoding and decoding the command %s: it was for %s and is now for %s", show(cmd), t, got)
	}
	return decoded
}

// commitID is the ID of the commit that makes a version.
func commitID(version int64) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", version) }
