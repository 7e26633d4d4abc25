package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/wowgen/wow/gen/diag"
)

// Analyzer reports what handlers must not do. Its result is the
// []diag.Diagnostic of the package, sorted by position.
var Analyzer = &analysis.Analyzer{
	Name:       "wow",
	Doc:        "report handlers that block, change state while deciding, or cannot be replayed",
	URL:        "https://pkg.go.dev/github.com/wowgen/wow/gen/vet",
	Run:        run,
	ResultType: reflect.TypeFor[[]diag.Diagnostic](),
	FactTypes:  []analysis.Fact{(*summary)(nil)},
}

// vetting is the work on one package.
type vetting struct {
	*model
	flow     *flow
	orders   map[*types.Func][]unsorted // computed on demand
	findings diag.List
	reported map[string]bool // by position and message
}

func run(pass *analysis.Pass) (any, error) {
	if !concerns(pass) {
		return []diag.Diagnostic(nil), nil
	}
	v := &vetting{model: newModel(pass), flow: newFlow(pass), orders: map[*types.Func][]unsorted{}, reported: map[string]bool{}}
	v.flow.export()
	for _, h := range v.handlers {
		fn := v.flow.byObject[h.fn]
		if fn == nil {
			continue // without a body
		}
		v.checkContext(h)
		if h.role == apply {
			continue
		}
		b := newBody(v.flow, fn)
		v.checkBlocking(h, b.effects())
		if h.role == decide {
			v.checkState(h, b.writes())
		}
		if h.role == decide || h.role == saga {
			v.checkOrder(h)
		}
	}
	for _, r := range v.replays() {
		v.checkReplay(r)
	}
	v.checkOutput()
	return v.findings.Sorted(), nil
}

// concerns tells whether a package can hold handlers or what they call: it is
// of the module, and neither the standard library nor wow itself.
func concerns(pass *analysis.Pass) bool {
	if len(pass.Files) == 0 || pass.Module == nil || pass.Module.Path == "" || pass.Module.Version != "" {
		return false
	}
	return !ours(pass.Pkg.Path())
}

// ours tells whether a package is wow itself. What handlers call of it is known
// from the table.
func ours(path string) bool {
	rest, ok := strings.CutPrefix(path, wowPath)
	if !ok || rest == "" {
		return ok
	}
	for _, own := range []string{"/executor", "/runtime"} {
		if rest == own || strings.HasPrefix(rest, own+"/") {
			return true
		}
	}
	return false
}

// checkBlocking reports waiting in a handler that may not. The fix is the same
// for all places, so the first is reported.
func (v *vetting) checkBlocking(h *handler, sites []site) {
	i := slices.IndexFunc(sites, func(s site) bool { return s.effect == waits })
	if h.blocking() || i < 0 {
		return
	}
	v.report(nodeAt(v.pass, sites[i].pos, h.decl.Name), diag.Diagnostic{
		Code:    "blocks",
		Message: h.name + " can block, and holds a worker while it does",
		Wanted:  "a handler that does not wait, is declared blocking, or waits inside wow.Await",
		Found:   trail(h.name, sites[i].chain),
		Fix:     "write //wow:blocking above the method, or wrap the call: wow.Await(ctx, func(ctx context.Context) (T, error) { ... })",
		Related: []diag.Related{{Pos: v.position(signature{h.decl}), Message: "the handler"}},
	}, v.addBlocking(h))
}

// checkState reports changes to the state in a decision.
func (v *vetting) checkState(h *handler, sites []site) {
	for _, s := range sites {
		if s.params&(1<<h.state) == 0 {
			continue
		}
		v.report(nodeAt(v.pass, s.pos, h.decl.Name), diag.Diagnostic{
			Code:    "state-changed",
			Message: h.name + " decides, but changes the state: " + end(s.chain),
			Wanted:  "a decision that leaves the state as it is: only events change it, when they are applied, and a decision may be made again",
			Found:   trail(h.name, s.chain),
			Fix:     "return an event that says so, and change the state in its apply method; or work on a copy (maps.Clone, slices.Clone)",
		})
	}
}

// checkOutput reports handlers that do not run as they are declared, because
// the output is older than they are.
func (v *vetting) checkOutput() {
	for _, h := range v.handlers {
		f := diag.Diagnostic{Code: "stale-handler", Fix: "run wowgen, and commit what it writes"}
		switch {
		case !v.output:
			f.Message = h.name + " never runs: the package has no generated code"
			f.Wanted, f.Found = "a wow_gen.go that calls every handler", "none in the package"
		case !h.called:
			f.Message = h.name + " never runs: the generated code does not call it"
			f.Wanted, f.Found = "a wow_gen.go that calls every handler", "one that is older than the method"
		case h.declared && !h.offload:
			f.Message = h.name + " is declared blocking, but the generated code calls it on a worker"
			f.Wanted, f.Found = "generated code that has it run on the offload pool", "a wow_gen.go that is older than the directive"
		default:
			continue
		}
		v.report(signature{h.decl}, f)
		if !v.output {
			return // once a package
		}
	}
}

// signature is a function's declaration without its comment and body.
type signature struct{ *ast.FuncDecl }

// End is where the signature ends.
func (s signature) End() token.Pos { return s.Type.End() }
