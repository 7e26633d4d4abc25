package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// summary is what callers need to know of a function. As a fact it goes from
// package to package.
type summary struct {
	Waits   []hop   // the calls that lead to one that can block; nil: none is known
	Impure  []hop   // the same for what a replay may not do besides
	What    effect  // of Impure
	Writes  []write // what it changes of its caller's
	Returns uint64  // parameters whose memory the result leads to
	Calls   uint64  // parameters that are functions and that it calls
}

// AFact makes it one.
func (*summary) AFact() {}

// write is a change to the memory that a parameter refers to.
type write struct {
	Param int
	Chain []hop
}

// hop is one step of a chain of calls.
type hop struct {
	Name string
	At   string // file:line of the step
}

// site is a place in a function where something begins that matters.
type site struct {
	pos    token.Pos
	effect effect // "" for a write
	params uint64 // of a write: whose memory
	chain  []hop
}

// flow knows the summaries of all functions of a package and of those it calls
// in other packages of the module.
type flow struct {
	pass      *analysis.Pass
	summaries map[*types.Func]*summary
	imported  map[*types.Func]*summary
	funcs     []*ssa.Function // those declared, in the order of the source
	byObject  map[*types.Func]*ssa.Function
}

// newFlow builds the package in SSA form and summarises its functions.
func newFlow(pass *analysis.Pass) *flow {
	f := &flow{
		pass: pass, summaries: map[*types.Func]*summary{}, imported: map[*types.Func]*summary{},
		byObject: map[*types.Func]*ssa.Function{},
	}
	prog := ssa.NewProgram(pass.Fset, 0)
	for _, p := range pass.Pkg.Imports() {
		prog.CreatePackage(p, nil, nil, true)
	}
	prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false).Build()
	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok && decl.Body != nil && decl.Name.Name != "_" {
				if obj, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					if fn := prog.FuncValue(obj); fn != nil {
						f.funcs = append(f.funcs, fn)
						f.byObject[obj] = fn
						f.summaries[obj] = &summary{}
					}
				}
			}
		}
	}
	f.settle()
	return f
}

// settle computes summaries until none changes. Each round looks only at
// functions that call one which changed in the round before. Flags are only
// ever added, so it ends.
func (f *flow) settle() {
	callers := map[*types.Func][]*ssa.Function{}
	for _, fn := range f.funcs {
		for instr := range (&memory{fns: withClosures(fn)}).instrs() {
			if call, ok := instr.(ssa.CallInstruction); ok {
				if obj := object(call.Common().StaticCallee()); obj != nil && f.summaries[obj] != nil && !slices.Contains(callers[obj], fn) {
					callers[obj] = append(callers[obj], fn)
				}
			}
		}
	}
	dirty := f.funcs
	for len(dirty) > 0 {
		again := map[*ssa.Function]bool{}
		for _, fn := range dirty {
			obj := object(fn)
			if s, changed := f.summarise(fn, f.summaries[obj]); changed {
				f.summaries[obj] = s
				for _, caller := range callers[obj] {
					again[caller] = true
				}
			}
		}
		dirty = dirty[:0:0]
		for _, fn := range f.funcs {
			if again[fn] {
				dirty = append(dirty, fn)
			}
		}
	}
}

// summarise adds to what was known of a function.
func (f *flow) summarise(fn *ssa.Function, old *summary) (s *summary, changed bool) {
	b := newBody(f, fn)
	next := *old
	s = &next
	for _, at := range b.effects() {
		switch {
		case at.effect == waits && s.Waits == nil:
			s.Waits, changed = at.chain, true
		case at.effect != waits && s.Impure == nil:
			s.Impure, s.What, changed = at.chain, at.effect, true
		}
	}
	for _, at := range b.writes() {
		for i := range fn.Params {
			if i >= maxParams || at.params&(1<<i) == 0 || slices.ContainsFunc(s.Writes, func(w write) bool { return w.Param == i }) {
				continue
			}
			s.Writes = append(slices.Clip(s.Writes), write{i, at.chain})
			changed = true
		}
	}
	if r := s.Returns | b.returns(); r != s.Returns {
		s.Returns, changed = r, true
	}
	if c := s.Calls | b.called(); c != s.Calls {
		s.Calls, changed = c, true
	}
	return s, changed
}

// summaryOf returns what is known of a function, or nil.
func (f *flow) summaryOf(fn *ssa.Function) *summary {
	obj := object(fn)
	if obj == nil {
		return nil
	}
	if s, ok := f.summaries[obj]; ok {
		return s
	}
	s, ok := f.imported[obj]
	if !ok {
		var fact summary
		if obj.Pkg() != f.pass.Pkg && f.pass.ImportObjectFact(obj, &fact) {
			s = &fact
		}
		f.imported[obj] = s
	}
	return s
}

// export hands the summaries to the packages that import this one.
func (f *flow) export() {
	for obj, s := range f.summaries {
		if !obj.Exported() {
			continue
		}
		if s.Waits != nil || s.Impure != nil || s.Writes != nil || s.Returns != 0 || s.Calls != 0 {
			f.pass.ExportObjectFact(obj, s)
		}
	}
}

// at shows a position in a chain of calls.
func (f *flow) at(pos token.Pos) string {
	if !pos.IsValid() {
		return ""
	}
	p := f.pass.Fset.Position(pos)
	return filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
}

// object returns the declared function behind fn, the generic one for an
// instance; nil for closures.
func object(fn *ssa.Function) *types.Func {
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	obj, _ := fn.Object().(*types.Func)
	if obj != nil {
		obj = obj.Origin()
	}
	return obj
}

func withClosures(fn *ssa.Function) []*ssa.Function {
	all := []*ssa.Function{fn}
	for _, anon := range fn.AnonFuncs {
		all = append(all, withClosures(anon)...)
	}
	return all
}
