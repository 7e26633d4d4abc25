package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// loops warns about cycles of sagas: a command whose event makes a saga send
// the command again. loop= at one of the sagas says why it ends.
func (p *Program) loops() {
	type edge struct {
		to   string
		text string
		saga *schema.Consumer
		unit *Unit
	}
	edges := map[string][]edge{}
	key := func(r schema.Ref) string { return r.Path + "." + r.Name }
	for _, u := range p.Units {
		for _, a := range u.Model.Aggregates {
			for _, d := range a.Decides {
				for _, r := range d.Results {
					events := []schema.Ref{r.Type}
					if r.Kind == schema.Mixed {
						events = a.Events // wow.Events may hold any of them
					}
					for _, e := range events {
						edges[key(d.Command)] = append(edges[key(d.Command)], edge{to: key(e), text: e.Name})
					}
				}
			}
		}
		for _, c := range u.Model.Consumers {
			for _, f := range c.Functions {
				for _, r := range f.Results {
					if f.Kind == schema.OnEvent && r.Typed() && c.Loop == "" {
						edges[key(f.Message)] = append(edges[key(f.Message)], edge{to: key(r.Type), text: r.Type.Name, saga: c, unit: u})
					}
				}
			}
		}
	}
	for _, list := range edges {
		slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.to, b.to) })
	}
	reported := map[*schema.Consumer]bool{}
	state := map[string]int{} // 1 on the path, 2 done
	var path []edge
	var visit func(node string)
	visit = func(node string) {
		state[node] = 1
		for _, e := range edges[node] {
			switch state[e.to] {
			case 0:
				path = append(path, e)
				visit(e.to)
				path = path[:len(path)-1]
			case 1:
				cycle := append(slices.Clone(path), e)
				start := 0
				for i := range cycle {
					if cycle[i].to == e.to && i < len(cycle)-1 {
						start = i + 1
					}
				}
				cycle = cycle[start:]
				var names []string
				var saga *edge
				for i := range cycle {
					names = append(names, cycle[i].text)
					if cycle[i].saga != nil && saga == nil {
						saga = &cycle[i]
					}
				}
				if saga == nil || reported[saga.saga] {
					continue
				}
				reported[saga.saga] = true
				names = append([]string{cycle[len(cycle)-1].text}, names...)
				saga.unit.warn(saga.saga.Pos, diag.Diagnostic{
					Code: "saga-loop", Message: "the saga " + saga.saga.Type + " can go round for ever",
					Wanted: "a chain that ends", Found: strings.Join(names, " -> "), Fix: "break the chain, or say why it ends: loop=reason", See: "saga",
				})
			}
		}
		state[node] = 2
	}
	for _, node := range sortedKeys(edges) {
		if state[node] == 0 {
			visit(node)
		}
	}
}
