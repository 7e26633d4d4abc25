package scan

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// document turns a checked document into declarations. Parts that the check
// complained about are passed over.
func (y *yamlScanner) document(root *yaml.Node) {
	if c := at(root, "context"); c != nil && c.Kind == yaml.ScalarNode {
		y.declare("context", schema.Target{}, c, []schema.Value{{Name: "name", Text: c.Value, Pos: y.pos(c)}}, "")
	}
	for _, item := range items(at(root, "aggregates")) {
		y.aggregate(item)
	}
	for _, item := range items(at(root, "handlers")) {
		y.typed("handler", item)
	}
	for _, item := range items(at(root, "commands")) {
		y.command(item, nil)
	}
	for _, item := range items(at(root, "events")) {
		y.event(item, nil)
	}
	for _, kind := range []string{"processor", "projection", "saga"} {
		for _, item := range items(at(root, kind+"s")) {
			if item.Kind == yaml.MappingNode {
				y.typed(kind, item)
			}
		}
	}
	for _, item := range items(at(root, "upcasts")) {
		if item.Kind == yaml.ScalarNode {
			y.declare("upcast", schema.Target{Func: item.Value}, item, nil, "")
		}
	}
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// declare adds one declaration, with the values that the table accepts.
func (y *yamlScanner) declare(directive string, target schema.Target, n *yaml.Node, values []schema.Value, text string) *schema.Decl {
	def, _ := schema.Lookup(directive)
	decl := &schema.Decl{Directive: def, Target: target, Pos: y.pos(n), YAML: true, Text: text}
	for _, v := range values {
		a, ok := def.Arg(v.Name)
		if def.Positional != nil && v.Name == def.Positional.Name {
			a, ok = def.Positional, true
		}
		if _, twice := decl.Get(v.Name); ok && !twice && a.Check(v.Text) == "" {
			decl.Args = append(decl.Args, v)
		}
	}
	y.out.Decls = append(y.out.Decls, decl)
	return decl
}

// values collects the scalar keys of a mapping, flags as the table has them.
func (y *yamlScanner) values(n *yaml.Node) []schema.Value {
	var values []schema.Value
	for key, value := range pairs(n) {
		if value.Kind != yaml.ScalarNode {
			continue
		}
		name, text := key.Value, value.Value
		switch {
		case name == "mode": // one key for the flags create, upsert, exists
			name, text = text, "true"
		case name == "as":
			name = "name"
		case value.Tag == "!!bool" && !isTrue(value):
			continue
		case value.Tag == "!!bool":
			text = "true"
		}
		values = append(values, schema.Value{Name: name, Text: text, Pos: y.pos(value)})
	}
	return values
}

func isTrue(n *yaml.Node) bool {
	var b bool
	return n.Decode(&b) == nil && b
}

// typeOf returns the Go type that an item names.
func (y *yamlScanner) typeOf(n *yaml.Node) (string, *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, n
	}
	t := at(n, "type")
	if t == nil || t.Kind != yaml.ScalarNode {
		return "", nil
	}
	return t.Value, t
}

// typed declares a type with its options and methods.
func (y *yamlScanner) typed(directive string, n *yaml.Node, more ...schema.Value) {
	name, at0 := y.typeOf(n)
	if name == "" {
		return
	}
	target := schema.Target{Type: name}
	y.declare(directive, target, at0, append(y.values(n), more...), "")
	y.options(n, target)
	y.methods(n, name, directive == "saga")
}

func (y *yamlScanner) aggregate(n *yaml.Node) {
	name, _ := y.typeOf(n)
	if name == "" {
		return
	}
	y.typed("aggregate", n)
	y.fields(n, name)
	wire := schema.Snake(name)
	if w := at(n, "name"); w != nil && w.Kind == yaml.ScalarNode {
		wire = w.Value
	}
	of := func(pos *yaml.Node) *schema.Value {
		return &schema.Value{Name: "aggregate", Text: wire, Pos: y.pos(pos)}
	}
	for _, item := range items(at(n, "handlers")) {
		y.typed("handler", item, *of(item))
	}
	for _, item := range items(at(n, "commands")) {
		y.command(item, of(item))
	}
	for _, item := range items(at(n, "events")) {
		y.event(item, of(item))
	}
}

