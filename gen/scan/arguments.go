package scan

import (
	"go/ast"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// arguments reads and checks a directive's arguments into decl. It reports
// whether the declaration can be used.
func (s *goScanner) arguments(decl *schema.Decl, d *ast.Directive) bool {
	def := decl.Directive
	if def.Text {
		decl.Text = d.Args
		return true
	}
	args, err := d.ParseArgs()
	if err != nil {
		s.found.Add(diag.Diagnostic{
			Pos: decl.Pos, Code: "bad-quoting", Message: "the arguments of //wow:" + def.Name + " cannot be read",
			Wanted: "words without spaces: " + def.Usage(), Found: d.Args, Fix: "write the values without quotes", See: def.Name,
		})
		return false
	}
	ok, positional := true, false
	for _, arg := range args {
		pos := s.file.Pos(arg.Pos)
		name, value, assigned := strings.Cut(arg.Arg, "=")
		if def.Positional != nil && (!assigned || name == def.Positional.Name) {
			if !assigned {
				value = name
			}
			if positional {
				s.twice(pos, def, def.Positional.Name, decl.ArgPos(def.Positional.Name))
				ok = false
				continue
			}
			positional = true
			ok = s.value(decl, def.Positional, schema.Value{Name: def.Positional.Name, Text: value, Pos: pos}) && ok
			continue
		}
		a, known := def.Arg(name)
		if !known {
			s.unknownArgument(pos, def, arg.Arg, name)
			ok = false
			continue
		}
		if !assigned {
			value = "true"
			if a.Kind != schema.Flag {
				s.badValue(pos, def, a, arg.Arg, a.Usage(), "write "+a.Usage())
				ok = false
				continue
			}
		} else if a.Kind == schema.Flag {
			s.badValue(pos, def, a, arg.Arg, "the bare word "+a.Name, "write "+a.Name+" alone, or leave it out")
			ok = false
			continue
		}
		ok = s.value(decl, a, schema.Value{Name: name, Text: value, Pos: pos}) && ok
	}
	if def.Positional != nil && !positional {
		s.found.Add(diag.Diagnostic{
			Pos: decl.Pos, Code: "missing-argument", Message: "//wow:" + def.Name + " needs " + def.Positional.Summary,
			Wanted: def.Usage(), Found: "no argument", Fix: "write " + def.Usage(), See: def.Name,
		})
		return false
	}
	return saysSomething(decl, s.found) && ok
}

// saysSomething refuses a directive whose arguments are its whole meaning, when it has none.
func saysSomething(decl *schema.Decl, found *diag.List) bool {
	name := decl.Directive.Name
	if (name != "retry" && name != "on") || len(decl.Args) > 0 {
		return true
	}
	found.Add(diag.Diagnostic{
		Pos: decl.Pos, Code: "missing-argument", Message: name + " says nothing without an argument",
		Wanted: decl.Directive.Usage(), Found: "no argument", Fix: "give one of " + strings.Join(decl.Directive.Names(), ", ") + ", or remove it", See: name,
	})
	return false
}

// value checks one argument against the table and adds it to decl.
func (s *goScanner) value(decl *schema.Decl, a *schema.Arg, v schema.Value) bool {
	def := decl.Directive
	if _, twice := decl.Get(a.Name); twice {
		s.twice(v.Pos, def, a.Name, decl.ArgPos(a.Name))
		return false
	}
	if a.Group != "" {
		for i := range decl.Args {
			if other, ok := def.Arg(decl.Args[i].Name); ok && other.Group == a.Group {
				s.found.Add(diag.Diagnostic{
					Pos: v.Pos, Code: "conflicting-arguments", Message: other.Name + " and " + a.Name + " exclude each other",
					Wanted: "one " + a.Group, Found: other.Name + " and " + a.Name, Fix: "remove one of the two", See: def.Name,
				})
				return false
			}
		}
	}
	if wanted := a.Check(v.Text); wanted != "" {
		s.badValue(v.Pos, def, a, v.Text, wanted, fixValue(a, v.Text))
		return false
	}
	decl.Args = append(decl.Args, v)
	return true
}

// fixValue suggests the value that was most likely meant.
func fixValue(a *schema.Arg, text string) string {
	if bare := strings.Trim(text, "\"`'"); bare != text && a.Check(bare) == "" {
		return "write " + a.Name + "=" + bare + ", without quotes"
	}
	switch a.Kind {
	case schema.Enum:
		if similar := schema.Suggest(text, a.Values); similar != "" {
			return "write " + a.Name + "=" + similar
		}
	case schema.Wire, schema.WireRef:
		if snake := schema.Snake(text); a.Check(snake) == "" {
			return "write " + a.Name + "=" + snake
		}
	case schema.Snapshot:
		if strings.Trim(text, "0123456789") == "" && text != "" {
			return "write " + a.Name + "=every:" + text
		}
	case schema.Duration:
		if strings.Trim(text, "0123456789") == "" && text != "" {
			return "write the unit: " + a.Name + "=" + text + "ms"
		}
	}
	return "write " + a.Name + "=" + a.Pattern()
}

// renamed is the fix where an argument has a wrong name: the right one, with a
// value that it takes.
func renamed(a *schema.Arg, value string) string {
	if a.Check(value) == "" {
		return "write " + a.Name + "=" + value
	}
	return fixValue(a, value)
}

func (s *goScanner) badValue(pos schema.Pos, def *schema.Directive, a *schema.Arg, found, wanted, fix string) {
	s.found.Add(diag.Diagnostic{
		Pos: pos, Code: "bad-value", Message: "bad value of " + a.Name + " in //wow:" + def.Name,
		Wanted: wanted, Found: quote(found), Fix: fix, See: def.Name,
	})
}

func (s *goScanner) twice(pos schema.Pos, def *schema.Directive, name string, first schema.Pos) {
	s.found.Add(diag.Diagnostic{
		Pos: pos, Code: "repeated-argument", Message: name + " is given twice",
		Wanted: "each argument once", Found: "a second " + name, Fix: "remove one of the two",
		Related: []diag.Related{{Pos: first, Message: "the first one"}}, See: def.Name,
	})
}

func (s *goScanner) unknownArgument(pos schema.Pos, def *schema.Directive, text, name string) {
	d := diag.Diagnostic{
		Pos: pos, Code: "unknown-argument", Message: "//wow:" + def.Name + " has no argument " + quote(name),
		Wanted: def.Usage(), Found: text, Fix: "remove it", See: def.Name,
	}
	names := def.Names()
	if def.Positional != nil {
		names = append(names, def.Positional.Name)
	}
	if len(names) == 0 {
		d.Wanted = "//wow:" + def.Name + " alone"
	}
	_, value, _ := strings.Cut(text, "=")
	if a, known := def.Arg(value); known && a.Kind == schema.Flag {
		d.Fix = "write " + value + " alone"
	} else if similar := schema.Suggest(name, names); similar != "" {
		d.Fix = "write " + similar
		if a, ok := def.Arg(similar); ok && strings.Contains(text, "=") {
			d.Fix = "write " + a.Usage()
			if a.Kind != schema.Flag {
				d.Fix = renamed(a, value)
			}
		}
	}
	s.found.Add(d)
}

// quote shows a value so that blanks and control characters in it can be seen.
func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "..."
	}
	plain := s != ""
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == 0xfffd {
			plain = false
		}
	}
	if plain {
		return s
	}
	return quoted(s)
}
