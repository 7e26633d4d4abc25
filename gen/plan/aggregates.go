package plan

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// aggregates makes the aggregates of the package and gives them their handler types.
func (u *Unit) aggregates() {
	for _, typ := range sortedKeys(u.roles) {
		if u.roles[typ] == "aggregate" {
			u.aggregate(typ, u.decl(typ, "aggregate"))
		}
	}
	for _, typ := range sortedKeys(u.roles) {
		if u.roles[typ] == "handler" {
			u.handlerType(typ, u.decl(typ, "handler"))
		}
	}
}

func (u *Unit) aggregate(typ string, d *schema.Decl) {
	a := &schema.Aggregate{Type: typ, Name: u.wireName(typ, d), Context: u.contextOf(typ, d), Pos: d.Pos}
	a.Tenant = d.Arg("tenant") == "required"
	if every, ok := strings.CutPrefix(d.Arg("snapshot"), "every:"); ok {
		a.Snapshot, _ = strconv.Atoi(every)
	}
	t := u.Pkg.Types[typ]
	for _, f := range u.fields(t) {
		tag, ok := reflect.StructTag(f.Tag).Lookup("wow")
		switch {
		case !ok || !slices.Contains(schema.FieldTags, tag): // none, or reported
		case tag == "deleted" && a.Deleted != "":
			u.report(f.TagPos, diag.Diagnostic{
				Code: "two-fields", Message: typ + " has two fields tagged deleted", Wanted: "one", Found: a.Deleted + " and " + f.Name,
				Fix: "remove one of the tags", See: "aggregate",
			})
		case tag == "deleted":
			a.Deleted = f.Name
			if !f.Type.Is("", "bool") {
				u.report(f.TagPos, diag.Diagnostic{
					Code: "not-a-bool", Message: "the field " + f.Name + ", tagged deleted, is no bool",
					Wanted: "bool", Found: f.Type.Text, Fix: "make it a bool", See: "aggregate",
				})
			}
		case tag != "key":
			u.report(f.TagPos, diag.Diagnostic{
				Code: "tag-on-state", Message: "the tag " + tag + " means nothing in a state",
				Wanted: "key, on the field that holds the aggregate's ID, or deleted", Found: tag, Fix: "remove the tag, or move it to the commands", See: "aggregate",
			})
		case a.Key != nil:
			u.twoKeys(typ, a.Key.Field, f)
		default:
			if key := u.keyOf(f, "the state's key"); key != nil {
				a.Key = key
			}
		}
	}
	if a.Key == nil && !u.doubtful[typ] {
		u.forgottenKey(typ, t)
	}
	if name, ok := d.Get("new"); ok {
		u.constructor(a, name, d)
	}
	a.Fingerprint = u.fingerprint(t)
	u.states[typ] = a
	u.Model.Aggregates = append(u.Model.Aggregates, a)
}

// commandless warns of aggregates that handle nothing. It is a warning only,
// and only when nothing is wrong: a type is often written before its commands.
func (u *Unit) commandless() {
	for _, a := range u.Model.Aggregates {
		if len(a.Decides) > 0 || len(a.Handlers) > 0 || u.found.HasErrors() {
			continue
		}
		u.warn(a.Pos, diag.Diagnostic{
			Code: "no-commands", Message: "the aggregate " + a.Type + " handles no command, so that nothing can be sent to it",
			Wanted: "at least one method that takes a command, which is a struct with a field tagged `wow:\"key\"`, or one with //wow:command above it", Found: "none",
			Fix: "write func (s *" + a.Type + ") DoIt(cmd DoIt) (ItDone, error), or mark the type that its method takes", See: "command",
		})
	}
}

// forgottenKey reports a state whose field is named like its ID and lacks the
// tag: it would stay empty, and nobody would hear of it. A state without such a
// field is fine; it does not know its ID.
func (u *Unit) forgottenKey(typ string, t *source.Type) {
	for _, f := range u.fields(t) {
		if _, tagged := reflect.StructTag(f.Tag).Lookup("wow"); tagged || !f.Type.Is("", "string") {
			continue
		}
		switch name := strings.ToLower(f.Name); name {
		case "id", strings.ToLower(typ) + "id", strings.ToLower(typ) + "_id":
		default:
			continue
		}
		fix := "tag it `wow:\"key\"`"
		if slices.ContainsFunc(u.Model.Written, func(w *schema.Written) bool { return w.Type == typ }) {
			fix = "write " + f.Name + ": {type: " + f.Type.Text + ", tag: key}"
		}
		u.missing(typ, f.Pos, diag.Diagnostic{
			Code: "untagged-key", Message: "the field " + f.Name + " of the state " + typ + " is named like its ID and has no tag: it would stay empty",
			Wanted: "`wow:\"key\"` on the field that holds the aggregate's ID, or no such field", Found: f.Name + " " + f.Type.Text + " without a tag",
			Fix: fix + "; rename the field, when it holds something else", See: "aggregate",
		})
		return
	}
}

