package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// table knows which functions of a consumer a commit is for. It is made once
// and only read afterwards.
//
// The look-up goes by the names that are stored with a commit, so that a
// consumer decodes what it subscribed to and nothing else, and passes all the
// rest without knowing its types.
type table struct {
	routes  map[string]*route      // by aggregate
	refused map[string]*subscriber // by aggregate and name of the command
	byName  map[string]*subscriber
}

// route is what a consumer does with the commits of one aggregate.
type route struct {
	events map[string]*subscriber // by event name
	states []*subscriber          // in the order of declaration, after all events
}

// subscriber is a function with what is known about it before the first call.
type subscriber struct {
	Function
	tries   int                       // after the first, before its message is parked
	backoff time.Duration             // before the first of them
	known   map[string]*wow.EventType // of State, by name
}

// wants reports whether the consumer has a function for the commit.
func (t *table) wants(c *store.Commit) *route {
	r := t.routes[c.Target.Aggregate]
	if r == nil || len(r.states) > 0 {
		return r
	}
	for i := range c.Events {
		if r.events[c.Events[i].Name] != nil {
			return r
		}
	}
	return nil
}

// refusal returns the function for the refusal of a command, or nil.
func (t *table) refusal(c *wow.CommandType) *subscriber { return t.refused[c.Aggregate+"/"+c.Name] }

// newTable makes the table of a consumer and reports everything that is wrong
// with its functions.
func newTable(consumer string, functions []Function) (*table, error) {
	t := &table{routes: map[string]*route{}, refused: map[string]*subscriber{}, byName: map[string]*subscriber{}}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("consumer %s: "+format, append([]any{consumer}, args...)...))
	}
	if len(functions) == 0 {
		fault("it has no functions: subscribe to something, or remove it")
	}
	for i := range functions {
		s := &subscriber{Function: functions[i]}
		s.tries, s.backoff = s.Retry.policy()
		if s.Name == "" {
			fault("function %d has no name", i)
			continue
		}
		if t.byName[s.Name] != nil {
			fault("two functions are named %q: names key what is parked, give each its own", s.Name)
			continue
		}
		t.byName[s.Name] = s
		switch {
		case s.Event != nil && s.State == nil && s.Refused == nil:
			for _, aggregate := range s.sources() {
				r := t.route(aggregate)
				if other := r.events[s.Event.Name]; other != nil {
					fault("%s and %s are both for the event %q of %s: keep one, or tell them apart by the aggregate", other.Name, s.Name, s.Event.Name, aggregate)
					continue
				}
				r.events[s.Event.Name] = s
			}
		case s.State != nil && s.Event == nil && s.Refused == nil:
			s.known = make(map[string]*wow.EventType, len(s.State.Events))
			for _, e := range s.State.Events {
				s.known[e.Name] = e
			}
			r := t.route(s.State.Aggregate)
			r.states = append(r.states, s)
		case s.Refused != nil && s.Event == nil && s.State == nil:
			t.refused[s.Refused.Aggregate+"/"+s.Refused.Name] = s
		default:
			fault("function %s must have exactly one of Event, State and Refused", s.Name)
		}
	}
	return t, errors.Join(faults...)
}

// sources returns the aggregates whose events the function takes.
func (s *subscriber) sources() []string {
	if s.From != "" {
		return []string{s.From}
	}
	return s.Event.Aggregates
}

func (t *table) route(aggregate string) *route {
	r := t.routes[aggregate]
	if r == nil {
		r = &route{events: map[string]*subscriber{}}
		t.routes[aggregate] = r
	}
	return r
}
