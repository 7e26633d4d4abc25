package scan

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// check holds a node against its shape: kinds, known keys, required keys,
// values. It reports everything that is wrong and whether the node itself is
// of the right kind.
func (y *yamlScanner) check(n *yaml.Node, s *schema.Shape, name string) bool {
	switch s.Kind {
	case schema.Mapping:
		if n.Kind != yaml.MappingNode {
			y.wrongKind(n, name, "a mapping with "+strings.Join(s.KeyNames(), ", "))
			return false
		}
		return y.checkKeys(n, s, name)
	case schema.List:
		if n.Kind != yaml.SequenceNode {
			y.wrongKind(n, name, "a list")
			return false
		}
		ok := true
		for _, item := range n.Content {
			ok = y.check(item, s.Elem, "an item of "+name) && ok
		}
		return ok
	case schema.Free:
		if n.Kind != yaml.MappingNode {
			y.wrongKind(n, name, "a mapping from names to types")
			return false
		}
		y.doubles(n, name)
		for key, value := range pairs(n) {
			y.check(value, s.Elem, key.Value)
		}
		return true
	case schema.Switch:
		if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
			return true
		}
		if n.Kind != yaml.MappingNode {
			y.wrongKind(n, name, "true, or a mapping with "+strings.Join(s.KeyNames(), ", "))
			return false
		}
		return y.checkKeys(n, s, name)
	case schema.NameOr, schema.TypeText:
		if n.Kind == yaml.MappingNode {
			return y.checkKeys(n, s, name)
		}
		if s.Kind == schema.TypeText {
			s = &schema.Shape{Kind: schema.Scalar}
		}
	}
	return y.checkScalar(n, s.Arg, name)
}

func (y *yamlScanner) checkScalar(n *yaml.Node, a *schema.Arg, name string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		wanted := "a word"
		if a != nil {
			wanted = a.Pattern()
		}
		y.wrongKind(n, name, wanted)
		return false
	}
	if a == nil {
		return true
	}
	if a.Kind == schema.Flag {
		if n.Tag == "!!bool" {
			return true
		}
		y.badValue(n, name, "true or false", "write "+name+": true")
		return false
	}
	if wanted := a.Check(n.Value); wanted != "" {
		fix := strings.Replace(fixValue(a, n.Value), a.Name+"=", name+": ", 1)
		y.badValue(n, name, wanted, fix)
		return false
	}
	return true
}

func (y *yamlScanner) badValue(n *yaml.Node, name, wanted, fix string) {
	y.report(n, diag.Diagnostic{Code: "bad-value", Message: "bad value of " + name, Wanted: wanted, Found: kindOf(n), Fix: fix})
}

func (y *yamlScanner) wrongKind(n *yaml.Node, name, wanted string) {
	y.report(n, diag.Diagnostic{Code: "yaml-kind", Message: name + " has the wrong kind of value", Wanted: wanted, Found: kindOf(n), Fix: "write " + wanted})
}

// doubles reports keys that a mapping has twice.
func (y *yamlScanner) doubles(n *yaml.Node, name string) {
	first := map[string]*yaml.Node{}
	for key := range pairs(n) {
		if before, twice := first[key.Value]; twice {
			y.report(key, diag.Diagnostic{
				Code: "duplicate-key", Message: name + " has the key " + quote(key.Value) + " twice",
				Wanted: "each key once", Found: "a second " + quote(key.Value), Fix: "remove one of the two",
				Related: []diag.Related{{Pos: y.pos(before), Message: "the first one"}},
			})
			continue
		}
		first[key.Value] = key
	}
}

func (y *yamlScanner) checkKeys(n *yaml.Node, s *schema.Shape, name string) bool {
	ok := true
	y.doubles(n, name)
	for key, value := range pairs(n) {
		k, known := s.Key(key.Value)
		if known {
			y.check(value, k.Shape, k.Name)
			continue
		}
		d := diag.Diagnostic{
			Code: "unknown-key", Message: name + " has no key " + quote(key.Value),
			Wanted: "one of " + strings.Join(s.KeyNames(), ", "), Found: quote(key.Value), Fix: "remove it",
		}
		if similar := schema.Suggest(key.Value, s.KeyNames()); similar != "" {
			d.Fix = "write " + similar + ":"
			if k, _ := s.Key(similar); value.Kind == yaml.ScalarNode && k.Shape.Kind == schema.Scalar && k.Shape.Arg != nil && k.Shape.Arg.Kind != schema.Flag {
				d.Fix = strings.Replace(renamed(k.Shape.Arg, value.Value), k.Shape.Arg.Name+"=", similar+": ", 1)
			}
		}
		y.report(key, d)
	}
	for _, k := range s.Keys {
		if k.Required && at(n, k.Name) == nil {
			ok = false
			y.report(n, diag.Diagnostic{
				Code: "missing-key", Message: name + " needs the key " + k.Name,
				Wanted: k.Name + ": " + k.Shape.Summary, Found: "no " + k.Name, Fix: "add " + k.Name + ":",
			})
		}
	}
	return ok
}
