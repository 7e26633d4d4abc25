package vet

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// role is what a handler is for.
type role string

const (
	decide  role = "command handler"
	apply   role = "apply method"
	process role = "event handler"
	saga    role = "saga"
)

// kind is what a type was declared as; a type may be several at once.
type kind uint8

const (
	stateKind kind = 1 << iota
	handlerKind
	consumerKind
	sagaKind
	blockingKind // all handlers of the type are declared blocking
)

// handler is one method that the output has to call.
type handler struct {
	name     string // "Cart.AddItem"
	role     role
	fn       *types.Func
	decl     *ast.FuncDecl
	state    int  // which parameter, the receiver being 0, is the state of a decision; -1: none
	declared bool // //wow:blocking
	called   bool // by the output
	offload  bool // the output has it run on the offload pool
	tx       bool // of a transactional projection, all of which runs there
}

// blocking tells whether the handler may wait. Handlers that YAML declares
// blocking are known from the output.
func (h *handler) blocking() bool { return h.declared || h.offload || h.tx }

// model is what a package declares, as far as the analysis asks.
type model struct {
	pass     *analysis.Pass
	decls    map[*types.Func]*ast.FuncDecl
	types    map[*types.Named]kind
	commands map[*types.Named]bool // by directive
	events   map[*types.Named]bool // by directive, or because a command handler returns them
	makers   map[string]bool       // functions that make an empty state
	calls    map[*types.Func]bool  // what the output calls; true: inside Offload
	output   bool                  // there is an output
	handlers []*handler            // in the order of the source
}

// newModel reads the declarations of a package with the generator's rules.
func newModel(pass *analysis.Pass) *model {
	m := &model{
		pass: pass, decls: map[*types.Func]*ast.FuncDecl{}, types: map[*types.Named]kind{},
		commands: map[*types.Named]bool{}, events: map[*types.Named]bool{}, calls: map[*types.Func]bool{},
		makers: map[string]bool{},
	}
	for _, file := range pass.Files {
		switch {
		case generated(file):
			m.output = true
			m.readOutput(file)
		case !strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go"):
			m.readSource(file)
		}
	}
	m.markStates()
	// Commands are declared, events follow from those who decide: two rounds.
	m.find(decide)
	m.find(apply, process, saga)
	slices.SortFunc(m.handlers, func(a, b *handler) int { return int(a.decl.Pos() - b.decl.Pos()) })
	return m
}

// readSource notes the directives on types, and all methods.
func (m *model) readSource(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if fn, ok := m.pass.TypesInfo.Defs[decl.Name].(*types.Func); ok {
				m.decls[fn] = decl
				m.eventParams(fn)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					m.readType(spec, decl)
				}
			}
		}
	}
}

func (m *model) readType(spec *ast.TypeSpec, decl *ast.GenDecl) {
	obj, ok := m.pass.TypesInfo.Defs[spec.Name].(*types.TypeName)
	if !ok || named(obj.Type()) == nil {
		return
	}
	docs := []*ast.CommentGroup{spec.Doc}
	if !decl.Lparen.IsValid() {
		docs = append(docs, decl.Doc)
	}
	n := named(obj.Type()).Origin()
	for name, k := range map[string]kind{
		"aggregate": stateKind, "handler": handlerKind, "blocking": blockingKind,
		"processor": consumerKind, "projection": consumerKind, "saga": sagaKind,
	} {
		if directed(name, docs...) {
			m.types[n] |= k
		}
	}
	if d, ok := directive("aggregate", docs...); ok {
		m.makers[argument(d, "new")] = true
	}
	m.commands[n] = directed("command", docs...)
	m.events[n] = directed("event", docs...)
}

// eventParams notes T wherever a method takes a wow.Event[T].
func (m *model) eventParams(fn *types.Func) {
	for v := range fn.Signature().Params().Variables() {
		if e := wrapped(v.Type(), "Event"); e != nil {
			m.events[e.Origin()] = true
		}
	}
}

// readOutput notes which functions the output calls, and which of them on the
// offload pool. Those that no directive declares, YAML does.
func (m *model) readOutput(file *ast.File) {
	var visit func(n ast.Node, offloaded bool)
	visit = func(n ast.Node, offloaded bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !offloaded {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Offload" {
					for _, arg := range call.Args {
						visit(arg, true)
					}
					return false
				}
			}
			if id, ok := n.(*ast.Ident); ok {
				if fn, ok := m.pass.TypesInfo.Uses[id].(*types.Func); ok && fn.Pkg() == m.pass.Pkg {
					fn = fn.Origin()
					m.calls[fn] = m.calls[fn] || offloaded
				}
			}
			return true
		})
	}
	visit(file, false)
}

// markStates finds the states that only YAML declares.
func (m *model) markStates() {
	scope := m.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		if obj, ok := scope.Lookup(name).(*types.TypeName); ok && !obj.IsAlias() {
			if n := named(obj.Type()); n != nil && marked(n, "WowState") {
				m.types[n.Origin()] |= stateKind
			}
		}
	}
}

