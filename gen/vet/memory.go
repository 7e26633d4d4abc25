package vet

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// memory tells for each value in a function and its closures whose memory it
// leads to: a set of the function's parameters, as bits. Writing through a
// value changes what the parameters in its set refer to.
//
// Values are in SSA form, so a variable that is set anew is another value, and
//
//	lines := maps.Clone(c.Lines)
//	lines[sku] = line
//
// changes nothing of c. Variables that closures share, and structs that are
// copied, are followed field by field: a field that is replaced by a copy after
// `next := *c` is not the state's any more. Where ways differ in doubt, a value
// is taken not to belong to a parameter.
type memory struct {
	flow   *flow
	fns    []*ssa.Function // the function, then the closures in it
	set    map[ssa.Value]uint64
	stores map[*ssa.Alloc][]stored
	bound  map[*ssa.FreeVar]ssa.Value
}

// stored is a value put into a local variable, or into a part of it.
type stored struct {
	path string // "" is all of it, "/3" is field 3, "/3/*" an element of that
	val  ssa.Value
}

// maxParams is how many parameters are told apart; later ones are not followed.
const maxParams = 64

func newMemory(f *flow, fn *ssa.Function) *memory {
	m := &memory{flow: f, set: map[ssa.Value]uint64{}, stores: map[*ssa.Alloc][]stored{}, bound: map[*ssa.FreeVar]ssa.Value{}}
	m.add(fn)
	for i, p := range fn.Params {
		if i < maxParams && refers(p.Type()) {
			m.set[p] = 1 << i
		}
	}
	for instr := range m.instrs() {
		switch instr := instr.(type) {
		case *ssa.MakeClosure:
			for i, v := range instr.Fn.(*ssa.Function).FreeVars {
				m.bound[v] = instr.Bindings[i]
			}
		}
	}
	for instr := range m.instrs() {
		if s, ok := instr.(*ssa.Store); ok {
			if base, path := m.locate(s.Addr); base != nil {
				m.stores[base] = append(m.stores[base], stored{path, s.Val})
			}
		}
	}
	// Sets only grow, so this ends.
	for changed := true; changed; {
		changed = false
		for instr := range m.instrs() {
			if v, ok := instr.(ssa.Value); ok {
				if s := m.eval(v); s != m.set[v] {
					m.set[v] = s
					changed = true
				}
			}
		}
	}
	return m
}

func (m *memory) add(fn *ssa.Function) {
	m.fns = append(m.fns, fn)
	for _, anon := range fn.AnonFuncs {
		m.add(anon)
	}
}

// instrs walks the instructions of the function and its closures.
func (m *memory) instrs() func(yield func(ssa.Instruction) bool) {
	return func(yield func(ssa.Instruction) bool) {
		for _, fn := range m.fns {
			for _, b := range fn.Blocks {
				for _, instr := range b.Instrs {
					if !yield(instr) {
						return
					}
				}
			}
		}
	}
}

// of returns whose memory v leads to.
func (m *memory) of(v ssa.Value) uint64 {
	if free, ok := v.(*ssa.FreeVar); ok {
		if b := m.bound[free]; b != nil {
			return m.of(b)
		}
	}
	return m.set[v]
}

// locate finds the local variable that an address is in, and where in it.
func (m *memory) locate(addr ssa.Value) (base *ssa.Alloc, path string) {
	for {
		switch a := addr.(type) {
		case *ssa.FieldAddr:
			path = "/" + strconv.Itoa(a.Field) + path
			addr = a.X
		case *ssa.IndexAddr:
			if _, ok := a.X.Type().Underlying().(*types.Pointer); !ok {
				return nil, ""
			}
			path = "/*" + path
			addr = a.X
		case *ssa.FreeVar:
			b, ok := m.bound[a]
			if !ok {
				return nil, ""
			}
			addr = b
		case *ssa.Alloc:
			return a, path
		default:
			return nil, ""
		}
	}
}

