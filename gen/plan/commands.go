package plan

import (
	"reflect"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// findCommands finds the structs that are commands: by a tag, by a directive
// or YAML, or as wow.Command[T] in a method of an annotated type.
func (u *Unit) findCommands() {
	for _, typ := range sortedKeys(u.Pkg.Types) {
		role := u.roles[typ]
		switch {
		case role == "command":
			u.addCommand(typ, how(u.decl(typ, "command"))+" declares it")
		case role == "" && u.isStruct(schema.Ref{Path: u.Pkg.Path, Name: typ}) && u.tagged(typ):
			if u.Pkg.Types[typ].Generic {
				continue // no command can be generic; its embedders are looked at on their own
			}
			u.addCommand(typ, "a field is tagged `wow:\"key\"`")
		}
	}
	for _, typ := range sortedKeys(u.roles) {
		if role := u.roles[typ]; role != "aggregate" && role != "handler" {
			continue
		}
		for _, m := range u.methodsOf(typ) {
			for _, p := range m.Params {
				if arg, ok := p.Type.Wow("Command"); ok {
					if r := u.ref(arg); u.isStruct(r) && u.roles[r.Name] == "" && u.commands[r.Name] == nil {
						u.addCommand(r.Name, typ+"."+m.Name+" takes wow.Command["+r.Name+"]")
					}
				}
			}
		}
	}
	u.strayTags()
}

func how(d *schema.Decl) string {
	if d.YAML {
		return "YAML"
	}
	return "//wow:" + d.Directive.Name
}

// tagged tells whether a struct has a field tagged as a key.
func (u *Unit) tagged(typ string) bool {
	return slices.ContainsFunc(u.fields(u.Pkg.Types[typ]), func(f promotedField) bool {
		tag, _ := reflect.StructTag(f.Tag).Lookup("wow")
		return tag == "key"
	})
}

func (u *Unit) addCommand(typ, why string) {
	t := u.Pkg.Types[typ]
	c := &schema.Command{Type: typ, Name: schema.Snake(typ), Pos: t.Pos, Why: why}
	d := u.decl(typ, "command")
	c.Name = u.wireName(typ, d)
	for _, mode := range []schema.Mode{schema.Create, schema.Upsert, schema.Exists, schema.Recover} {
		if _, ok := d.Get(string(mode)); ok {
			c.Mode, c.Marked = mode, true
		}
	}
	c.Timeout = d.Arg("timeout")
	u.commands[typ] = c
}

// commandFields finds the fields of a command that mean something to wow.
func (u *Unit) commandFields(c *schema.Command) {
	d := u.decl(c.Type, "command")
	named, byName := d.Get("key")
	var key *promotedField
	fields := u.fields(u.Pkg.Types[c.Type])
	roles := map[string]promotedField{}
	for i, f := range fields {
		tag, _ := reflect.StructTag(f.Tag).Lookup("wow")
		if byName && f.Name == named {
			key = &fields[i]
			continue
		}
		if tag == "key" {
			switch {
			case byName:
				u.report(f.TagPos, diag.Diagnostic{
					Code: "two-keys", Message: c.Type + " has two keys", Wanted: "one key", Found: f.Name + ", and key=" + named,
					Fix: "remove the tag or key=", Related: []diag.Related{{Pos: d.ArgPos("key"), Message: "the other key"}}, See: "command",
				})
			case key != nil:
				u.twoKeys(c.Type, key.Name, f)
			default:
				key = &fields[i]
			}
			continue
		}
		if tag == "" || !slices.Contains(schema.FieldTags, tag) {
			continue
		}
		if first, twice := roles[tag]; twice {
			u.report(f.TagPos, diag.Diagnostic{
				Code: "two-fields", Message: c.Type + " has two fields tagged " + tag, Wanted: "one", Found: first.Name + " and " + f.Name,
				Fix: "remove one of the tags", Related: []diag.Related{{Pos: first.TagPos, Message: "the first one"}}, See: "command",
			})
			continue
		}
		roles[tag] = f
	}
	if f, ok := roles["deleted"]; ok {
		u.report(f.TagPos, diag.Diagnostic{
			Code: "stray-tag", Message: "the tag deleted stands in " + c.Type + ", which is a command",
			Wanted: "the tag in a state", Found: "a command", Fix: "move it to the bool field of the state that says so, or remove it", See: "aggregate",
		})
	}
	if f, ok := roles["tenant"]; ok {
		c.Tenant = u.keyOf(f, "the tenant")
	}
	if f, ok := roles["request"]; ok {
		c.Request = u.keyOf(f, "the request ID")
	}
	if f, ok := roles["version"]; ok {
		c.Version = u.versionOf(f)
	}
	method := u.hasMethod(c.Type, "AggregateID")
	switch {
	case byName && key == nil:
		u.noSuchField(c, named, d, fields)
	case key != nil && method != nil:
		u.report(key.Pos, diag.Diagnostic{
			Code: "two-keys", Message: c.Type + " has two keys", Wanted: "one key", Found: "the field " + key.Name + " and the method AggregateID",
			Fix: "remove one of the two", Related: []diag.Related{{Pos: method.Pos, Message: "the method"}}, See: "command",
		})
	case key != nil:
		if c.Key = u.keyOf(*key, "the key"); c.Key == nil {
			c.Key = &schema.Key{Field: key.Name, Type: schema.Ref{Name: "string"}}
		}
	case method != nil:
		c.Key = &schema.Key{Method: true}
		if len(method.Params) != 0 || len(method.Results) != 1 || !method.Results[0].Is("", "string") || method.Pointer {
			u.report(method.Pos, diag.Diagnostic{
				Code: "bad-key-method", Message: "AggregateID cannot be the key of " + c.Type, Source: method.Signature,
				Wanted: "func (" + c.Type + ") AggregateID() string", Found: method.Signature, Fix: "change its signature", See: "command",
			})
		}
	default:
		u.missing(c.Type, c.Pos, diag.Diagnostic{
			Code: "no-key", Message: "the command " + c.Type + " has no key",
			Wanted: "a field tagged `wow:\"key\"`, key=Field, or a method AggregateID() string", Found: "none of them",
			Fix: "tag the field that holds the ID of its aggregate: `wow:\"key\"`", See: "command",
		})
	}
}

func (u *Unit) noSuchField(c *schema.Command, name string, d *schema.Decl, fields []promotedField) {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	out := diag.Diagnostic{
		Code: "unknown-field", Message: c.Type + " has no field " + name,
		Wanted: "one of " + strings.Join(names, ", "), Found: name, Fix: "name the field that holds the ID", See: "command",
	}
	if similar := schema.Suggest(name, names); similar != "" {
		out.Fix = "write key=" + similar
	}
	u.report(d.ArgPos("key"), out)
}

func (u *Unit) twoKeys(typ, first string, f promotedField) {
	u.report(f.TagPos, diag.Diagnostic{
		Code: "two-keys", Message: typ + " has two keys", Wanted: "one field tagged `wow:\"key\"`", Found: first + " and " + f.Name,
		Fix: "remove one of the tags; put a compound ID into one field, or write AggregateID() string",
	})
}

// keyOf checks that a field can hold an ID: something whose underlying type is
// string, as far as syntax tells. It returns nil when it cannot.
func (u *Unit) keyOf(f promotedField, what string) *schema.Key {
	e := f.Type
	r := u.ref(e)
	ok := e.Kind == source.Named && len(e.Args) == 0 && !f.Embedded
	if ok && r.Path == u.Pkg.Path {
		b := u.base(u.Pkg.Types[r.Name])
		ok = b != nil && (b.Kind == source.Defined || b.Kind == source.Alias) && (b.Under.Is("", "string") || (b.Under.Kind == source.Named && b.Under.Path != "" && b.Under.Path != u.Pkg.Path))
	}
	if ok && r.Path == "" {
		ok = r.Name == "string"
	}
	if !ok {
		fix := "make it a string"
		if what == "the key" {
			fix += ", or write a method AggregateID() string that renders it"
		}
		u.report(f.Pos, diag.Diagnostic{
			Code: "unusable-key", Message: what + " " + f.Name + " has a type that cannot be one",
			Wanted: "a type whose underlying type is string", Found: e.Text,
			Fix: fix, See: "command",
		})
		return nil
	}
	return &schema.Key{Field: f.Name, Type: r}
}

var integers = map[string]bool{"int": true, "int8": true, "int16": true, "int32": true, "int64": true, "uint8": true, "uint16": true, "uint32": true, "uint": true, "uint64": true}

func (u *Unit) versionOf(f promotedField) *schema.Key {
	r := u.ref(f.Type)
	ok := f.Type.Kind == source.Named && (r.Path != "" || integers[r.Name])
	if ok && r.Path == u.Pkg.Path {
		b := u.base(u.Pkg.Types[r.Name])
		ok = b != nil && b.Kind == source.Defined && b.Under.Kind == source.Named && b.Under.Path == "" && integers[b.Under.Name]
	}
	if !ok {
		u.report(f.Pos, diag.Diagnostic{
			Code: "unusable-version", Message: "the expected version " + f.Name + " has a type that cannot be one",
			Wanted: "an integer type", Found: f.Type.Text, Fix: "make it an int64", See: "command",
		})
		return nil
	}
	return &schema.Key{Field: f.Name, Type: r}
}

// strayTags reports wow tags in structs where they mean nothing.
func (u *Unit) strayTags() {
	for _, typ := range sortedKeys(u.Pkg.Types) {
		role := u.roles[typ]
		t := u.Pkg.Types[typ]
		if t.Kind != source.Struct || u.commands[typ] != nil || role == "aggregate" || role == "?" || u.embeddedInMessage(typ) {
			continue
		}
		for _, f := range t.Fields {
			tag, ok := reflect.StructTag(f.Tag).Lookup("wow")
			if !ok || !slices.Contains(schema.FieldTags, tag) || t.Generic {
				continue
			}
			what := "a struct that is no command"
			if role != "" {
				what = article(role)
			}
			d := diag.Diagnostic{
				Code: "stray-tag", Message: "the tag " + tag + " stands in " + typ + ", which is " + what,
				Wanted: "the tag in a command", Found: what, Fix: "add a field tagged `wow:\"key\"` or //wow:command, or remove the tag", See: "command",
			}
			if tag == "deleted" {
				d.Wanted, d.Fix, d.See = "the tag in a state", "add //wow:aggregate, or remove the tag", "aggregate"
			}
			u.report(f.TagPos, d)
		}
	}
}

// embeddedInMessage tells whether a command or state embeds the struct.
func (u *Unit) embeddedInMessage(typ string) bool {
	embeds := func(name string) bool {
		return slices.ContainsFunc(u.fields(u.Pkg.Types[name]), func(f promotedField) bool {
			e := u.local(f.Type)
			return f.Embedded && e != nil && e.Name == typ
		})
	}
	for name := range u.commands {
		if name != typ && embeds(name) {
			return true
		}
	}
	for name := range u.states {
		if embeds(name) {
			return true
		}
	}
	return false
}

// finishCommands decides what only the handlers tell: the aggregate of each
// command, and its mode.
func (u *Unit) finishCommands() {
	creates := map[*schema.Aggregate]bool{}
	of := map[string]*schema.Aggregate{}
	for _, a := range u.Model.Aggregates {
		for _, d := range a.Decides {
			if d.Command.Path == u.Pkg.Path {
				of[d.Command.Name] = a
			}
		}
	}
	for _, typ := range sortedKeys(u.commands) {
		c := u.commands[typ]
		if of[typ] == nil && u.decl(typ, "command") == nil && u.embeddedInMessage(typ) {
			delete(u.commands, typ) // the common fields of other commands
			continue
		}
		u.commandFields(c)
		u.targetOf(c, of[typ])
		if c.Local != nil && c.Mode == schema.Create {
			creates[c.Local] = true
		}
		u.checkCodec(typ, "command")
		c.Fields = u.lockFields(typ)
	}
	for _, typ := range sortedKeys(u.commands) {
		c := u.commands[typ]
		if c.Local == nil {
			continue
		}
		if c.Mode == schema.Recover && c.Local.Deleted == "" {
			u.report(u.decl(typ, "command").Pos, diag.Diagnostic{
				Code: "never-deleted", Message: typ + " recovers " + c.Local.Type + ", which cannot be deleted",
				Wanted: "a bool field of " + c.Local.Type + " tagged `wow:\"deleted\"`", Found: "none", Fix: "add Deleted bool `wow:\"deleted\"`, and an event that sets it", See: "aggregate",
			})
		}
		if !c.Marked {
			c.Mode = schema.Upsert
			if creates[c.Local] {
				c.Mode = schema.Exists
			}
		}
		u.checkTenant(c, c.Local.Tenant, c.Local.FullName())
	}
}

// checkTenant holds a command's tenant field against its aggregate.
func (u *Unit) checkTenant(c *schema.Command, tenants bool, aggregate string) {
	switch {
	case tenants && c.Tenant == nil:
		u.report(c.Pos, diag.Diagnostic{
			Code: "no-tenant", Message: "the command " + c.Type + " carries no tenant",
			Wanted: "a field tagged `wow:\"tenant\"`, because " + aggregate + " has tenant=required", Found: "none", Fix: "add TenantID string `wow:\"tenant\"`", See: "aggregate",
		})
	case !tenants && c.Tenant != nil:
		u.report(c.Pos, diag.Diagnostic{
			Code: "needless-tenant", Message: "the command " + c.Type + " carries a tenant that " + aggregate + " does not have",
			Wanted: "no field tagged tenant, or tenant=required at the aggregate", Found: "the field " + c.Tenant.Field,
			Fix: "write tenant=required at the aggregate, or remove the tag", See: "aggregate",
		})
	}
}

// targetOf finds the aggregate of a command: the one that decides it here, or
// the one of another package that it names.
func (u *Unit) targetOf(c *schema.Command, local *schema.Aggregate) {
	d := u.decl(c.Type, "command")
	name, named := d.Get("aggregate")
	context, hasContext := d.Get("context")
	if local != nil {
		c.Local, c.Context, c.Aggregate = local, local.Context, local.Name
		if (named && name != local.Name) || (hasContext && context != local.Context) {
			u.report(d.Pos, diag.Diagnostic{
				Code: "wrong-aggregate", Message: c.Type + " names another aggregate than the one that decides it",
				Wanted: local.FullName(), Found: strings.Trim(context+"."+name, "."), Fix: "leave aggregate= and context= out: the handler says it",
				Related: []diag.Related{{Pos: local.Pos, Message: "the aggregate"}}, See: "command",
			})
		}
		return
	}
	if hasContext && !named {
		u.report(d.ArgPos("context"), diag.Diagnostic{
			Code: "missing-argument", Message: c.Type + " names a context and no aggregate", Wanted: "aggregate= beside context=", Found: "context=" + context,
			Fix: "add aggregate=", See: "command",
		})
		return
	}
	if !hasContext {
		context = u.Model.Context
		for _, a := range u.Model.Aggregates {
			if named && a.Name == name {
				context = a.Context
			}
		}
	}
	own := false
	for _, a := range u.Model.Aggregates {
		own = own || (named && a.Name == name && a.Context == context)
	}
	if !named || own {
		u.missing(c.Type, c.Pos, diag.Diagnostic{
			Code: "no-handler", Message: "nobody decides the command " + c.Type,
			Wanted: u.wantedHandler(c.Type, name), Found: "no such method",
			Fix: "write the handler; or name the aggregate, where that is in another package: //wow:command context= aggregate=", See: "command",
		})
		return
	}
	if context == "" {
		u.report(d.Pos, diag.Diagnostic{
			Code: "no-context", Message: c.Type + " names an aggregate without its context", Wanted: "context= beside aggregate=, or //wow:context above the package clause",
			Found: "neither", Fix: "add context=", See: "command",
		})
		return
	}
	c.Context, c.Aggregate = context, name
	u.uses = append(u.uses, use{kind: targets, pos: d.Pos, command: c})
}

func (u *Unit) wantedHandler(command, aggregate string) string {
	state := "State"
	for _, a := range u.Model.Aggregates {
		if len(u.Model.Aggregates) == 1 || a.Name == aggregate {
			state = a.Type
		}
	}
	return "func (s *" + state + ") " + command + "(cmd " + command + ") (Event, error)"
}
