package plan

import (
	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// roleDirectives give a type its role; a type has one at most.
var roleDirectives = []string{"aggregate", "handler", "command", "event", "processor", "projection", "saga"}

// giveRoles finds the role of each type and refuses what cannot have it.
func (u *Unit) giveRoles() {
	for _, typ := range sortedKeys(u.types) {
		decls := u.types[typ]
		var role *schema.Decl
		for _, name := range roleDirectives {
			d, ok := decls[name]
			if !ok {
				continue
			}
			if role != nil {
				u.report(d.Pos, diag.Diagnostic{
					Code: "two-roles", Message: typ + " is declared as " + article(role.Directive.Name) + " and as " + article(name),
					Wanted: "one role for a type", Found: role.Directive.Name + " and " + name,
					Fix:     "split the type, or remove one of the directives",
					Related: []diag.Related{{Pos: role.Pos, Message: "the other role"}}, See: name,
				})
				continue
			}
			role = d
		}
		switch {
		case role == nil:
			u.withoutRole(typ, decls)
		case u.typeFits(typ, role):
			u.roles[typ] = role.Directive.Name
		default:
			u.roles[typ] = "?"
		}
	}
}

func (u *Unit) withoutRole(typ string, decls map[string]*schema.Decl) {
	if _, ok := u.Pkg.Types[typ]; ok && u.embeddedByAny(typ) {
		return // options of an embedded type's methods
	}
	for _, name := range []string{"blocking", "retry"} {
		if d, ok := decls[name]; ok {
			u.report(d.Pos, diag.Diagnostic{
				Code: "no-role", Message: name + " stands on " + typ + ", which has no handlers",
				Wanted: "an aggregate, handler, processor, projection or saga", Found: "a type without a role",
				Fix: "give the type its role, such as //wow:projection, or remove " + name, See: name,
			})
		}
	}
}

// typeFits refuses a role for a type that cannot have it.
func (u *Unit) typeFits(typ string, d *schema.Decl) bool {
	role := d.Directive.Name
	t, ok := u.Pkg.Types[typ]
	if !ok {
		return u.missingType(typ, d)
	}
	message := role == "command" || role == "event"
	methods := message || role == "aggregate" // the output gives it methods
	base := u.base(t)
	switch {
	case t.Generic:
		fix := "declare an alias of the instantiation and annotate that: type X = " + typ + "[int]"
		if methods {
			fix = "embed the instantiation in a struct and annotate that: type X struct{ " + typ + "[int] }"
		}
		u.report(d.Pos, diag.Diagnostic{
			Code: "generic-type", Message: typ + " is generic, and " + article(role) + " cannot be",
			Wanted: "a type without type parameters", Found: "type " + typ + "[…]", Fix: fix, See: role,
		})
	case base == nil:
		u.report(d.Pos, diag.Diagnostic{
			Code: "foreign-type", Message: typ + " is another package's type",
			Wanted: "a type that this package declares", Found: "= " + t.Under.Text,
			Fix: "annotate the type where it is declared, or embed it in a struct of this package", See: role,
		})
	case methods && t.Kind == source.Alias && base.Generic:
		u.report(d.Pos, diag.Diagnostic{
			Code: "generic-type", Message: typ + " is an instantiation of a generic type, which cannot get the methods of " + article(role),
			Wanted: "a struct of its own", Found: "= " + t.Under.Text,
			Fix: "embed it: type " + typ + " struct{ " + t.Under.Text + " }", See: role,
		})
	case message && (base.Kind != source.Struct || t.Kind == source.Alias):
		u.report(d.Pos, diag.Diagnostic{
			Code: "not-a-struct", Message: typ + " is no struct of its own, and " + article(role) + " must be one",
			Wanted: "type " + typ + " struct{ … }", Found: kindName(t), Fix: "make it a struct", See: role,
		})
	case role == "aggregate" && base.Kind == source.Interface:
		u.report(d.Pos, diag.Diagnostic{
			Code: "not-a-state", Message: typ + " is an interface, and a state cannot be",
			Wanted: "type " + typ + " struct{ … }", Found: "an interface", Fix: "annotate the struct that holds the state", See: role,
		})
	default:
		return true
	}
	return false
}

// missingType deals with a type that YAML names and the package does not have:
// a handler type comes out as an interface, a consumer too when YAML says what
// its methods take, anything else is a mistake.
func (u *Unit) missingType(typ string, d *schema.Decl) bool {
	if d.Directive.Name == "handler" && d.YAML {
		u.Pkg.Types[typ] = &source.Type{Name: typ, Kind: source.Interface, Pos: d.Pos}
		u.Model.Interfaces = append(u.Model.Interfaces, &schema.HandlerType{Type: typ, Interface: true, Pos: d.Pos})
		return true
	}
	consumer := d.Directive.Name == schema.Processor || d.Directive.Name == schema.Projection || d.Directive.Name == schema.Saga
	if consumer && d.YAML && u.writeConsumer(typ, d) {
		return true
	}
	out := diag.Diagnostic{
		Code: "unknown-type", Message: "the package has no type " + typ,
		Wanted: "a type of package " + u.Pkg.Name, Found: typ,
		Fix: "declare it, or write fields: to have it written", See: d.Directive.Name,
	}
	switch d.Directive.Name {
	case "command", "event", "aggregate":
	default:
		out.Fix = "declare it"
		if consumer && d.YAML {
			out.Fix = "declare it; or say what its methods take, to have an interface written: methods: [{name: OnOrderPlaced, event: OrderPlaced}]"
		}
	}
	if similar := schema.Suggest(typ, sortedKeys(u.Pkg.Types)); similar != "" {
		out.Fix = "write " + similar
	}
	u.report(d.Pos, out)
	return false
}

// unused reports method directives that no handler took.
func (u *Unit) unused() {
	for _, key := range sortedMethodKeys(u.methods) {
		if u.handled[key] {
			continue
		}
		for _, name := range sortedKeys(u.methods[key]) {
			u.unusedMethod(key, name, u.methods[key][name])
		}
	}
	for _, command := range sortedKeys(u.options) {
		if u.commands[command] == nil || u.commands[command].Local == nil || u.decided(command) {
			continue // that nobody decides it was reported
		}
		for _, name := range sortedKeys(u.options[command]) {
			d := u.options[command][name]
			u.report(d.Pos, diag.Diagnostic{
				Code: "no-handler", Message: name + " is said about the handler of " + command + ", which has none in this package",
				Wanted: "a method that decides " + command, Found: "none", Fix: "write the handler, or remove " + name, See: name,
			})
		}
	}
}

func (u *Unit) unusedMethod(key methodKey, name string, d *schema.Decl) {
	out := diag.Diagnostic{
		Code: "not-a-handler", Message: name + " stands on " + key.typ + "." + key.method + ", which is not a handler",
		Wanted: "a method that takes a declared command or event", See: name,
	}
	m := u.method(key)
	if m == nil {
		var names []string
		for _, m := range u.Pkg.Methods[key.typ] {
			names = append(names, m.Name)
		}
		out.Message = key.typ + " has no method " + key.method
		out.Wanted, out.Found, out.Fix = "a method of "+key.typ, key.method, "write the method, or remove it here"
		if u.interfaces[key.typ] {
			out.Fix = "say what it takes: event: or state:"
		}
		if similar := schema.Suggest(key.method, names); similar != "" {
			out.Fix = "write " + similar
		}
		u.report(d.Pos, out)
		return
	}
	role := u.roles[key.typ]
	out.Found = m.Signature
	out.Fix = "declare its message (a tag `wow:\"key\"`, //wow:command or //wow:event), or remove " + name
	switch {
	case role == "?":
		return
	case name == "ignore" && role != "":
		return // said of an ordinary method: true, and harmless
	case role == "" && !u.embeddedByAny(key.typ):
		out.Message = name + " stands on a method of " + key.typ + ", which is not annotated"
		out.Wanted = "a method of an annotated type"
		out.Fix = "annotate the type, or remove " + name
	}
	u.report(d.Pos, out)
}

// embeddedByAny tells whether some annotated type embeds typ or is an alias of it.
func (u *Unit) embeddedByAny(typ string) bool {
	for name := range u.types {
		t := u.Pkg.Types[name]
		if t == nil {
			continue
		}
		if target := u.local(t.Under); t.Kind == source.Alias && target != nil && target.Name == typ {
			return true
		}
		for _, f := range u.fields(t) {
			if e := u.local(f.Type); f.Embedded && e != nil && e.Name == typ {
				return true
			}
		}
	}
	return false
}

// decided tells whether a handler of this package takes the command.
func (u *Unit) decided(command string) bool {
	for _, a := range u.Model.Aggregates {
		for _, d := range a.Decides {
			if d.Command == (schema.Ref{Path: u.Pkg.Path, Name: command}) {
				return true
			}
		}
	}
	return false
}
