package plan

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// qualified finds another package's type in a field's type: an import path,
// a dot, an exported name.
var qualified = regexp.MustCompile(`([\p{L}\p{N}_~./-]+)\.(\p{Lu}[\p{L}\p{N}_]*)`)

// writeTypes makes the types that YAML gives fields for, as if Go declared
// them: everything after this step treats them alike.
func (u *Unit) writeTypes() {
	for _, w := range u.declared.Fields {
		if t, ok := u.Pkg.Types[w.Type]; ok {
			u.report(w.Pos, diag.Diagnostic{
				Code: "type-exists", Message: "the type " + w.Type + " exists already, and YAML gives it fields",
				Wanted: "fields of a type that is to be written", Found: "type " + w.Type, Fix: "remove fields:, or the type",
				Related: []diag.Related{{Pos: t.Pos, Message: "the type"}},
			})
			continue
		}
		if !token.IsIdentifier(w.Type) {
			continue // reported by the reader of YAML
		}
		out := &schema.Written{Type: w.Type, Pos: w.Pos}
		t := &source.Type{Name: w.Type, Kind: source.Struct, Pos: w.Pos}
		for _, f := range w.Fields {
			written, field, ok := u.writeField(f)
			if ok {
				out.Fields = append(out.Fields, written)
				t.Fields = append(t.Fields, field)
			}
		}
		u.Pkg.Types[w.Type] = t
		u.Model.Written = append(u.Model.Written, out)
	}
}

// qualify replaces import paths in the text of a type by qualifiers, and notes
// them in imports.
func qualify(text string, imports map[string]string) string {
	return qualified.ReplaceAllStringFunc(text, func(s string) string {
		m := qualified.FindStringSubmatch(s)
		name := source.GuessName(m[1])
		for n := 2; imports[name] != "" && imports[name] != m[1]; n++ {
			name = source.GuessName(m[1]) + itoa(n)
		}
		imports[name] = m[1]
		return name + "." + m[2]
	})
}

func (u *Unit) writeField(f schema.Field) (schema.WrittenField, source.Field, bool) {
	if !token.IsIdentifier(f.Name) {
		u.report(f.Pos, diag.Diagnostic{
			Code: "bad-field", Message: "the field " + f.Name + " has no Go name", Wanted: "a Go identifier", Found: f.Name, Fix: "rename it",
		})
		return schema.WrittenField{}, source.Field{}, false
	}
	w := schema.WrittenField{Name: f.Name, Tag: f.Tag, Imports: map[string]string{}}
	w.Type = qualify(f.Type, w.Imports)
	if f.Type == "" {
		return schema.WrittenField{}, source.Field{}, false // reported by the reader of YAML
	}
	e, err := parser.ParseExpr(w.Type)
	if err != nil || strings.ContainsAny(w.Type, "\n;{}()") && !strings.Contains(w.Type, "struct") {
		u.report(f.Pos, diag.Diagnostic{
			Code: "bad-field", Message: "the type of the field " + f.Name + " is no Go type",
			Wanted: "a Go type, another package's with its import path: time.Time, []github.com/google/uuid.UUID", Found: f.Type, Fix: "write a Go type",
		})
		return schema.WrittenField{}, source.Field{}, false
	}
	field := source.Field{Name: f.Name, Type: source.Convert(u.Pkg, e, w.Type, w.Imports), Pos: f.Pos, TagPos: f.Pos}
	if f.Tag != "" {
		field.Tag = `wow:"` + f.Tag + `"`
	}
	for _, path := range w.Imports {
		if path == u.Pkg.Path {
			u.report(f.Pos, diag.Diagnostic{
				Code: "import-cycle", Message: "the field " + f.Name + " would make the package import itself",
				Wanted: "a type of this package without its path", Found: f.Type, Fix: "leave the path out",
			})
			return schema.WrittenField{}, source.Field{}, false
		}
		u.uses = append(u.uses, use{kind: imports, ref: schema.Ref{Path: path}, pos: f.Pos})
	}
	return w, field, true
}
