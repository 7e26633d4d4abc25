package vet

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// report adds a finding about a node, and tells the driver.
func (v *vetting) report(at ast.Node, d diag.Diagnostic, fixes ...analysis.SuggestedFix) {
	d.Pos, d.Severity, d.Source = v.position(at), diag.Error, v.line(at)
	key := d.Pos.String() + d.Message
	if v.reported[key] {
		return // a statement may do the same thing twice
	}
	v.reported[key] = true
	v.findings.Add(d)
	var b strings.Builder
	b.WriteString(d.Message)
	if d.Source != "" {
		b.WriteString("\n    " + d.Source)
	}
	for _, part := range []struct{ name, text string }{{"wanted", d.Wanted}, {"found", d.Found}, {"fix", d.Fix}} {
		b.WriteString("\n  " + part.name + ": " + part.text)
	}
	out := analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Category: d.Code, Message: b.String(), SuggestedFixes: fixes}
	v.pass.Report(out)
}

func (v *vetting) position(at ast.Node) schema.Pos {
	p := v.pass.Fset.Position(at.Pos())
	return schema.Pos{File: filepath.ToSlash(p.Filename), Line: p.Line, Column: p.Column}
}

// line returns the line of source that a node begins on.
func (v *vetting) line(at ast.Node) string {
	file := v.pass.Fset.File(at.Pos())
	src, err := v.pass.ReadFile(file.Name())
	if err != nil || len(src) != file.Size() {
		return ""
	}
	line := src[file.Offset(file.LineStart(file.Line(at.Pos()))):]
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
}

// trail writes a chain of calls: "Cart.save -> os.WriteFile (store.go:12)". The
// first hop stands where the report does.
func trail(from string, chain []hop) string {
	var b strings.Builder
	b.WriteString(from)
	for i, h := range chain {
		b.WriteString(" -> " + h.Name)
		if i > 0 && h.At != "" {
			b.WriteString(" (" + h.At + ")")
		}
	}
	return b.String()
}

// end is the last step of a chain.
func end(chain []hop) string { return chain[len(chain)-1].Name }

// fileOf returns the file that holds pos.
func fileOf(pass *analysis.Pass, pos token.Pos) *ast.File {
	for _, f := range pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			return f
		}
	}
	return nil
}

// nodeAt returns the call, statement or channel operation that an instruction
// at pos was made from.
func nodeAt(pass *analysis.Pass, pos token.Pos, otherwise ast.Node) ast.Node {
	file := fileOf(pass, pos)
	if file == nil {
		return otherwise
	}
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	for _, n := range path {
		switch n := n.(type) {
		case *ast.CallExpr:
			if n.Lparen == pos {
				return n
			}
		case *ast.UnaryExpr:
			if n.OpPos == pos {
				return n
			}
		case *ast.FuncDecl, *ast.FuncLit:
			return otherwise
		case ast.Stmt:
			if _, block := n.(*ast.BlockStmt); !block {
				return n
			}
		}
	}
	return otherwise
}

// describe names a change in a few words: "c.Lines[sku] = ...".
func (f *flow) describe(pos token.Pos) string {
	switch n := nodeAt(f.pass, pos, nil).(type) {
	case *ast.AssignStmt:
		var left []string
		for _, e := range n.Lhs {
			left = append(left, types.ExprString(e))
		}
		return strings.Join(left, ", ") + " " + n.Tok.String() + " ..."
	case *ast.IncDecStmt:
		return types.ExprString(n.X) + n.Tok.String()
	case *ast.CallExpr:
		return types.ExprString(n)
	case *ast.RangeStmt:
		return "a loop variable that is part of it"
	}
	return "an assignment"
}

// addBlocking inserts the directive above a handler, as the last line of its
// comment.
func (v *vetting) addBlocking(h *handler) analysis.SuggestedFix {
	text := "//wow:blocking\n"
	if doc := h.decl.Doc; doc != nil && !isDirective(doc.List[len(doc.List)-1].Text) {
		text = "//\n" + text
	}
	return analysis.SuggestedFix{
		Message:   "declare " + h.name + " blocking",
		TextEdits: []analysis.TextEdit{{Pos: h.decl.Type.Func, End: h.decl.Type.Func, NewText: []byte(text)}},
	}
}

func isDirective(comment string) bool {
	_, ok := ast.ParseDirective(token.NoPos, strings.TrimRight(comment, "\r"))
	return ok
}
