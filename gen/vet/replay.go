package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/wowgen/wow/gen/diag"
)

// replayed is a function that runs again whenever a history is read, and has
// to come to the same each time.
type replayed struct {
	name   string
	fn     *types.Func
	decl   *ast.FuncDecl
	does   string // completes "Cart.ItemAdded ..."
	wanted string
	fix    string
}

// replays lists what runs on a replay: apply methods, upcasters, and the
// functions that make an empty state.
func (m *model) replays() []replayed {
	var all []replayed
	for _, h := range m.handlers {
		if h.role == apply {
			all = append(all, replayed{
				name: h.name, fn: h.fn, decl: h.decl, does: "applies an event",
				wanted: "an apply method that depends on the state and the event alone: it runs again on every replay, and must come to the same",
				fix:    "let the command handler find it out and put it into the event",
			})
		}
	}
	for fn, decl := range m.decls {
		// Of the functions that are no methods, the output calls only these two
		// kinds.
		_, called := m.calls[fn]
		params := fn.Signature().Params().Len()
		switch {
		case decl.Recv != nil:
		case directed("upcast", decl.Doc), called && params == 1:
			all = append(all, replayed{
				name: fn.Name(), fn: fn, decl: decl, does: "brings stored events up to date",
				wanted: "an upcaster that depends on the old event alone: it runs whenever the event is read, and must come to the same",
				fix:    "derive it from the old event, or use a fixed value that means unknown",
			})
		case m.makers[fn.Name()], called && params == 0:
			all = append(all, replayed{
				name: fn.Name(), fn: fn, decl: decl, does: "makes the state that a replay begins with",
				wanted: "a function that depends on nothing: it runs before every replay, and must come to the same",
				fix:    "let the first event set it",
			})
		}
	}
	slices.SortFunc(all, func(a, b replayed) int { return int(a.decl.Pos() - b.decl.Pos()) })
	return all
}

// checkReplay reports whatever makes a replay come out otherwise.
func (v *vetting) checkReplay(r replayed) {
	fn := v.flow.byObject[r.fn]
	if fn == nil {
		return
	}
	for _, s := range newBody(v.flow, fn).effects() {
		what := string(s.effect)
		if s.effect == waits {
			what = "waits or does I/O"
		}
		v.report(nodeAt(v.pass, s.pos, r.decl.Name), diag.Diagnostic{
			Code:    "not-replayable",
			Message: r.name + " " + r.does + ", but " + what,
			Wanted:  r.wanted,
			Found:   trail(r.name, s.chain),
			Fix:     r.fix,
		})
	}
}
