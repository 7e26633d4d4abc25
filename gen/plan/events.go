package plan

import (
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// findEvents finds the structs that are events: returned by a command handler,
// declared by a directive or YAML, or taken as wow.Event[T].
func (u *Unit) findEvents() {
	for _, typ := range sortedKeys(u.roles) {
		if u.roles[typ] == "event" {
			u.addEvent(typ, how(u.decl(typ, "event"))+" declares it")
		}
	}
	for _, a := range u.Model.Aggregates {
		for _, d := range a.Decides {
			for _, r := range d.Results {
				if r.Type.Path == u.Pkg.Path && u.events[r.Type.Name] == nil {
					recv := a.Type
					if d.On != nil {
						recv = d.On.Type
					}
					u.addEvent(r.Type.Name, recv+"."+d.Method+" returns it")
				}
			}
		}
	}
	for _, typ := range sortedKeys(u.roles) {
		for _, m := range u.methodsOf(typ) {
			for _, p := range m.Params {
				arg, ok := p.Type.Wow("Event")
				if !ok {
					continue
				}
				if r := u.ref(arg); u.isStruct(r) && u.roles[r.Name] == "" && u.commands[r.Name] == nil && u.events[r.Name] == nil {
					u.addEvent(r.Name, typ+"."+m.Name+" takes wow.Event["+r.Name+"]")
				}
			}
		}
	}
}

func (u *Unit) addEvent(typ, why string) {
	d := u.decl(typ, "event")
	e := &schema.Event{Type: typ, Name: u.wireName(typ, d), Revision: d.Number("revision", 1), Pos: u.Pkg.Types[typ].Pos, Why: why}
	e.Newest = e
	u.events[typ] = e
}

// applies finds the methods that let events happen to a state, and has a look
// at every other method of states and handler types.
func (u *Unit) applies() {
	for _, a := range u.Model.Aggregates {
		for _, m := range u.methodsOf(a.Type) {
			u.apply(a, m)
		}
		for _, h := range a.Handlers {
			for _, m := range u.methodsOf(h.Type) {
				u.otherOfHandler(a, h, m)
			}
		}
		u.eventsOf(a)
	}
}

func (u *Unit) apply(a *schema.Aggregate, m *source.Method) {
	if u.handledMethod(a.Type, m) {
		return
	}
	s := u.shapeOf(m)
	if u.ignored(a.Type, m) {
		u.explain(a.Type, m, "ignored", "marked //wow:ignore")
		return
	}
	if !s.has(event, stateEvent, refused) {
		u.ordinary(a.Type, m, &s, "//wow:event above %s when it is an event, //wow:command or a tag `wow:\"key\"` when it is a command")
		return
	}
	u.take(a.Type, m)
	var e param
	for _, p := range s.params {
		if p.kind.message() {
			e = p
			break
		}
	}
	problem := ""
	switch {
	case e.kind == stateEvent || e.kind == refused:
		problem = "a state takes commands and events only"
	case s.ctx:
		problem = "it takes a context, and applying must not wait"
	case len(s.params) != 1:
		problem = "it takes more than the event"
	case m.Variadic:
		problem = "its parameter is variadic"
	case e.pointer:
		problem = "the event is passed by pointer"
	case len(m.Results) > 0:
		problem = "it returns something, and what has happened cannot fail"
	case !m.Pointer && !u.throughPointer(a.Type, m):
		problem = "its receiver is no pointer, so that the change would be lost"
	case e.ref.Name == "":
		problem = "its event is no named type"
	}
	text := plainText(e)
	if problem != "" {
		u.blame(e.ref)
		if e.kind != event {
			text = "Event"
		}
		u.report(m.Pos, diag.Diagnostic{
			Code: "wrong-shape", Message: "apply method " + m.Recv + "." + m.Name + " has the wrong shape: " + problem, Source: m.Signature,
			Wanted: "func(E) on *" + a.Type + ", where E is an event, plain or wow.Event[E], without results", Found: foundShape(m),
			Fix: "write func (s *" + m.Recv + ") " + m.Name + "(e " + text + "); or //wow:ignore above it, when it is no apply method", See: "aggregate",
		})
		return
	}
	for _, other := range a.Applies {
		if other.Event == e.ref {
			u.report(m.Pos, diag.Diagnostic{
				Code: "two-handlers", Message: "two methods of " + a.Type + " apply the event " + u.show(e.ref), Source: m.Signature,
				Wanted: "one apply method for an event", Found: "a second one", Fix: "remove one of the two, or mark it //wow:ignore",
				Related: []diag.Related{{Pos: other.Pos, Message: "the other method"}}, See: "aggregate",
			})
			return
		}
	}
	for _, name := range []string{"blocking", "retry", "on"} {
		for _, key := range []methodKey{{a.Type, m.Name}, {m.Recv, m.Name}} {
			if d, ok := u.methods[key][name]; ok {
				u.report(d.Pos, diag.Diagnostic{
					Code: "misplaced-option", Message: name + " stands on the apply method " + m.Recv + "." + m.Name,
					Wanted: "a command handler or a consumer's method", Found: "an apply method, which runs again on every replay", Fix: "remove it", See: name,
				})
				break
			}
		}
	}
	why := "it takes " + e.text
	if known := u.events[e.ref.Name]; known != nil && e.ref.Path == u.Pkg.Path {
		why += ", an event because " + known.Why
	}
	c := schema.Call{Method: m.Name, Wrapped: e.wrapped, Pos: m.Pos, Signature: m.Signature, Why: why}
	a.Applies = append(a.Applies, &schema.Apply{Call: c, Event: e.ref})
	u.mention(m.File, e.ref)
	if e.ref.Path != u.Pkg.Path {
		u.uses = append(u.uses, use{kind: returns, ref: e.ref, pos: m.Pos, text: m.Signature, aggregate: a})
	}
	u.explain(a.Type, m, "apply", why)
}

// throughPointer tells whether a promoted method is reached through an embedded pointer.
func (u *Unit) throughPointer(typ string, m *source.Method) bool {
	return slices.ContainsFunc(u.fields(u.Pkg.Types[typ]), func(f promotedField) bool {
		e := u.local(f.Type)
		return f.Embedded && f.Type.Kind == source.Pointer && e != nil && e.Name == m.Recv
	})
}

// handledMethod tells whether a method has its meaning already.
func (u *Unit) handledMethod(typ string, m *source.Method) bool {
	return u.handled[methodKey{typ, m.Name}] || (m.Recv != typ && u.handled[methodKey{m.Recv, m.Name}])
}

func (u *Unit) otherOfHandler(a *schema.Aggregate, h *schema.HandlerType, m *source.Method) {
	if u.handledMethod(h.Type, m) {
		return
	}
	s := u.shapeOf(m)
	if u.ignored(h.Type, m) {
		u.explain(h.Type, m, "ignored", "marked //wow:ignore")
		return
	}
	if s.has(event, stateEvent, refused) {
		u.take(h.Type, m)
		u.report(m.Pos, diag.Diagnostic{
			Code: "wrong-shape", Message: "method " + m.Recv + "." + m.Name + " of a handler type takes an event", Source: m.Signature,
			Wanted: decideForm(a, h), Found: foundShape(m),
			Fix: "apply events in a method of " + a.Type + ", react to them in a processor; or //wow:ignore above it, when it is no handler", See: "handler",
		})
		return
	}
	u.ordinary(h.Type, m, &s, "a tag `wow:\"key\"` or //wow:command for %s")
}

// ordinary notes a method that is no handler, unless it looks so much like one
// that somebody must have forgotten to declare its message.
func (u *Unit) ordinary(typ string, m *source.Method, s *shape, fix string) {
	if p, yes := s.suspicious(structure); yes {
		u.take(typ, m)
		u.blamed[typ] = true
		if u.doubtful[p.ref.Name] {
			return
		}
		d := diag.Diagnostic{
			Code: "undeclared-message", Message: m.Recv + "." + m.Name + " is named like a handler of " + p.ref.Name + ", which is no declared message", Source: m.Signature,
			Wanted: "a declared command or event", Found: p.ref.Name + ", an undeclared struct",
			Fix: strings.ReplaceAll(fix, "%s", p.ref.Name) + "; or //wow:ignore above the method, when it is no handler", See: "ignore",
		}
		if deciding := u.states[typ] != nil || u.decl(typ, "handler") != nil; deciding && len(m.Results) > 0 && !m.Results[0].Is("", "error") {
			d.Message = p.ref.Name + " has no key, so " + m.Recv + "." + m.Name + " is no command handler"
			d.Wanted, d.Found = "a command: a struct with a field tagged `wow:\"key\"`", p.ref.Name+", without one"
			d.Fix = "tag the field of " + p.ref.Name + " that holds the ID of its aggregate `wow:\"key\"`, or write //wow:command above it; or //wow:ignore above the method, when it is no handler"
			u.cloud(m)
			u.doubtful[p.ref.Name] = true
		}
		u.report(m.Pos, d)
		return
	}
	for _, p := range s.params {
		if p.kind == foreign {
			_, named := s.suspicious(foreign)
			u.uses = append(u.uses, use{kind: unwrapped, ref: p.ref, pos: m.Pos, text: m.Signature, named: named, what: p.text, method: m.Recv + "." + m.Name, typ: typ})
		}
	}
	u.explain(typ, m, "ordinary", "it takes no declared message")
}

// eventsOf collects the events of an aggregate and warns about those that are
// returned and never applied.
func (u *Unit) eventsOf(a *schema.Aggregate) {
	applied := map[schema.Ref]bool{}
	for _, apply := range a.Applies {
		applied[apply.Event] = true
		a.Events = append(a.Events, apply.Event)
	}
	warned := map[schema.Ref]bool{}
	for _, d := range a.Decides {
		for _, r := range d.Results {
			if r.Kind == schema.Mixed || applied[r.Type] {
				continue
			}
			a.Events = append(a.Events, r.Type)
			if warned[r.Type] || r.Type.Path == u.Pkg.Path && u.blamed[r.Type.Name] {
				continue
			}
			warned[r.Type] = true
			u.warn(d.Pos, diag.Diagnostic{
				Code: "no-apply", Message: "the event " + u.show(r.Type) + " changes nothing in " + a.Type, Source: d.Signature,
				Wanted: "func (s *" + a.Type + ") " + r.Type.Name + "(e " + u.show(r.Type) + ")", Found: "no such method",
				Fix: "write the method; an empty one says that nothing changes", See: "aggregate",
			})
		}
	}
	// An event that names the aggregate is its own, whoever returns it: one of
	// wow.Events is seen nowhere else.
	for _, typ := range sortedKeys(u.events) {
		if name, ok := u.decl(typ, "event").Get("aggregate"); ok && (name == a.Name || name == a.FullName()) {
			r := schema.Ref{Path: u.Pkg.Path, Name: typ}
			if !applied[r] && !warned[r] && u.isNewest(typ) {
				u.warn(u.events[typ].Pos, diag.Diagnostic{
					Code: "no-apply", Message: "the event " + typ + " changes nothing in " + a.Type,
					Wanted: "func (s *" + a.Type + ") " + typ + "(e " + typ + ")", Found: "no such method",
					Fix: "write the method; an empty one says that nothing changes", See: "aggregate",
				})
			}
			a.Events = append(a.Events, r)
		}
	}
}

// isNewest tells whether no other event has the same wire name and a higher revision.
func (u *Unit) isNewest(typ string) bool {
	e := u.events[typ]
	for _, other := range u.events {
		if other.Name == e.Name && other.Revision > e.Revision {
			return false
		}
	}
	return true
}

// finishEvents decides what only the aggregates tell: where each event comes from.
func (u *Unit) finishEvents() {
	u.upcasting()
	for _, typ := range sortedKeys(u.events) {
		e := u.events[typ]
		here := schema.Ref{Path: u.Pkg.Path, Name: typ}
		for _, a := range u.Model.Aggregates {
			if slices.Contains(a.Events, here) || (e.Newest != e && slices.Contains(a.Events, schema.Ref{Path: u.Pkg.Path, Name: e.Newest.Type})) {
				e.Aggregates = append(e.Aggregates, a.FullName())
			}
		}
		d := u.decl(typ, "event")
		if name, ok := d.Get("aggregate"); ok {
			u.foreignSource(e, name, d)
		}
		slices.Sort(e.Aggregates)
		e.Aggregates = slices.Compact(e.Aggregates)
		if len(e.Aggregates) == 0 && u.isNewest(typ) {
			u.missing(typ, e.Pos, diag.Diagnostic{
				Code: "no-source", Message: "no aggregate is known to produce the event " + typ,
				Wanted: "a command handler that returns it, or a state that applies it", Found: "neither in this package",
				Fix: "write the apply method; or name the aggregate, where that is in another package: //wow:event aggregate=", See: "event",
			})
		}
		u.checkCodec(typ, "event")
		e.Fields = u.lockFields(typ)
	}
	for _, a := range u.Model.Aggregates {
		if a.Snapshot > 0 || u.stateConsumed(a.Type) {
			u.checkCodec(a.Type, "state")
		}
	}
}

// stateConsumed tells whether a consumer of this package takes the state's events.
func (u *Unit) stateConsumed(typ string) bool {
	for _, c := range u.Model.Consumers {
		for _, f := range c.Functions {
			if f.Kind == schema.OnState && f.Message == (schema.Ref{Path: u.Pkg.Path, Name: typ}) {
				return true
			}
		}
	}
	return false
}

// foreignSource adds the aggregate that an event names.
func (u *Unit) foreignSource(e *schema.Event, name string, d *schema.Decl) {
	full := name
	if !strings.Contains(name, ".") {
		context := u.Model.Context
		for _, a := range u.Model.Aggregates {
			if a.Name == name {
				context = a.Context
			}
		}
		if context == "" {
			u.blamed[e.Type] = true
			u.report(d.ArgPos("aggregate"), diag.Diagnostic{
				Code: "no-context", Message: e.Type + " names an aggregate without its context",
				Wanted: "aggregate=context.name, or //wow:context above the package clause", Found: name, Fix: "write aggregate=context." + name, See: "event",
			})
			return
		}
		full = context + "." + name
	}
	local := slices.ContainsFunc(u.Model.Aggregates, func(a *schema.Aggregate) bool { return a.FullName() == full })
	if !slices.Contains(e.Aggregates, full) {
		e.Aggregates = append(e.Aggregates, full)
	}
	if !local {
		u.uses = append(u.uses, use{kind: comesFrom, pos: d.ArgPos("aggregate"), event: e, full: full})
	}
}

// upcasting chains the events of one wire name by revision.
func (u *Unit) upcasting() {
	byName := map[string][]*schema.Event{}
	for _, typ := range sortedKeys(u.events) {
		e := u.events[typ]
		byName[e.Name] = append(byName[e.Name], e)
	}
	from := map[string]string{} // old type to function
	for _, d := range u.upcasts {
		u.upcast(d, from)
	}
	for _, name := range sortedKeys(byName) {
		chain := byName[name]
		slices.SortStableFunc(chain, func(a, b *schema.Event) int { return a.Revision - b.Revision })
		for i, e := range chain[:len(chain)-1] {
			next := chain[i+1]
			if next.Revision == e.Revision {
				continue // a collision; the link step reports it
			}
			if fn, ok := from[e.Type]; ok && next.Revision == e.Revision+1 {
				e.Upcast = fn
				continue
			}
			u.report(e.Pos, diag.Diagnostic{
				Code:    "revision-gap",
				Message: "stored events " + e.Name + " of revision " + itoa(e.Revision) + " cannot be read any more",
				Wanted:  "//wow:upcast on a function func(" + e.Type + ") of the event with revision " + itoa(e.Revision+1), Found: "the next revision is " + itoa(next.Revision) + ", and no upcaster leads there",
				Fix:     "write //wow:upcast func(old " + e.Type + ") " + next.Type + ", the revisions following each other",
				Related: []diag.Related{{Pos: next.Pos, Message: "the next revision"}}, See: "upcast",
			})
		}
		for i := len(chain) - 2; i >= 0; i-- {
			if chain[i].Upcast != "" {
				chain[i].Newest = chain[i+1].Newest
			}
		}
	}
}

func (u *Unit) upcast(d *schema.Decl, from map[string]string) {
	name := d.Target.Func
	fn, ok := u.Pkg.Funcs[name]
	if !ok {
		u.report(d.Pos, diag.Diagnostic{
			Code: "unknown-function", Message: "the package has no function " + name, Wanted: "a function of package " + u.Pkg.Name, Found: name,
			Fix: "write it: func " + name + "(old EventV1) Event", See: "upcast",
		})
		return
	}
	good := len(fn.Params) == 1 && len(fn.Results) == 1 && !fn.Generic && !fn.Variadic
	var old, next *schema.Event
	if good {
		o, n := u.ref(fn.Params[0].Type), u.ref(fn.Results[0])
		if o.Path == u.Pkg.Path && n.Path == u.Pkg.Path {
			old, next = u.events[o.Name], u.events[n.Name]
		}
		good = old != nil && next != nil
	}
	if !good {
		u.report(d.Pos, diag.Diagnostic{
			Code: "wrong-shape", Message: "the upcaster " + name + " has the wrong shape", Source: fn.Signature,
			Wanted: "func(old E1) E2, where both are declared events of this package", Found: foundShape(fn),
			Fix: "take the old struct, return the new one, and declare both: //wow:event name= revision=", See: "upcast",
		})
		return
	}
	if old.Name != next.Name || next.Revision != old.Revision+1 {
		u.report(d.Pos, diag.Diagnostic{
			Code: "revision-gap", Message: "the upcaster " + name + " does not lead to the next revision", Source: fn.Signature,
			Wanted: "one wire name, and revisions that follow each other",
			Found:  old.Name + " revision " + itoa(old.Revision) + " and " + next.Name + " revision " + itoa(next.Revision),
			Fix:    "give both types the same name=, and revision=" + itoa(old.Revision) + " and revision=" + itoa(old.Revision+1), See: "upcast",
		})
		return
	}
	if other, twice := from[old.Type]; twice {
		u.report(d.Pos, diag.Diagnostic{
			Code: "two-upcasters", Message: "two upcasters take " + old.Type, Wanted: "one", Found: other + " and " + name, Fix: "remove one of the two",
			Related: []diag.Related{{Pos: u.Pkg.Funcs[other].Pos, Message: "the other upcaster"}}, See: "upcast",
		})
		return
	}
	from[old.Type] = name
}
