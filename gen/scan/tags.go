package scan

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// tags checks the wow tags of all struct fields by their raw text: reflect's
// Lookup fails in silence on a malformed tag, and the key would be missing
// with no word about why.
func (s *goScanner) tags() {
	for _, decl := range s.file.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			ast.Inspect(t.Type, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok && f.Tag != nil && mentionsWow(f.Tag.Value) && !s.tag(f) {
					s.out.Doubt(t.Name.Name)
				}
				return true
			})
		}
	}
}

var tagLike = regexp.MustCompile(`(?i)(^|[\s,;"])wow\s*[:=]?\s*"?`)

// tag reports what is wrong with a tag, and whether it is fine.
func (s *goScanner) tag(f *ast.Field) (fine bool) {
	raw, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return true
	}
	pos := s.file.Pos(f.Tag.Pos())
	value, seen, rest := lookupTag(raw)
	if !seen {
		if m := tagLike.FindString(rest); m != "" {
			fix := "write `wow:\"key\"`"
			for _, known := range schema.FieldTags {
				if strings.Contains(strings.ToLower(rest), known) {
					fix = "write `wow:" + strconv.Quote(known) + "`"
					break
				}
			}
			s.found.Add(diag.Diagnostic{
				Pos: pos, Code: "malformed-tag", Message: "the field's tag is malformed, so that Go reads nothing from it",
				Wanted: "key:\"value\" pairs, separated by one space", Found: f.Tag.Value, Fix: fix,
			})
			return false
		}
		return true
	}
	if slices.Contains(schema.FieldTags, value) {
		return true
	}
	d := diag.Diagnostic{
		Pos: pos, Code: "unknown-tag", Message: "unknown value of the tag wow",
		Wanted: "one of " + strings.Join(schema.FieldTags, ", "), Found: quote(value), Fix: "remove it, or write one of those",
	}
	if similar := schema.Suggest(value, schema.FieldTags); similar != "" {
		d.Fix = "write `wow:" + strconv.Quote(similar) + "`"
	}
	s.found.Add(d)
	return false
}

// lookupTag reads a tag as reflect does. rest is what is left where that
// stops, or the keys that are not wow's spelling.
func lookupTag(tag string) (value string, seen bool, rest string) {
	var odd []string
	for tag != "" {
		trimmed := strings.TrimLeft(tag, " ")
		i := 0
		for i < len(trimmed) && trimmed[i] > ' ' && trimmed[i] != ':' && trimmed[i] != '"' && trimmed[i] != 0x7f {
			i++
		}
		if i == 0 || i+1 >= len(trimmed) || trimmed[i] != ':' || trimmed[i+1] != '"' {
			return value, seen, strings.Join(append(odd, trimmed), " ")
		}
		name := trimmed[:i]
		quotedValue, err := strconv.QuotedPrefix(trimmed[i+1:])
		if err != nil {
			return value, seen, strings.Join(append(odd, trimmed), " ")
		}
		text, _ := strconv.Unquote(quotedValue)
		switch {
		case name == "wow" && !seen:
			value, seen = text, true
		case name != "wow" && tagLike.MatchString(name+":"):
			odd = append(odd, name+":"+text)
		}
		tag = trimmed[i+1+len(quotedValue):]
	}
	return value, seen, strings.Join(odd, " ")
}
