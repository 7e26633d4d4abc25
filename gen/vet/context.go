package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/wowgen/wow/gen/diag"
)

// checkContext reports context.Background and context.TODO in a handler that
// was given a context. What a handler starts by go may outlive it, and what it
// defers may have to run when the context has ended: both are left alone.
func (v *vetting) checkContext(h *handler) {
	if h.decl.Body == nil {
		return
	}
	params := h.decl.Type.Params
	if !v.hasContext(params) {
		return
	}
	v.walkContext(h, h.decl.Body, v.contextParam(params))
}

// walkContext looks through a function whose context parameter is ctx; nil
// when it has no name.
func (v *vetting) walkContext(h *handler, body ast.Node, ctx *types.Var) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return false
		case *ast.FuncLit:
			inner := ctx
			if v.hasContext(n.Type.Params) {
				inner = v.contextParam(n.Type.Params)
			}
			v.walkContext(h, n.Body, inner)
			return false
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			fn, ok := v.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
			if ok && fn.Pkg() != nil && fn.Pkg().Path() == "context" && (fn.Name() == "Background" || fn.Name() == "TODO") {
				v.reportContext(h, n, fn.Name(), ctx)
			}
		}
		return true
	})
}

func (v *vetting) reportContext(h *handler, call *ast.CallExpr, name string, ctx *types.Var) {
	f := diag.Diagnostic{
		Code:    "context-dropped",
		Message: h.name + " does not pass its context on: what it calls outlives a timeout and a stop",
		Wanted:  "the context that the handler was given, or one derived from it (context.WithoutCancel, where it has to outlive the handler)",
		Found:   "context." + name + "()",
		Fix:     "name the handler's context and pass it on",
	}
	var fixes []analysis.SuggestedFix
	if ctx != nil {
		f.Fix = "pass " + ctx.Name()
		if v.visible(ctx, call.Pos()) {
			fixes = append(fixes, analysis.SuggestedFix{
				Message:   "pass " + ctx.Name() + " on",
				TextEdits: []analysis.TextEdit{{Pos: call.Pos(), End: call.End(), NewText: []byte(ctx.Name())}},
			})
		}
	}
	v.report(call, f, fixes...)
}

// visible tells whether a variable's name means it at pos.
func (v *vetting) visible(x *types.Var, pos token.Pos) bool {
	scope := v.pass.Pkg.Scope().Innermost(pos)
	if scope == nil {
		return false
	}
	_, obj := scope.LookupParent(x.Name(), pos)
	return obj == x
}

func (v *vetting) hasContext(params *ast.FieldList) bool {
	for _, p := range params.List {
		if t := v.pass.TypesInfo.TypeOf(p.Type); t != nil && isContext(t) {
			return true
		}
	}
	return false
}

// contextParam returns the parameter that is a context, nil when it has no
// name.
func (v *vetting) contextParam(params *ast.FieldList) *types.Var {
	for _, p := range params.List {
		for _, name := range p.Names {
			if x, ok := v.pass.TypesInfo.Defs[name].(*types.Var); ok && isContext(x.Type()) && strings.Trim(name.Name, "_") != "" {
				return x
			}
		}
	}
	return nil
}