func (y *yamlScanner) command(n *yaml.Node, aggregate *schema.Value) {
	name, pos := y.typeOf(n)
	if name == "" {
		return
	}
	values := y.values(n)
	if aggregate != nil {
		values = append(values, *aggregate)
	}
	y.declare("command", schema.Target{Type: name}, pos, values, "")
	y.fields(n, name)
	y.options(at(n, "handle"), schema.Target{Command: name})
}

func (y *yamlScanner) event(n *yaml.Node, aggregate *schema.Value) {
	name, pos := y.typeOf(n)
	if name == "" {
		return
	}
	values := y.values(n)
	if aggregate != nil {
		values = append(values, *aggregate)
	}
	y.declare("event", schema.Target{Type: name}, pos, values, "")
	y.fields(n, name)
}

// options declares blocking and retry.
func (y *yamlScanner) options(n *yaml.Node, target schema.Target) {
	if b := at(n, "blocking"); b != nil && (b.Kind == yaml.MappingNode || isTrue(b)) {
		y.declare("blocking", target, b, y.values(b), "")
	}
	if r := at(n, "retry"); r != nil && r.Kind == yaml.MappingNode {
		decl := y.declare("retry", target, r, y.values(r), "")
		saysSomething(decl, y.found)
	}
}

// methods declares what a type's methods need said.
func (y *yamlScanner) methods(n *yaml.Node, typ string, refusals bool) {
	for _, item := range items(at(n, "methods")) {
		name := at(item, "name")
		if name == nil || name.Kind != yaml.ScalarNode {
			continue
		}
		target := schema.Target{Type: typ, Method: name.Value}
		y.options(item, target)
		if ignore := at(item, "ignore"); ignore != nil && ignore.Kind == yaml.ScalarNode {
			y.declare("ignore", target, name, nil, ignore.Value)
		}
		y.takes(item, typ, name, refusals)
		var on []schema.Value
		for _, v := range y.values(item) {
			if v.Name == "from" {
				on = append(on, v)
			}
		}
		if as := at(item, "as"); as != nil && as.Kind == yaml.ScalarNode {
			on = append(on, schema.Value{Name: "name", Text: as.Value, Pos: y.pos(as)})
		}
		if len(on) > 0 {
			y.declare("on", target, name, on, "")
		}
	}
}

// takes notes what a method takes of a type that is to be written.
func (y *yamlScanner) takes(n *yaml.Node, typ string, method *yaml.Node, refusals bool) {
	var first *yaml.Node
	for key, value := range pairs(n) {
		if !slices.Contains(schema.TakesKeys, key.Value) || value.Kind != yaml.ScalarNode {
			continue
		}
		if first != nil {
			y.report(key, diag.Diagnostic{
				Code: "conflicting-arguments", Message: first.Value + " and " + key.Value + " exclude each other",
				Wanted: "one thing that the method takes", Found: first.Value + " and " + key.Value, Fix: "write a method for each",
			})
			return
		}
		first = key
		kind := key.Value
		if kind == "refused" && !refusals {
			kind = "" // the check has complained
		}
		y.out.Takes = append(y.out.Takes, &schema.Takes{Type: typ, Method: method.Value, Kind: kind, Message: strings.TrimSpace(value.Value), Pos: y.pos(value)})
	}
}

// fields asks for a type to be written.
func (y *yamlScanner) fields(n *yaml.Node, typ string) {
	list := at(n, "fields")
	if list == nil || list.Kind != yaml.MappingNode {
		return
	}
	out := &schema.Fields{Type: typ, Pos: y.pos(list)}
	for key, value := range pairs(list) {
		f := schema.Field{Name: key.Value, Pos: y.pos(key)}
		switch value.Kind {
		case yaml.ScalarNode:
			f.Type = strings.TrimSpace(value.Value)
		case yaml.MappingNode:
			if t := at(value, "type"); t != nil {
				f.Type = strings.TrimSpace(t.Value)
			}
			if t := at(value, "tag"); t != nil {
				f.Tag = t.Value
			}
		}
		out.Fields = append(out.Fields, f)
	}
	y.out.Fields = append(y.out.Fields, out)
}