// contents tells whose memory the value in a part of a local variable leads
// to: what was put there, or else into the whole of which it is a part.
func (m *memory) contents(base *ssa.Alloc, path string) uint64 {
	for {
		common, any := ^uint64(0), false
		for _, s := range m.stores[base] {
			if s.path != path || isNil(s.val) {
				continue
			}
			common &= m.of(s.val)
			any = true
		}
		if any {
			return common
		}
		if path == "" {
			return 0
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// resolve follows a value through conversions and through variables that are
// set once.
func (m *memory) resolve(v ssa.Value) ssa.Value {
	for range maxParams { // bounds a cycle of variables
		switch x := v.(type) {
		case *ssa.ChangeType:
			v = x.X
			continue
		case *ssa.FreeVar:
			if b := m.bound[x]; b != nil {
				v = b
				continue
			}
		case *ssa.UnOp:
			if x.Op == token.MUL {
				if base, path := m.locate(x.X); base != nil && path == "" && len(m.stores[base]) == 1 {
					v = m.stores[base][0].val
					continue
				}
			}
		}
		break
	}
	return v
}

// eval tells whose memory the outcome of an instruction leads to.
func (m *memory) eval(v ssa.Value) uint64 {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return m.of(v.X)
	case *ssa.IndexAddr:
		return m.of(v.X)
	case *ssa.UnOp:
		if v.Op != token.MUL || !refers(v.Type()) {
			return 0
		}
		if base, path := m.locate(v.X); base != nil {
			return m.contents(base, path)
		}
		return m.of(v.X)
	case *ssa.Phi:
		var s uint64
		for _, e := range v.Edges {
			s |= m.of(e)
		}
		return s
	case *ssa.Call:
		return m.evalCall(v)
	case *ssa.Next:
		return m.of(v.Iter)
	case *ssa.Range:
		return m.of(v.X)
	case *ssa.Lookup:
		return m.part(v, v.X)
	case *ssa.Extract:
		return m.part(v, v.Tuple)
	case *ssa.Field:
		return m.part(v, v.X)
	case *ssa.Index:
		return m.part(v, v.X)
	case *ssa.Slice:
		return m.of(v.X)
	case *ssa.ChangeType:
		return m.of(v.X)
	case *ssa.ChangeInterface:
		return m.of(v.X)
	case *ssa.MakeInterface:
		return m.of(v.X)
	case *ssa.TypeAssert:
		return m.part(v, v.X)
	case *ssa.SliceToArrayPointer:
		return m.of(v.X)
	}
	return 0
}

// part is the set of a value taken out of another one.
func (m *memory) part(v, from ssa.Value) uint64 {
	if !refers(v.Type()) {
		return 0
	}
	return m.of(from)
}

func (m *memory) evalCall(call *ssa.Call) uint64 {
	if b, ok := call.Call.Value.(*ssa.Builtin); ok {
		if b.Name() != "append" {
			return 0
		}
		// append(s[:0:0], s...) is how a copy is made.
		if s, ok := call.Call.Args[0].(*ssa.Slice); ok && s.Max != nil {
			return 0
		}
		return m.of(call.Call.Args[0])
	}
	if !refers(call.Type()) {
		return 0
	}
	sum := m.flow.summaryOf(call.Call.StaticCallee())
	if sum == nil {
		return 0
	}
	var s uint64
	for i, arg := range call.Call.Args {
		if i < maxParams && sum.Returns&(1<<i) != 0 {
			s |= m.of(arg)
		}
	}
	return s
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// refers tells whether a value of type t can lead to memory that it shares.
func refers(t types.Type) bool { return refersIn(t, 0) }

func refersIn(t types.Type, depth int) bool {
	const deepest = 10 // a type nested deeper than this surely does
	if depth > deepest {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Interface:
		return true
	case *types.Array:
		return refersIn(u.Elem(), depth+1)
	case *types.Tuple:
		for v := range u.Variables() {
			if refersIn(v.Type(), depth+1) {
				return true
			}
		}
	case *types.Struct:
		for f := range u.Fields() {
			if refersIn(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
