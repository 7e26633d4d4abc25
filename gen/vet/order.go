package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
)

// checkOrder reports loops over maps whose order reaches what a handler
// returns.
func (v *vetting) checkOrder(h *handler) {
	what, why := "events", "a decision that is made again has to come to the same"
	if h.role == saga {
		what, why = "commands", "the IDs by which each takes effect once count them"
	}
	for _, s := range v.unordered(h.fn) {
		v.report(s.at, diag.Diagnostic{
			Code:    "map-order",
			Message: h.name + " returns " + what + " in the order of a map, which differs from run to run",
			Wanted:  what + " in an order that follows from the input: " + why,
			Found:   trail(h.name, s.chain),
			Fix:     "go through the keys in order, for _, k := range slices.Sorted(maps.Keys(m)), or sort before returning",
		})
	}
}

// unsorted is a place where the order of a map gets into a result.
type unsorted struct {
	at    ast.Node
	chain []hop
}

// unordered returns the places where the order of a map gets into the result
// of a function of the package.
func (v *vetting) unordered(fn *types.Func) []unsorted {
	if found, ok := v.orders[fn]; ok {
		return found
	}
	v.orders[fn] = nil // a function that calls itself adds nothing
	decl := v.decls[fn]
	if decl == nil || decl.Body == nil {
		return nil
	}
	w := &orderWalk{vetting: v, decl: decl, result: map[*types.Var]bool{}}
	w.followResults()
	w.followLoops()
	slices.SortFunc(w.found, func(a, b unsorted) int { return int(a.at.Pos() - b.at.Pos()) })
	v.orders[fn] = w.found
	return w.found
}

// orderWalk follows the results of one function back to where they come from,
// by syntax: through variables, literals, append and conversions. What goes
// into other calls is not followed, nor what a closure does.
type orderWalk struct {
	*vetting
	decl   *ast.FuncDecl
	result map[*types.Var]bool // variables that reach a result
	found  []unsorted
}

// followResults finds the variables that reach a result.
func (w *orderWalk) followResults() {
	if results := w.decl.Type.Results; results != nil {
		for _, field := range results.List {
			for _, name := range field.Names {
				w.follow(name)
			}
		}
	}
	w.inspect(w.decl.Body, func(n ast.Node) {
		if r, ok := n.(*ast.ReturnStmt); ok {
			for _, e := range r.Results {
				w.follow(e)
			}
		}
	})
	for before := -1; before != len(w.result); {
		before = len(w.result)
		w.inspect(w.decl.Body, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if x := w.variable(left); x != nil && w.result[x] {
						w.follow(n.Rhs[min(i, len(n.Rhs)-1)])
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if x := w.variable(name); x != nil && w.result[x] && i < len(n.Values) {
						w.follow(n.Values[i])
					}
				}
			case *ast.RangeStmt:
				if !w.overMap(n.X) && w.grows(n) {
					w.follow(n.X)
				}
			}
		})
	}
}

// follow notes the variables that e is made of.
func (w *orderWalk) follow(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if x := w.variable(e); x != nil {
			w.result[x] = true
		}
	case *ast.ParenExpr:
		w.follow(e.X)
	case *ast.StarExpr:
		w.follow(e.X)
	case *ast.SliceExpr:
		w.follow(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			w.follow(e.X)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD && isString(w.pass.TypesInfo.TypeOf(e)) {
			w.follow(e.X)
			w.follow(e.Y)
		}
	case *ast.CompositeLit:
		for _, elt := range e.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			w.follow(elt)
		}
	case *ast.CallExpr:
		w.followCall(e)
	}
}

func (w *orderWalk) followCall(call *ast.CallExpr) {
	if tv := w.pass.TypesInfo.Types[call.Fun]; tv.IsType() || tv.IsBuiltin() && isIdent(call.Fun, "append") {
		for _, arg := range call.Args {
			w.follow(arg)
		}
		return
	}
	fn := w.callee(call)
	if fn == nil {
		return
	}
	switch path := pathOf(fn); {
	case path == "slices" && (fn.Name() == "Clone" || fn.Name() == "Clip" || fn.Name() == "Concat"),
		path == "strings" && fn.Name() == "Join":
		for _, arg := range call.Args {
			w.follow(arg)
		}
	case path == "slices" && fn.Name() == "Collect":
		if w.overMap(call.Args[0]) {
			w.add(call, hop{types.ExprString(call), w.flow.at(call.Pos())})
		}
	case fn.Pkg() == w.pass.Pkg:
		if inner := w.unordered(fn); len(inner) > 0 {
			w.add(call, append([]hop{{shortName(fn), w.flow.at(call.Pos())}}, inner[0].chain...)...)
		}
	}
}

