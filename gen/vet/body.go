package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// body looks through one function and the closures that run as a part of it.
type body struct {
	*memory
	runs []*ssa.Function // the function and the closures that it surely means to run
}

func newBody(f *flow, fn *ssa.Function) *body {
	b := &body{memory: newMemory(f, fn), runs: []*ssa.Function{fn}}
	for i := 0; i < len(b.runs); i++ {
		for _, anon := range b.runs[i].AnonFuncs {
			if b.runsClosure(anon) {
				b.runs = append(b.runs, anon)
			}
		}
	}
	return b
}

// runsClosure tells whether a closure runs during the function: it is called,
// or handed to somebody who is known to call it. One handed to wow.Await, or
// started by go, does not count.
func (b *body) runsClosure(anon *ssa.Function) bool {
	if _, ok := anon.Syntax().(*ast.RangeStmt); ok {
		return true // the body of a loop over an iterator
	}
	if b.used(anon) {
		return true
	}
	for _, fn := range b.fns {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				if c, ok := instr.(*ssa.MakeClosure); ok && c.Fn == anon && b.used(c) {
					return true
				}
			}
		}
	}
	return false
}

// used tells whether a function value is called as a part of the function.
func (b *body) used(v ssa.Value) bool {
	refs := v.Referrers()
	if refs == nil {
		return false
	}
	for _, instr := range *refs {
		switch instr := instr.(type) {
		case *ssa.ChangeType:
			if b.used(instr) {
				return true
			}
		case *ssa.Store:
			if base, _ := b.locate(instr.Addr); base != nil && instr.Val == v {
				return true
			}
		case *ssa.Call:
			if b.callsValue(&instr.Call, v) {
				return true
			}
		case *ssa.Defer:
			if b.callsValue(&instr.Call, v) {
				return true
			}
		}
	}
	return false
}

// callsValue tells whether a call calls v or hands it to a callee that does.
func (b *body) callsValue(call *ssa.CallCommon, v ssa.Value) bool {
	if call.Value == v {
		return true
	}
	callee := call.StaticCallee()
	if callee == nil {
		return false
	}
	if _, _, calls := lookup(object(callee)); calls {
		return true
	}
	s := b.flow.summaryOf(callee)
	if s == nil {
		return false
	}
	for i, arg := range call.Args {
		if arg == v && i < maxParams && s.Calls&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// effects lists where the function waits, or depends on more than its input.
func (b *body) effects() []site {
	var sites []site
	add := func(pos token.Pos, e effect, chain ...hop) {
		sites = append(sites, site{pos: pos, effect: e, chain: chain})
	}
	for _, fn := range b.runs {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				at := b.flow.at(instr.Pos())
				switch instr := instr.(type) {
				case *ssa.Select:
					if instr.Blocking {
						add(instr.Pos(), waits, hop{"a select without default", at})
					}
				case *ssa.Send:
					if !b.buffered(instr.Chan) {
						add(instr.Pos(), waits, hop{"a channel send", at})
					}
				case *ssa.UnOp:
					if instr.Op == token.ARROW {
						add(instr.Pos(), waits, hop{"a channel receive", at})
					}
				case *ssa.Call:
					b.callEffects(&instr.Call, instr.Pos(), add)
				case *ssa.Defer:
					b.callEffects(&instr.Call, instr.Pos(), add)
				}
			}
		}
	}
	slices.SortStableFunc(sites, func(a, b site) int { return int(a.pos - b.pos) })
	return sites
}

func (b *body) callEffects(call *ssa.CallCommon, pos token.Pos, add func(token.Pos, effect, ...hop)) {
	obj := call.Method
	callee := call.StaticCallee()
	if obj == nil {
		obj = object(callee)
	}
	if obj == nil || obj == object(b.fns[0]) {
		return // what it calls itself for is seen anyway
	}
	here := hop{qualifiedName(obj, b.flow.pass.Pkg), b.flow.at(pos)}
	if e, _, _ := lookup(obj); e != "" {
		add(pos, e, here)
		return
	}
	s := b.flow.summaryOf(callee)
	if s == nil {
		return
	}
	if s.Waits != nil {
		add(pos, waits, append([]hop{here}, s.Waits...)...)
	}
	if s.Impure != nil {
		add(pos, s.What, append([]hop{here}, s.Impure...)...)
	}
}

