package source

import "go/ast"

// Convert reads a type expression that stands in no file: its qualifiers are
// explained by imports.
func Convert(p *Package, e ast.Expr, text string, imports map[string]string) *Expr {
	f := &File{imports: imports}
	c := &converter{pkg: p, file: f, src: []byte(text), base: 1}
	return c.expr(e)
}