// find adds the methods that have one of the roles.
func (m *model) find(roles ...role) {
	seen := map[*types.Func]bool{}
	for _, h := range m.handlers {
		seen[h.fn] = true
	}
	scope := m.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		// An alias may stand for an instance of a generic type.
		n := named(obj.Type())
		if n == nil || n.TypeParams().Len() > n.TypeArgs().Len() || types.IsInterface(n) {
			continue
		}
		k := m.types[n.Origin()]
		for _, sel := range typeutil.IntuitiveMethodSet(n, nil) {
			method, ok := sel.Obj().(*types.Func)
			if !ok {
				continue
			}
			fn := method.Origin()
			if seen[fn] || m.decls[fn] == nil || directed("ignore", m.decls[fn].Doc) {
				continue
			}
			offload, called := m.calls[fn]
			k := k
			if k&^blockingKind == 0 && called {
				k |= handlerKind | consumerKind | sagaKind
			}
			r, state := m.classify(k, method.Signature())
			if !slices.Contains(roles, r) {
				continue
			}
			seen[fn] = true
			m.handlers = append(m.handlers, &handler{
				name: obj.Name() + "." + fn.Name(), role: r, fn: fn, decl: m.decls[fn], state: state,
				declared: r != apply && (k&blockingKind != 0 || directed("blocking", m.decls[fn].Doc)),
				called:   called, offload: offload, tx: r == process && transactional(obj.Type()),
			})
		}
	}
}

// transactional tells whether a projection keeps its own progress: it has the
// methods Resume and Run that the generator looks for.
func transactional(t types.Type) bool {
	set := types.NewMethodSet(types.NewPointer(t))
	has := func(name string, position func(*types.Signature) *types.Tuple) bool {
		m := set.Lookup(nil, name)
		if m == nil {
			return false
		}
		for v := range position(m.Type().(*types.Signature)).Variables() {
			if isNamed(v.Type(), wowPath, "Position") {
				return true
			}
		}
		return false
	}
	return has("Resume", (*types.Signature).Results) && has("Run", (*types.Signature).Params)
}

// classify tells what a method of a type of kind k is, by its signature. The
// role is "" for a method that is none of ours.
func (m *model) classify(k kind, sig *types.Signature) (r role, state int) {
	var params []types.Type
	for v := range sig.Params().Variables() {
		params = append(params, v.Type())
	}
	first := 1
	if len(params) > 0 && isContext(params[0]) {
		params, first = params[1:], 2
	}
	var results []types.Type
	for v := range sig.Results().Variables() {
		results = append(results, v.Type())
	}
	switch {
	case sig.Variadic():
	case k&stateKind != 0 && len(params) == 1 && m.command(params[0]) && m.decision(results):
		return decide, 0
	case k&handlerKind != 0 && len(params) == 2 && m.kindOf(pointee(params[0]))&stateKind != 0 && m.command(params[1]) && m.decision(results):
		return decide, first
	case k&stateKind != 0 && first == 1 && len(params) == 1 && m.event(params[0]) && len(results) == 0:
		return apply, -1
	case k&consumerKind != 0 && len(params) == 1 && m.incoming(params[0]) && (len(results) == 0 || len(results) == 1 && isError(results[0])):
		return process, -1
	case k&sagaKind != 0 && len(params) == 1 && (m.incoming(params[0]) || wrapped(params[0], "Refused") != nil) && m.sends(results):
		return saga, -1
	}
	return "", -1
}

func (m *model) kindOf(n *types.Named) kind {
	if n == nil {
		return 0
	}
	return m.types[n.Origin()]
}

// command tells whether t is a declared command, plain or wrapped.
func (m *model) command(t types.Type) bool {
	if wrapped(t, "Command") != nil {
		return true
	}
	n := named(t)
	return m.isCommand(n)
}

func (m *model) isCommand(n *types.Named) bool {
	return n != nil && (m.commands[n.Origin()] || marked(n, "WowCommand") || m.kindOf(n)&stateKind == 0 && keyed(n))
}

// event tells whether t is a declared event, plain or wrapped.
func (m *model) event(t types.Type) bool {
	if wrapped(t, "Event") != nil {
		return true
	}
	n := named(t)
	return n != nil && (m.events[n.Origin()] || marked(n, "WowEvent"))
}

// incoming tells whether a consumer may take t.
func (m *model) incoming(t types.Type) bool { return m.event(t) || wrapped(t, "StateEvent") != nil }

// decision tells whether results are those of a command handler, and notes the
// events among them.
func (m *model) decision(results []types.Type) bool {
	var events []*types.Named
	for i, t := range results {
		if i > 0 && i == len(results)-1 && isError(t) {
			break
		}
		if isNamed(t, wowPath, "Events") {
			continue
		}
		n := message(t)
		if n == nil || m.isCommand(n) || m.kindOf(n)&stateKind != 0 {
			return false
		}
		if _, ok := n.Underlying().(*types.Struct); !ok {
			return false
		}
		events = append(events, n)
	}
	for _, n := range events {
		m.events[n.Origin()] = true
	}
	return len(results) > 0 && !isError(results[0])
}

// sends tells whether results are those of a saga.
func (m *model) sends(results []types.Type) bool {
	for i, t := range results {
		if i > 0 && i == len(results)-1 && isError(t) {
			break
		}
		n := message(t)
		if later := wrapped(n, "Delayed"); later != nil {
			n = later
		}
		if !isNamed(t, wowPath, "Commands") && !isNamed(n, wowPath, "Cancel") && !m.isCommand(n) {
			return false
		}
	}
	return len(results) > 0 && !isError(results[0])
}

// message returns the named type T of T, *T or []T.
func message(t types.Type) *types.Named {
	switch u := types.Unalias(t).(type) {
	case *types.Pointer:
		return named(u.Elem())
	case *types.Slice:
		return named(u.Elem())
	}
	return named(t)
}

// tagged tells whether a struct tag marks the key.
func tagged(tag string) bool { return reflect.StructTag(tag).Get("wow") == "key" }