// buffered tells whether a channel is made in the function with room in it.
// Sending to such a one is how a result is left behind, not waiting.
func (b *body) buffered(v ssa.Value) bool {
	made, ok := b.resolve(v).(*ssa.MakeChan)
	if !ok {
		return false
	}
	size, ok := made.Size.(*ssa.Const)
	return !ok || size.Value != nil && constant.Sign(size.Value) > 0
}

// writes lists where memory that a parameter refers to is changed, in all
// closures, whenever they run.
func (b *body) writes() []site {
	var sites []site
	add := func(pos token.Pos, params uint64, callee *types.Func, chain []hop) {
		if params == 0 {
			return
		}
		name := ""
		if callee != nil {
			name = qualifiedName(callee, b.flow.pass.Pkg)
		} else {
			name = b.flow.describe(pos)
		}
		sites = append(sites, site{pos: pos, params: params, chain: append([]hop{{name, b.flow.at(pos)}}, chain...)})
	}
	for instr := range b.instrs() {
		switch instr := instr.(type) {
		case *ssa.Store:
			if base, _ := b.locate(instr.Addr); base == nil {
				add(instr.Pos(), b.of(instr.Addr), nil, nil)
			}
		case *ssa.MapUpdate:
			add(instr.Pos(), b.of(instr.Map), nil, nil)
		case *ssa.Call:
			b.callWrites(&instr.Call, instr.Pos(), add)
		case *ssa.Defer:
			b.callWrites(&instr.Call, instr.Pos(), add)
		case *ssa.Go:
			b.callWrites(&instr.Call, instr.Pos(), add)
		}
	}
	slices.SortStableFunc(sites, func(a, b site) int { return int(a.pos - b.pos) })
	return sites
}

func (b *body) callWrites(call *ssa.CallCommon, pos token.Pos, add func(token.Pos, uint64, *types.Func, []hop)) {
	if builtin, ok := call.Value.(*ssa.Builtin); ok {
		switch builtin.Name() {
		case "delete", "clear", "copy":
			add(pos, b.of(call.Args[0]), nil, nil)
		}
		return
	}
	callee := call.StaticCallee()
	obj := object(callee)
	if obj == nil {
		return
	}
	if _, arg, _ := lookup(obj); arg >= 0 && arg < len(call.Args) {
		add(pos, b.of(call.Args[arg]), nil, nil)
		return
	}
	s := b.flow.summaryOf(callee)
	if s == nil {
		return
	}
	for _, w := range s.Writes {
		if w.Param < len(call.Args) {
			add(pos, b.of(call.Args[w.Param]), obj, w.Chain)
		}
	}
}

// returns tells whose memory the results lead to.
func (b *body) returns() uint64 {
	var s uint64
	for _, block := range b.fns[0].Blocks {
		for _, instr := range block.Instrs {
			if r, ok := instr.(*ssa.Return); ok {
				for _, v := range r.Results {
					s |= b.of(v)
				}
			}
		}
	}
	return s
}

// called tells which parameters the function calls, or hands to somebody who
// does.
func (b *body) called() uint64 {
	var s uint64
	params := b.fns[0].Params
	for _, fn := range b.runs {
		for _, block := range fn.Blocks {
			for _, instr := range block.Instrs {
				var call *ssa.CallCommon
				switch instr := instr.(type) {
				case *ssa.Call:
					call = &instr.Call
				case *ssa.Defer:
					call = &instr.Call
				default:
					continue
				}
				for i, p := range params {
					if i >= maxParams {
						break
					}
					if !call.IsInvoke() && b.resolve(call.Value) == p {
						s |= 1 << i
					}
					for _, arg := range call.Args {
						if b.resolve(arg) == p && b.callsValue(call, arg) {
							s |= 1 << i
						}
					}
				}
			}
		}
	}
	return s
}
