package wowtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
)

// TB is what wowtest needs of a test. *testing.T, *testing.B and *rapid.T have
// it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// App holds what a test has registered. It keeps no history: each scenario
// starts from nothing, at positions behind those before it. It is for the
// goroutine of its test.
type App struct {
	t          TB
	commits    int64 // that consumers have been told of
	handlers   wowrt.Handlers
	aggregates map[string]*wowrt.Aggregate
	states     map[string]*wow.StateType // also those that only consumers know
}

// New returns an app with the handlers that register adds, usually generated
// functions:
//
//	wowtest.New(t, domain.RegisterOrder, func(r *wowrt.Runtime) {
//		domain.RegisterCart(r, &domain.CartHandlers{Prices: prices})
//	})
func New(t TB, register ...func(*wowrt.Runtime)) *App {
	t.Helper()
	r := wowrt.New(wowrt.Config{})
	for _, f := range register {
		f(r)
	}
	a := &App{
		t:          t,
		handlers:   r.Handlers(),
		aggregates: map[string]*wowrt.Aggregate{},
		states:     map[string]*wow.StateType{},
	}
	if missing := a.handlers.Missing(); len(missing) > 0 {
		t.Fatalf("wowtest: registering: %s was registered with nil: its Register function needs the value whose methods it calls", strings.Join(missing, ", "))
	}
	for i := range a.handlers.Aggregates {
		g := &a.handlers.Aggregates[i]
		if a.aggregates[g.State.Aggregate] != nil {
			t.Fatalf("wowtest: registering: aggregate %s is registered twice", g.State.Aggregate)
		}
		a.aggregates[g.State.Aggregate] = g
		a.states[g.State.Aggregate] = g.State
	}
	for _, c := range a.consumers() {
		for _, f := range c.functions {
			if f.State != nil {
				a.states[f.State.Aggregate] = f.State
			}
		}
	}
	return a
}

// Given starts a scenario with events that happened before, to the aggregate
// that the next step is about. Each is a commit of its own, a second after the
// one before it.
func (a *App) Given(events ...wow.DomainEvent) *Scenario {
	return (&Scenario{app: a}).Given(events...)
}

// When starts a scenario without a past: see [Scenario.When].
func (a *App) When(cmd wow.Sendable) *Outcome {
	a.t.Helper()
	return a.Given().When(cmd)
}

// WhenEvent starts a scenario without a past: see [Scenario.WhenEvent].
func (a *App) WhenEvent(id string, events ...wow.DomainEvent) *Reaction {
	a.t.Helper()
	return a.Given().WhenEvent(id, events...)
}

// WhenRefused starts a scenario without a past: see [Scenario.WhenRefused].
func (a *App) WhenRefused(cmd wow.Sendable, refusal error) *Reaction {
	a.t.Helper()
	return a.Given().WhenRefused(cmd, refusal)
}

// Scenario is the past of one aggregate, to which a command or an event comes
// next.
type Scenario struct {
	app      *App
	given    []wow.DomainEvent
	at       time.Time
	metadata map[string]string
	cause    wow.EventMeta
	before   int64 // commits of scenarios before this
}

// Given adds events that happened before, each a commit of its own.
func (s *Scenario) Given(events ...wow.DomainEvent) *Scenario {
	s.given = append(s.given, events...)
	return s
}

// At sets the time of the next step. Without it, that is a second after the
// last event; the first commit is at 2000-01-01 00:00:01 UTC.
func (s *Scenario) At(t time.Time) *Scenario {
	s.at = t.UTC().Truncate(time.Microsecond)
	return s
}

// Metadata sets the metadata of the next step.
func (s *Scenario) Metadata(m map[string]string) *Scenario {
	s.metadata = m
	return s
}

// CausedBy sets the event that made the saga send the command which is refused
// next.
func (s *Scenario) CausedBy(id string, e wow.DomainEvent) *Scenario {
	s.app.t.Helper()
	s.cause = wow.EventMeta{CommitMeta: s.commitMeta(s.app.targetOf(id, e), 1)}
	return s
}

// start is the time at which every scenario begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// commitMeta describes the commit that makes version of t. Only the step after
// the past can have a time and metadata of its own.
func (s *Scenario) commitMeta(t wow.Target, version int64) wow.CommitMeta {
	m := wow.CommitMeta{
		Target:      t,
		Version:     version,
		Position:    wow.Position{Seq: s.before + version},
		Commit:      commitID(version),
		Correlation: "wowtest",
		Time:        start.Add(time.Duration(version) * time.Second),
	}
	if version > int64(len(s.given)) {
		m.Metadata = s.metadata
		if !s.at.IsZero() {
			m.Time = s.at
		}
	}
	return m
}

// targetOf is the aggregate with an ID that e comes from.
func (a *App) targetOf(id string, e wow.DomainEvent) wow.Target {
	a.t.Helper()
	from := e.WowEvent().Aggregates
	if len(from) > 1 {
		from = slices.DeleteFunc(slices.Clone(from), func(name string) bool { return a.states[name] == nil })
	}
	if len(from) != 1 {
		a.t.Fatalf("wowtest: finding the aggregate of %s: it comes from %s; say which one with WhenCommit",
			typeName(e), strings.Join(e.WowEvent().Aggregates, " and "))
	}
	if id == "" {
		a.t.Fatalf("wowtest: finding the aggregate of %s: its ID is empty", typeName(e))
	}
	return wow.Target{Aggregate: from[0], ID: id}
}
