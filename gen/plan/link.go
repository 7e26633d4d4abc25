package plan

import (
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// useKind says how a package uses something that another one declares.
type useKind uint8

const (
	handles       useKind = iota // decides a command
	returns                      // returns or applies an event
	targets                      // a command names an aggregate
	comesFrom                    // an event names an aggregate
	consumesEvent                // a consumer takes an event
	consumesState                // a consumer takes a state
	hearsRefused                 // a saga hears that a command was refused
	sends                        // a saga returns a command
	unwrapped                    // a method takes a type that is not wrapped
	imports                      // a written type needs a package
)

// use is one such thing, looked at once all packages are planned.
type use struct {
	kind      useKind
	ref       schema.Ref
	pos       schema.Pos
	text      string // the code concerned
	aggregate *schema.Aggregate
	command   *schema.Command
	event     *schema.Event
	function  *schema.Function
	full      string // an aggregate's full name
	named     bool   // the method is named after the type
	what      string // the parameter as written
	method    string
	typ       string // whose method it is
}

// link holds what packages say about each other against those others.
func (p *Program) link() {
	for _, u := range p.Units {
		for i := range u.uses {
			p.linkUse(u, &u.uses[i])
		}
	}
	for _, u := range p.Units {
		u.idle()
	}
	p.collisions()
	p.goNames()
	for _, u := range p.Units {
		u.commandless()
	}
	p.loops()
}

func (p *Program) linkUse(u *Unit, x *use) {
	switch x.kind {
	case targets:
		p.linkTarget(u, x)
		return
	case comesFrom:
		p.linkSource(u, x)
		return
	case imports:
		p.linkImport(u, x)
		return
	}
	there := u
	if x.ref.Path != u.Pkg.Path {
		there = p.unitOf(u, x.ref.Path)
	}
	if x.kind == unwrapped {
		p.linkUnwrapped(u, there, x)
		return
	}
	if there == nil {
		if x.kind == consumesEvent || x.kind == consumesState {
			u.warn(x.pos, diag.Diagnostic{
				Code: "source-unknown", Message: "the package of " + u.show(x.ref) + " is not at hand, so that nobody checked that it is an event", Source: x.text,
				Wanted: "a package of this module or of one that it requires", Found: x.ref.Path, Fix: "go mod download, or leave it to the compiler",
			})
		}
		return
	}
	name := x.ref.Name
	switch x.kind {
	case handles, sends, hearsRefused:
		c := there.commands[name]
		if c == nil {
			u.undeclared(x, "command", there, "a tag `wow:\"key\"`, or //wow:command aggregate= context=, in package "+there.Pkg.Name)
			return
		}
		if x.kind == handles && c.Target() != x.aggregate.FullName() && c.Aggregate != "" {
			u.report(x.pos, diag.Diagnostic{
				Code: "wrong-aggregate", Message: x.aggregate.Type + " decides " + u.show(x.ref) + ", which belongs to another aggregate", Source: x.text,
				Wanted: "a command of " + x.aggregate.FullName(), Found: "a command of " + c.Target(),
				Fix:     "write //wow:command context=" + x.aggregate.Context + " aggregate=" + x.aggregate.Name + " above " + name,
				Related: []diag.Related{{Pos: c.Pos, Message: "the command"}}, See: "command",
			})
		}
	case returns:
		e := there.events[name]
		if e == nil {
			u.undeclared(x, "event", there, "//wow:event aggregate="+x.aggregate.FullName()+" above it, in package "+there.Pkg.Name)
			return
		}
		if !slices.Contains(e.Aggregates, x.aggregate.FullName()) {
			u.report(x.pos, diag.Diagnostic{
				Code: "wrong-aggregate", Message: "the event " + u.show(x.ref) + " does not say that it comes from " + x.aggregate.FullName(), Source: x.text,
				Wanted: "//wow:event aggregate=" + x.aggregate.FullName(), Found: "events of " + strings.Join(e.Aggregates, ", "),
				Fix:     "write aggregate=" + x.aggregate.FullName() + " at the event",
				Related: []diag.Related{{Pos: e.Pos, Message: "the event"}}, See: "event",
			})
		}
	case consumesEvent:
		e := there.events[name]
		if e == nil {
			u.undeclared(x, "event", there, "//wow:event above it, or return it from a command handler, in package "+there.Pkg.Name)
			return
		}
		if from := x.function.From; from != "" && !slices.Contains(e.Aggregates, from) {
			d := diag.Diagnostic{
				Code: "unknown-source", Message: u.show(x.ref) + " does not come from " + from, Source: x.text,
				Wanted: "one of " + strings.Join(e.Aggregates, ", "), Found: from, Fix: "write from= with one of those, or leave it out", See: "on",
			}
			if similar := schema.Suggest(from, e.Aggregates); similar != "" {
				d.Fix = "write from=" + similar
			}
			u.report(x.pos, d)
		}
	case consumesState:
		if there.states[name] == nil {
			u.undeclared(x, "state", there, "//wow:aggregate above it, in package "+there.Pkg.Name)
			return
		}
		if there.Model.Aggregates != nil {
			there.checkConsumedState(name, u)
		}
	}
}

// checkConsumedState holds a state that another package consumes to what the
// codec can write. Its mistakes are reported once, where the state is.
func (u *Unit) checkConsumedState(typ string, by *Unit) {
	a := u.states[typ]
	if a == nil || a.Snapshot > 0 || u.stateConsumed(typ) {
		return
	}
	w := *u
	w.found = by.found
	w.checkCodec(typ, "state")
}

func (u *Unit) undeclared(x *use, what string, there *Unit, fix string) {
	d := diag.Diagnostic{
		Code: "undeclared-message", Message: u.show(x.ref) + " is no declared " + what, Source: x.text,
		Wanted: "a " + what + " that package " + there.Pkg.Name + " declares", Found: "an undeclared type", Fix: "write " + fix,
	}
	if what == "event" {
		d.Wanted = "an" + d.Wanted[1:]
	}
	if t, ok := there.Pkg.Types[x.ref.Name]; ok {
		d.Related = []diag.Related{{Pos: t.Pos, Message: "the type"}}
		if t.Kind == source.Alias {
			d.Found, d.Fix = kindName(t), "write what it stands for: "+t.Under.Text
		}
	} else {
		d.Message, d.Found = "package "+there.Pkg.Name+" has no type "+x.ref.Name, "no such type"
		d.Fix = "write the type, or use another"
		if similar := schema.Suggest(x.ref.Name, sortedKeys(there.Pkg.Types)); similar != "" {
			d.Fix = "write " + u.show(schema.Ref{Path: x.ref.Path, Name: similar})
		}
	}
	u.report(x.pos, d)
}

// linkUnwrapped looks at a parameter of another package's type: a message must
// be wrapped, because syntax alone does not show that it is one.
func (p *Program) linkUnwrapped(u, there *Unit, x *use) {
	wrap := ""
	switch {
	case there == nil:
		u.blamed[x.typ] = u.blamed[x.typ] || x.named
		if x.named && strings.Contains(strings.SplitN(x.ref.Path, "/", 2)[0], ".") {
			u.report(x.pos, diag.Diagnostic{
				Code: "undeclared-message", Message: x.method + " is named like a handler of " + x.what + ", which is not wrapped", Source: x.text,
				Wanted: "wow.Event[" + x.what + "] or wow.Command[" + x.what + "] for another package's message", Found: x.what,
				Fix: "wrap it; or //wow:ignore above the method, when it is no handler", See: "ignore",
			})
		}
		return
	case there.events[x.ref.Name] != nil:
		wrap = "wow.Event[" + x.what + "]"
	case there.commands[x.ref.Name] != nil:
		wrap = "wow.Command[" + x.what + "]"
	case there.states[x.ref.Name] != nil:
		return
	case x.named && there.Pkg.Module == u.Pkg.Module && there.isStruct(x.ref):
		u.report(x.pos, diag.Diagnostic{
			Code: "undeclared-message", Message: x.method + " is named like a handler of " + x.what + ", which is no declared message", Source: x.text,
			Wanted: "a declared command or event", Found: "an undeclared struct",
			Fix:     "declare it in package " + there.Pkg.Name + " and wrap it: wow.Event[" + x.what + "]; or //wow:ignore above the method",
			Related: []diag.Related{{Pos: there.Pkg.Types[x.ref.Name].Pos, Message: "the type"}}, See: "ignore",
		})
		return
	default:
		return
	}
	wrap = strings.Replace(wrap, "[*", "[", 1)
	u.blamed[x.typ] = true
	u.report(x.pos, diag.Diagnostic{
		Code: "not-wrapped", Message: x.method + " takes another package's message, which must be wrapped", Source: x.text,
		Wanted: wrap, Found: x.what, Fix: "write " + wrap + "; or //wow:ignore above the method, when it is no handler", See: "event",
	})
}

// linkTarget finds the aggregate that a command of another package names.
func (p *Program) linkTarget(u *Unit, x *use) {
	c := x.command
	here := schema.Ref{Path: u.Pkg.Path, Name: c.Type}
	var names []string
	for _, other := range p.everywhere(u) {
		for _, a := range other.Model.Aggregates {
			names = append(names, a.FullName())
			if a.FullName() != c.Target() {
				continue
			}
			creates, decided := false, false
			for _, d := range a.Decides {
				decided = decided || d.Command == here
				if from := p.unitOf(other, d.Command.Path); from != nil || d.Command.Path == other.Pkg.Path {
					if d.Command.Path == other.Pkg.Path {
						from = other
					}
					if cmd := from.commands[d.Command.Name]; cmd != nil && cmd.Mode == schema.Create {
						creates = true
					}
				}
			}
			if !decided && !p.decidedAnywhere(here) {
				u.report(c.Pos, diag.Diagnostic{
					Code: "no-handler", Message: "nobody decides the command " + c.Type,
					Wanted: "func (s *" + a.Type + ") " + c.Type + "(cmd wow.Command[" + other.showFrom(here, u) + "]) (Event, error), in package " + other.Pkg.Name, Found: "no such method",
					Fix:     "write the handler beside " + c.Target(),
					Related: []diag.Related{{Pos: a.Pos, Message: "the aggregate"}}, See: "command",
				})
			}
			if !c.Marked {
				c.Mode = schema.Upsert
				if creates {
					c.Mode = schema.Exists
				}
			}
			u.checkTenant(c, a.Tenant, a.FullName())
			return
		}
	}
	u.unknownAggregate(x.pos, c.Target(), names, "command")
	if c.Mode == "" {
		c.Mode = schema.Upsert
	}
}

// decidedAnywhere tells whether some aggregate decides a command, be it the
// wrong one.
func (p *Program) decidedAnywhere(command schema.Ref) bool {
	for _, u := range p.Units {
		for _, a := range u.Model.Aggregates {
			if slices.ContainsFunc(a.Decides, func(d *schema.Decide) bool { return d.Command == command }) {
				return true
			}
		}
	}
	return false
}

func (u *Unit) showFrom(r schema.Ref, declared *Unit) string {
	if r.Path == u.Pkg.Path {
		return r.Name
	}
	return declared.Pkg.Name + "." + r.Name
}

func (p *Program) linkSource(u *Unit, x *use) {
	var names []string
	for _, other := range p.everywhere(u) {
		for _, a := range other.Model.Aggregates {
			if a.FullName() == x.full {
				return
			}
			names = append(names, a.FullName())
		}
	}
	u.unknownAggregate(x.pos, x.full, names, "event")
}

func (u *Unit) unknownAggregate(pos schema.Pos, full string, names []string, see string) {
	slices.Sort(names)
	d := diag.Diagnostic{
		Code: "unknown-aggregate", Message: "there is no aggregate " + full + " in this module",
		Wanted: "an aggregate of the module", Found: full, Fix: "declare it, or name another", See: see,
	}
	if len(names) > 0 {
		d.Wanted = "one of " + strings.Join(slices.Compact(names), ", ")
	}
	if similar := schema.Suggest(full, names); similar != "" {
		context, name, _ := strings.Cut(similar, ".")
		d.Fix = "write context=" + context + " aggregate=" + name
		if see == "event" {
			d.Fix = "write aggregate=" + similar
		}
	}
	u.report(pos, d)
}

// linkImport refuses a written type that would make packages import each
// other in a circle.
func (p *Program) linkImport(u *Unit, x *use) {
	seen := map[string]bool{}
	var reaches func(path string) bool
	reaches = func(path string) bool {
		if path == u.Pkg.Path {
			return true
		}
		if seen[path] || !p.sameModule(u, path) {
			return false
		}
		seen[path] = true
		there := p.unitOf(u, path)
		return there != nil && slices.ContainsFunc(there.Pkg.Imports(), reaches)
	}
	if reaches(x.ref.Path) {
		u.report(x.pos, diag.Diagnostic{
			Code: "import-cycle", Message: "the field's type would make packages import each other in a circle",
			Wanted: "a package that does not import " + u.Pkg.Path, Found: x.ref.Path, Fix: "move the type to a package that both import",
		})
	}
}
