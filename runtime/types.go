package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// types is everything the runtime knows about commands, events and states:
// built once by Start from what was registered, read only from then on.
type types struct {
	aggregates map[string]*aggregate         // by "shop.cart"
	commands   map[*wow.CommandType]*handler // each command has one
	names      map[string][]*handler         // by each ending of "shop.cart.add_item" at a dot
	known      map[string]map[string]*event  // aggregate, wire name
	events     map[*wow.EventType]*event     // one per type, shared by its aggregates
}

// aggregate is a registered aggregate, ready to decide.
type aggregate struct {
	Aggregate
	name   string
	lane   *lane                     // of its bounded context
	events map[*wow.EventType]*event // that its commands may cause
}

// handler is a registered command handler.
type handler struct {
	CommandHandler
	agg  *aggregate
	name string // "shop.cart.add_item"
}

// event is what is known about a type of event besides its description.
type event struct {
	*wow.EventType
	flat bool // applied as it is: see isFlat
}

// build checks what was registered, all of it, and fills the tables.
func (ts *types) build(r *Runtime) error {
	ts.aggregates = map[string]*aggregate{}
	ts.commands = map[*wow.CommandType]*handler{}
	ts.names = map[string][]*handler{}
	ts.known = map[string]map[string]*event{}
	ts.events = map[*wow.EventType]*event{}

	var faults []error
	for _, name := range r.Handlers().Missing() {
		faults = append(faults, fmt.Errorf("%s was registered with nil: its Register function needs the value whose methods it calls", name))
	}
	for _, a := range r.aggregates {
		faults = append(faults, ts.addAggregate(r.cfg, a)...)
	}
	for _, s := range r.sagas {
		for _, c := range s.Sends {
			if ts.commands[c] == nil && r.cfg.Bus == nil {
				faults = append(faults, fmt.Errorf("saga %s sends %s, which nobody decides: register the aggregate %s", s.Name, commandName(c), c.Aggregate))
			}
		}
	}
	return errors.Join(faults...)
}

func (ts *types) addAggregate(cfg Config, in Aggregate) (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if in.State == nil || in.Decide == nil || in.State.New == nil || in.State.Apply == nil {
		fault("an aggregate is registered without its state, its constructor, apply or decide: register it with its generated function")
		return faults
	}
	a := &aggregate{Aggregate: in, name: in.State.Aggregate, events: map[*wow.EventType]*event{}}
	if err := store.CheckTarget(wow.Target{Aggregate: a.name, ID: "-"}); err != nil {
		fault("aggregate %q: %w", a.name, err)
	}
	if context, name, ok := strings.Cut(a.name, "."); !ok || context == "" || name == "" {
		fault("aggregate %q has no bounded context: it must be called context.name", a.name)
	}
	if ts.aggregates[a.name] != nil {
		fault("aggregate %s is registered twice: call its Register function once", a.name)
		return faults
	}
	ts.aggregates[a.name] = a
	for _, c := range in.Commands {
		if err := ts.addCommand(cfg, a, c); err != nil {
			faults = append(faults, err)
		}
	}
	known := map[string]*event{}
	ts.known[a.name] = known
	for _, t := range in.State.Events {
		switch {
		case t == nil || t.Decode == nil || t.Name == "":
			fault("aggregate %s: an event has no description, name or decoder", a.name)
		case store.CheckKey("event name", t.Name, store.MaxName) != nil:
			fault("aggregate %s: %w", a.name, store.CheckKey("event name", t.Name, store.MaxName))
		case known[t.Name] != nil:
			fault("aggregate %s: two events are called %q on the wire", a.name, t.Name)
		default:
			if ts.events[t] == nil {
				ts.events[t] = &event{t, isFlat(t)}
			}
			known[t.Name] = ts.events[t]
			a.events[t] = ts.events[t]
		}
	}
	return faults
}

func (ts *types) addCommand(cfg Config, a *aggregate, c CommandHandler) error {
	switch t := c.Command; {
	case t == nil || t.Name == "":
		return fmt.Errorf("aggregate %s: a command has no description or name", a.name)
	case t.Aggregate != a.name:
		return fmt.Errorf("aggregate %s is to decide %s, a command of %s", a.name, t.Name, t.Aggregate)
	case ts.commands[t] != nil:
		return fmt.Errorf("command %s has two handlers", commandName(t))
	case c.Retry.Max < 0 || c.Retry.Max > maxRetries || c.Retry.Backoff < 0:
		return fmt.Errorf("command %s: retry max=%d backoff=%v: must be 0 to %d and not negative", commandName(t), c.Retry.Max, c.Retry.Backoff, maxRetries)
	}
	or(&c.Retry.Max, cfg.Retry.Max)
	or(&c.Retry.Backoff, cfg.Retry.Backoff)
	h := &handler{CommandHandler: c, agg: a, name: commandName(c.Command)}
	if same := ts.names[h.name]; len(same) > 0 {
		return fmt.Errorf("aggregate %s: two commands are called %q on the wire", a.name, c.Command.Name)
	}
	ts.commands[c.Command] = h
	for name := h.name; ; {
		ts.names[name] = append(ts.names[name], h)
		_, rest, more := strings.Cut(name, ".")
		if !more || len(rest) < len(c.Command.Name) {
			return nil
		}
		name = rest
	}
}

func commandName(t *wow.CommandType) string { return t.Aggregate + "." + t.Name }

// resolve finds a command by its name on the wire: "add_item", "cart.add_item"
// or "shop.cart.add_item".
func (ts *types) resolve(name string) (*handler, error) {
	found := ts.names[name]
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("there is no command %q: the commands are %s: %w", name, ts.list(), wow.ErrUnknownType)
	}
	var full []string
	for _, h := range found {
		full = append(full, h.name)
	}
	slices.Sort(full)
	return nil, fmt.Errorf("command %q is ambiguous: say which of %s: %w", name, strings.Join(full, ", "), wow.ErrInvalid)
}

// command returns the type of a registered command.
func (ts *types) command(aggregate, name string) (*wow.CommandType, error) {
	h, err := ts.resolve(aggregate + "." + name)
	if err != nil {
		return nil, err
	}
	return h.Command, nil
}

// list names the registered commands, up to a bound.
func (ts *types) list() string {
	const most = 30
	names := make([]string, 0, len(ts.commands))
	for _, h := range ts.commands {
		names = append(names, h.name)
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
