package plan

import (
	"go/parser"
	"go/token"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// writeConsumer makes the interface of a consumer that YAML names and nobody
// wrote, as if Go declared it. It reports false when YAML does not say what its
// methods take.
func (u *Unit) writeConsumer(typ string, d *schema.Decl) bool {
	t := &source.Type{Name: typ, Kind: source.Interface, Pos: d.Pos}
	said := false
	for _, takes := range u.declared.Takes {
		if takes.Type != typ {
			continue
		}
		said = true
		if m := u.methodOf(takes, d.Directive.Name); m != nil {
			t.Methods = append(t.Methods, m)
		}
	}
	if said {
		u.Pkg.Types[typ] = t
		u.interfaces[typ] = true
		u.blamed[typ] = len(t.Methods) == 0 // that it handles nothing has been explained
	}
	return said
}

// methodOf makes the method that YAML describes; nil when that was a mistake.
func (u *Unit) methodOf(takes *schema.Takes, kind string) *source.Method {
	if takes.Kind == "" {
		return nil
	}
	imports := map[string]string{"wow": source.WowPath, "context": "context"}
	message := qualify(takes.Message, imports)
	wrapper := map[string]string{"event": "e wow.Event", "state": "s wow.StateEvent", "refused": "r wow.Refused"}[takes.Kind]
	results := []string{"error"}
	if kind == schema.Saga {
		results = []string{"wow.Commands", "error"}
	}
	if !token.IsIdentifier(message[strings.LastIndex(message, ".")+1:]) || strings.Count(message, ".") > 1 {
		u.report(takes.Pos, diag.Diagnostic{
			Code: "bad-value", Message: "bad value of " + takes.Kind, Wanted: "a Go type, another package's with its import path: example.com/app/shop.OrderPlaced",
			Found: takes.Message, Fix: "write a Go type", See: kind,
		})
		return nil
	}
	for name, path := range imports {
		if _, ok := u.Model.Imports[path]; !ok && path != source.WowPath && path != "context" && path != u.Pkg.Path {
			u.Model.Imports[path] = name
		}
	}
	convert := func(text string) *source.Expr {
		e, err := parser.ParseExpr(text)
		if err != nil {
			return &source.Expr{Text: text}
		}
		return source.Convert(u.Pkg, e, text, imports)
	}
	name, typ, _ := strings.Cut(wrapper+"["+message+"]", " ")
	m := &source.Method{
		Recv: takes.Type, Name: takes.Method, Pos: takes.Pos,
		Signature: takes.Method + "(ctx context.Context, " + name + " " + typ + ") ",
		Params:    []source.Param{{Name: "ctx", Type: convert("context.Context")}, {Name: name, Type: convert(typ)}},
	}
	for _, r := range results {
		m.Results = append(m.Results, convert(r))
	}
	if len(results) > 1 {
		m.Signature += "(" + strings.Join(results, ", ") + ")"
	} else {
		m.Signature += results[0]
	}
	return m
}

// takesNothing reports what YAML says about the methods of a type that is there.
func (u *Unit) takesNothing() {
	for _, takes := range u.declared.Takes {
		t := u.Pkg.Types[takes.Type]
		if t == nil || u.interfaces[takes.Type] || takes.Kind == "" {
			continue
		}
		u.report(takes.Pos, diag.Diagnostic{
			Code: "type-exists", Message: "the type " + takes.Type + " exists, and YAML says what its method " + takes.Method + " takes",
			Wanted: takes.Kind + ": only for a type that is to be written", Found: "type " + takes.Type,
			Fix:     "remove " + takes.Kind + ": here, the method says it; or give your type another name than the interface",
			Related: []diag.Related{{Pos: t.Pos, Message: "the type"}},
		})
	}
}
