// Package graph draws what follows from what: commands, the events that their
// aggregates decide, the consumers of those, and the commands that sagas send.
package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wowgen/wow/schema"
)

// Node is something that happens, or that reacts.
type Node struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"` // command, event, processor, projection or saga
	Name      string `json:"name"` // on the wire
	Type      string `json:"type"` // in Go, with its package's path
	Aggregate string `json:"aggregate,omitempty"`
	// Loose marks an event that nobody handles, or a command that nobody
	// of the patterns decides.
	Loose bool `json:"loose,omitempty"`
}

// Edge says that something follows from something.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // decides, handled, sends or refused
	// Loop marks an edge on a cycle.
	Loop bool `json:"loop,omitempty"`
}

// Graph is all of it, sorted.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// New draws packages.
func New(packages []*schema.Package) *Graph {
	b := &builder{nodes: map[string]*Node{}, edges: map[Edge]bool{}}
	for _, p := range packages {
		for _, c := range p.Commands {
			n := b.node("command", schema.Ref{Path: p.Path, Name: c.Type})
			n.Name, n.Aggregate = c.Name, c.Target()
		}
		for _, e := range p.Events {
			n := b.node("event", schema.Ref{Path: p.Path, Name: e.Newest.Type})
			n.Name, n.Aggregate = e.Name, strings.Join(e.Aggregates, ", ")
		}
	}
	for _, p := range packages {
		b.aggregates(p)
		b.consumers(p)
	}
	return b.graph()
}

type builder struct {
	nodes map[string]*Node
	edges map[Edge]bool
}

func (b *builder) node(kind string, r schema.Ref) *Node {
	id := kind + " " + r.Path + "." + r.Name
	if b.nodes[id] == nil {
		b.nodes[id] = &Node{ID: id, Kind: kind, Name: schema.Snake(r.Name), Type: r.Path + "." + r.Name}
	}
	return b.nodes[id]
}

func (b *builder) edge(from, to *Node, kind string) {
	b.edges[Edge{From: from.ID, To: to.ID, Kind: kind}] = true
}

func (b *builder) aggregates(p *schema.Package) {
	for _, a := range p.Aggregates {
		for _, d := range a.Decides {
			from := b.node("command", d.Command)
			from.Aggregate = a.FullName()
			for _, r := range d.Results {
				if r.Kind != schema.Mixed {
					b.edge(from, b.node("event", r.Type), "decides")
					continue
				}
				// What wow.Events holds is not written down: it may be any
				// event of the aggregate that no handler returns by its type.
				for _, e := range loose(a) {
					b.edge(from, b.node("event", e), "decides")
				}
			}
		}
	}
}

// loose are the events of an aggregate that no handler returns by type.
func loose(a *schema.Aggregate) []schema.Ref {
	typed := map[schema.Ref]bool{}
	for _, d := range a.Decides {
		for _, r := range d.Results {
			typed[r.Type] = true
		}
	}
	var out []schema.Ref
	for _, e := range a.Events {
		if !typed[e] {
			out = append(out, e)
		}
	}
	return out
}

func (b *builder) consumers(p *schema.Package) {
	states := map[schema.Ref][]schema.Ref{}
	for _, a := range p.Aggregates {
		states[schema.Ref{Path: p.Path, Name: a.Type}] = a.Events
	}
	for _, c := range p.Consumers {
		n := b.node(c.Kind, schema.Ref{Path: p.Path, Name: c.Type})
		n.Name = c.FullName()
		for _, f := range c.Functions {
			switch f.Kind {
			case schema.OnEvent:
				b.edge(b.node("event", f.Message), n, "handled")
			case schema.OnState:
				for _, e := range states[f.Message] {
					b.edge(b.node("event", e), n, "handled")
				}
			case schema.OnRefused:
				b.edge(b.node("command", f.Message), n, "refused")
			}
		}
		for _, r := range c.Sends {
			b.edge(n, b.node("command", r), "sends")
		}
	}
}

func (b *builder) graph() *Graph {
	g := &Graph{Nodes: []Node{}, Edges: []Edge{}}
	for e := range b.edges {
		g.Edges = append(g.Edges, e)
	}
	slices.SortFunc(g.Edges, func(x, y Edge) int {
		return cmp.Or(strings.Compare(x.From, y.From), strings.Compare(x.To, y.To), strings.Compare(x.Kind, y.Kind))
	})
	out := map[string]int{}
	for _, e := range g.Edges {
		if e.Kind != "refused" {
			out[e.From]++
		}
	}
	for _, n := range b.nodes {
		n.Loose = (n.Kind == "event" || n.Kind == "command") && out[n.ID] == 0
		g.Nodes = append(g.Nodes, *n)
	}
	order := map[string]int{"command": 0, "event": 1, "processor": 2, "projection": 3, "saga": 4}
	slices.SortFunc(g.Nodes, func(x, y Node) int {
		return cmp.Or(cmp.Compare(order[x.Kind], order[y.Kind]), strings.Compare(x.Aggregate, y.Aggregate), strings.Compare(x.Name, y.Name), strings.Compare(x.ID, y.ID))
	})
	g.markLoops()
	return g
}

// markLoops marks the edges from which their own beginning can be reached.
func (g *Graph) markLoops() {
	next := map[string][]string{}
	for _, e := range g.Edges {
		if e.Kind != "refused" {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	for i, e := range g.Edges {
		if e.Kind == "refused" {
			continue
		}
		seen := map[string]bool{}
		queue := []string{e.To}
		for len(queue) > 0 && !g.Edges[i].Loop {
			at := queue[0]
			queue = queue[1:]
			if at == e.From {
				g.Edges[i].Loop = true
			}
			for _, n := range next[at] {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			}
		}
	}
}
