package plan

import (
	"slices"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// collisions reports names that are given twice on the wire.
func (p *Program) collisions() {
	type named struct {
		u    *Unit
		pos  schema.Pos
		what string
		name string
		typ  string
		see  string
		fix  string
	}
	var all []named
	for _, u := range p.Units {
		for _, a := range u.Model.Aggregates {
			all = append(all, named{u, a.Pos, "aggregates", a.FullName(), a.Type, "aggregate", "name="})
		}
		for _, c := range u.Model.Commands {
			all = append(all, named{u, c.Pos, "commands of " + c.Target(), c.Name, c.Type, "command", "//wow:command name="})
		}
		for _, e := range u.Model.Events {
			for _, from := range e.Aggregates {
				all = append(all, named{u, e.Pos, "events of " + from, e.Name + " revision " + itoa(e.Revision), e.Type, "event", "//wow:event name="})
			}
		}
		for _, c := range u.Model.Consumers {
			all = append(all, named{u, c.Pos, c.Kind + "s", c.FullName(), c.Type, c.Kind, "name="})
		}
	}
	slices.SortStableFunc(all, func(a, b named) int { return a.pos.Compare(b.pos) })
	type key struct{ what, name string }
	first := map[key]named{}
	for _, n := range all {
		k := key{n.what, n.name}
		before, twice := first[k]
		if !twice {
			first[k] = n
			continue
		}
		if before.typ == n.typ && before.u == n.u {
			continue
		}
		n.u.report(n.pos, diag.Diagnostic{
			Code: "name-collision", Message: "two " + n.what + " are called " + n.name,
			Wanted: "a wire name of its own for each", Found: before.typ + " and " + n.typ, Fix: "give one another name: " + n.fix,
			Related: []diag.Related{{Pos: before.pos, Message: "the other one"}}, See: n.see,
		})
	}
}

// goNames reports generated names that the user has already.
func (p *Program) goNames() {
	for _, u := range p.Units {
		taken := func(pos schema.Pos, name, of string) {
			if at, ok := u.Pkg.Names[name]; ok {
				u.report(at, diag.Diagnostic{
					Code: "go-name-collision", Message: "the name " + name + " is needed for what is generated for " + of,
					Wanted: "a package without a " + name + " of its own", Found: name, Fix: "rename it, or rename " + of,
					Related: []diag.Related{{Pos: pos, Message: of}},
				})
			}
		}
		for _, a := range u.Model.Aggregates {
			n := schema.Export(a.Type)
			for _, name := range []string{"Register" + n, n + "Client", "New" + n + "Client"} {
				taken(a.Pos, name, a.Type)
			}
			u.methodTaken(a.Type, a.Pos, "WowState")
		}
		for _, c := range u.Model.Consumers {
			taken(c.Pos, "Register"+schema.Export(c.Type), c.Type)
		}
		for _, c := range u.Model.Commands {
			u.methodTaken(c.Type, c.Pos, "WowTarget", "WowCommand", "WowRequest", "WowExpected")
		}
		for _, e := range u.Model.Events {
			u.methodTaken(e.Type, e.Pos, "WowEvent")
		}
		for _, w := range u.Model.Written {
			taken(w.Pos, w.Type, w.Type)
		}
		u.shadowed()
	}
}

// shadowed reports names of the package that hide Go's own from what is
// generated, where they mean the same in every package.
func (u *Unit) shadowed() {
	m := u.Model
	if len(m.Aggregates)+len(m.Consumers)+len(m.Commands)+len(m.Events) == 0 {
		return
	}
	for _, name := range []string{"bool", "byte", "error", "false", "int64", "new", "nil", "string", "true", "uint"} {
		if at, ok := u.Pkg.Names[name]; ok {
			u.report(at, diag.Diagnostic{
				Code: "go-name-collision", Message: "the package hides Go's own " + name + ", which what is generated needs",
				Wanted: "a package without a " + name + " of its own", Found: name, Fix: "rename it",
			})
		}
	}
}

func (u *Unit) methodTaken(typ string, pos schema.Pos, names ...string) {
	t := u.Pkg.Types[typ]
	if t == nil {
		return
	}
	for _, name := range names {
		at := schema.Pos{}
		for _, m := range u.Pkg.Methods[typ] {
			if m.Name == name {
				at = m.Pos
			}
		}
		for _, f := range t.Fields {
			if f.Name == name {
				at = f.Pos
			}
		}
		if at.IsValid() {
			u.report(at, diag.Diagnostic{
				Code: "go-name-collision", Message: "the name " + typ + "." + name + " is needed for what is generated for " + typ,
				Wanted: "a type without a " + name + " of its own", Found: name, Fix: "rename it",
				Related: []diag.Related{{Pos: pos, Message: typ}},
			})
		}
	}
}