// followLoops finds the loops over maps in which a result grows.
func (w *orderWalk) followLoops() {
	w.inspect(w.decl.Body, func(n ast.Node) {
		loop, ok := n.(*ast.RangeStmt)
		if !ok || !w.overMap(loop.X) {
			return
		}
		if w.grows(loop) {
			w.add(loopHeader{loop}, hop{"range " + types.ExprString(loop.X), w.flow.at(loop.Pos())})
		}
	})
}

// grows tells whether a loop appends something of its own to a result.
func (w *orderWalk) grows(loop *ast.RangeStmt) bool {
	grows := false
	w.inspect(loop.Body, func(n ast.Node) {
		s, ok := n.(*ast.AssignStmt)
		if !ok || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return
		}
		x := w.variable(s.Lhs[0])
		if x == nil || !w.result[x] || loop.Pos() <= x.Pos() && x.Pos() < loop.End() {
			return
		}
		if s.Tok == token.ADD_ASSIGN {
			grows = grows || isString(w.pass.TypesInfo.TypeOf(s.Lhs[0])) && w.mentions(s.Rhs[0], loop)
			return
		}
		if call, ok := s.Rhs[0].(*ast.CallExpr); ok && isIdent(call.Fun, "append") && w.variable(call.Args[0]) == x {
			grows = grows || slices.ContainsFunc(call.Args[1:], func(e ast.Expr) bool { return w.mentions(e, loop) })
		}
	})
	return grows
}

// mentions tells whether e uses a variable that is declared in the loop.
func (w *orderWalk) mentions(e ast.Expr, loop *ast.RangeStmt) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if x, ok := w.pass.TypesInfo.Uses[id].(*types.Var); ok && loop.Pos() <= x.Pos() && x.Pos() < loop.End() {
				found = true
			}
		}
		return !found
	})
	return found
}

// add notes a place, unless something that reaches a result is sorted later.
func (w *orderWalk) add(at ast.Node, chain ...hop) {
	same := func(f unsorted) bool { return f.at.Pos() == at.Pos() }
	if !w.sortedAfter(at.End()) && !slices.ContainsFunc(w.found, same) {
		w.found = append(w.found, unsorted{at, chain})
	}
}

// sortedAfter tells whether a call after pos, whose name speaks of sorting, is
// about something that reaches a result.
func (w *orderWalk) sortedAfter(pos token.Pos) bool {
	found := false
	ast.Inspect(w.decl.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Pos() < pos {
			return !found
		}
		fn := w.callee(call)
		if fn == nil || !strings.Contains(strings.ToLower(fn.Name()), "sort") && pathOf(fn) != "sort" {
			return !found
		}
		ast.Inspect(call, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if x, ok := w.pass.TypesInfo.Uses[id].(*types.Var); ok && w.result[x] {
					found = true
				}
			}
			return !found
		})
		return !found
	})
	return found
}

// inspect calls f for all nodes below n that are not in a closure.
func (w *orderWalk) inspect(n ast.Node, f func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		f(n)
		return true
	})
}

// overMap tells whether e is a map, or an iterator over one.
func (w *orderWalk) overMap(e ast.Expr) bool {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if fn := w.callee(call); fn != nil && pathOf(fn) == "maps" {
			return fn.Name() == "Keys" || fn.Name() == "Values" || fn.Name() == "All"
		}
	}
	t := w.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// variable returns the variable that e is, or is a field of.
func (w *orderWalk) variable(e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			v, _ := w.pass.TypesInfo.ObjectOf(x).(*types.Var)
			if v == nil || v.IsField() || w.isParam(v) {
				return nil
			}
			return v
		default:
			return nil
		}
	}
}

// isParam tells whether v came into the function with a call: the state, the
// command.
func (w *orderWalk) isParam(v *types.Var) bool {
	in := func(list *ast.FieldList) bool { return list != nil && list.Pos() <= v.Pos() && v.Pos() < list.End() }
	return in(w.decl.Recv) || in(w.decl.Type.Params)
}

func (w *orderWalk) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := w.pass.TypesInfo.Uses[id].(*types.Func)
	return fn
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && id.Name == name
}

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func pathOf(fn *types.Func) string {
	if fn.Pkg() == nil {
		return ""
	}
	return fn.Pkg().Path()
}

// loopHeader is a loop without its body.
type loopHeader struct{ *ast.RangeStmt }

// End is where the body begins.
func (h loopHeader) End() token.Pos { return h.Body.Lbrace }