// wireName is the declared or derived wire name of a type.
func (u *Unit) wireName(typ string, d *schema.Decl) string {
	if name, ok := d.Get("name"); ok {
		return name
	}
	name := schema.Snake(typ)
	arg, _ := schema.Lookup("aggregate")
	wire, _ := arg.Arg("name")
	if wanted := wire.Check(name); wanted != "" {
		pos := u.Pkg.Types[typ].Pos
		u.report(pos, diag.Diagnostic{
			Code: "wire-name", Message: "no wire name can be made from the name " + typ,
			Wanted: wanted, Found: name, Fix: "give one with name=",
		})
	}
	return name
}

func (u *Unit) contextOf(typ string, d *schema.Decl) string {
	if c, ok := d.Get("context"); ok {
		return c
	}
	if u.Model.Context == "" {
		fix := "write //wow:" + d.Directive.Name + " context=" + schema.Snake(u.Pkg.Name)
		if d.YAML {
			fix = "write context: " + schema.Snake(u.Pkg.Name)
		}
		u.missing(typ, d.Pos, diag.Diagnostic{
			Code: "no-context", Message: typ + " belongs to no context",
			Wanted: "context= here, or //wow:context above the package clause", Found: "neither",
			Fix: fix, See: "context",
		})
		return "?"
	}
	return u.Model.Context
}

func (u *Unit) constructor(a *schema.Aggregate, name string, d *schema.Decl) {
	pos := d.ArgPos("new")
	fn, ok := u.Pkg.Funcs[name]
	if !ok {
		out := diag.Diagnostic{
			Code: "unknown-function", Message: "the package has no function " + name,
			Wanted: "func " + name + "() *" + a.Type, Found: "none", Fix: "write it, or leave new= out for the zero value", See: "aggregate",
		}
		if similar := schema.Suggest(name, sortedKeys(u.Pkg.Funcs)); similar != "" {
			out.Fix = "write new=" + similar
		}
		u.report(pos, out)
		return
	}
	good := len(fn.Params) == 0 && !fn.Generic && len(fn.Results) == 1
	if good {
		r := fn.Results[0]
		a.NewValue = r.Kind == source.Named
		if r.Kind == source.Pointer {
			r = r.Elem
		}
		good = r.Kind == source.Named && r.Path == u.Pkg.Path && r.Name == a.Type
	}
	if !good {
		u.report(pos, diag.Diagnostic{
			Code: "bad-constructor", Message: name + " does not make an empty " + a.Type,
			Wanted: "func " + name + "() *" + a.Type + ", or func " + name + "() " + a.Type, Found: fn.Signature,
			Fix: "change the function, or leave new= out for the zero value", See: "aggregate",
			Related: []diag.Related{{Pos: fn.Pos, Message: "the function"}},
		})
		return
	}
	a.New = name
}

// handlerType finds the aggregate of a handler type.
func (u *Unit) handlerType(typ string, d *schema.Decl) {
	h := &schema.HandlerType{Type: typ, Pos: d.Pos}
	base := u.base(u.Pkg.Types[typ])
	h.Interface = base != nil && base.Kind == source.Interface
	name, given := d.Get("aggregate")
	var a *schema.Aggregate
	for _, candidate := range u.Model.Aggregates {
		if given && (candidate.Name == name || candidate.FullName() == name) {
			a = candidate
		}
	}
	if !given && len(u.Model.Aggregates) == 1 {
		a = u.Model.Aggregates[0]
	}
	if a == nil {
		var names []string
		for _, candidate := range u.Model.Aggregates {
			names = append(names, candidate.Name)
		}
		out := diag.Diagnostic{
			Code: "unknown-aggregate", Message: "the handler type " + typ + " names no aggregate of this package",
			Wanted: "aggregate= with one of " + strings.Join(names, ", "), Found: name, Fix: "write aggregate=, with an aggregate that is declared in this package", See: "handler",
		}
		if len(names) == 0 {
			out.Wanted, out.Fix = "an aggregate in the same package", "move the handler type to the package of the state"
		}
		if !given {
			out.Found = "no aggregate="
		}
		if similar := schema.Suggest(name, names); similar != "" && given {
			out.Fix = "write aggregate=" + similar
		}
		u.report(d.ArgPos("aggregate"), out)
		u.roles[typ] = "?"
		return
	}
	h.Aggregate = a.Type
	for i, written := range u.Model.Interfaces {
		if written.Type == typ {
			u.Model.Interfaces[i] = h
		}
	}
	a.Handlers = append(a.Handlers, h)
}
