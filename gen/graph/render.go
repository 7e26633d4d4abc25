package graph

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Formats are the languages that a graph can be written in.
var Formats = []string{"mermaid", "dot", "json"}

// Write writes the graph in one of Formats.
func (g *Graph) Write(w io.Writer, format string) error {
	switch format {
	case "mermaid":
		return g.mermaid(w)
	case "dot":
		return g.dot(w)
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(g)
	}
	return fmt.Errorf("graph: writing format %q: there is no such format", format)
}

// names gives each node a short name, the same in each run.
func (g *Graph) names() map[string]string {
	names := map[string]string{}
	for i, n := range g.Nodes {
		names[n.ID] = "n" + strconv.Itoa(i+1)
	}
	return names
}

// groups lists the nodes by their aggregate, in the graph's order; consumers
// have none.
func (g *Graph) groups() (keys []string, byKey map[string][]Node) {
	byKey = map[string][]Node{}
	for _, n := range g.Nodes {
		if _, seen := byKey[n.Aggregate]; !seen {
			keys = append(keys, n.Aggregate)
		}
		byKey[n.Aggregate] = append(byKey[n.Aggregate], n)
	}
	return keys, byKey
}

func (g *Graph) mermaid(w io.Writer) error {
	var b strings.Builder
	names := g.names()
	b.WriteString("flowchart LR\n")
	keys, byKey := g.groups()
	for i, key := range keys {
		indent := "  "
		if key != "" {
			fmt.Fprintf(&b, "  subgraph g%d [%s]\n", i+1, mermaidText(key))
			indent = "    "
		}
		for _, n := range byKey[key] {
			open, end := "[", "]" // a command
			switch n.Kind {
			case "event":
				open, end = "([", "])"
			case "processor", "projection":
				open, end = "[[", "]]"
			case "saga":
				open, end = "{{", "}}"
			}
			fmt.Fprintf(&b, "%s%s%s%s%s\n", indent, names[n.ID], open, mermaidText(n.Name), end)
		}
		if key != "" {
			b.WriteString("  end\n")
		}
	}
	var loops []string
	for i, e := range g.Edges {
		arrow := "-->"
		if e.Kind == "refused" {
			arrow = "-. refused .->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", names[e.From], arrow, names[e.To])
		if e.Loop {
			loops = append(loops, strconv.Itoa(i))
		}
	}
	var loose []string
	for _, n := range g.Nodes {
		if n.Loose {
			loose = append(loose, names[n.ID])
		}
	}
	if len(loose) > 0 {
		b.WriteString("  classDef loose stroke:#c60,stroke-dasharray:4\n  class " + strings.Join(loose, ",") + " loose\n")
	}
	if len(loops) > 0 {
		b.WriteString("  linkStyle " + strings.Join(loops, ",") + " stroke:#c00,stroke-width:3px\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mermaidText(s string) string { return `"` + strings.ReplaceAll(s, `"`, "#quot;") + `"` }

func (g *Graph) dot(w io.Writer) error {
	var b strings.Builder
	names := g.names()
	b.WriteString("digraph wow {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n")
	keys, byKey := g.groups()
	for i, key := range keys {
		indent := "  "
		if key != "" {
			fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%q;\n", i+1, key)
			indent = "    "
		}
		for _, n := range byKey[key] {
			shape := map[string]string{"command": "box", "event": "oval", "processor": "component", "projection": "cylinder", "saga": "hexagon"}[n.Kind]
			style := ""
			if n.Loose {
				style = ", style=dashed, color=\"#cc6600\""
			}
			fmt.Fprintf(&b, "%s%s [label=%q, shape=%s%s];\n", indent, names[n.ID], n.Name, shape, style)
		}
		if key != "" {
			b.WriteString("  }\n")
		}
	}
	for _, e := range g.Edges {
		var attributes []string
		if e.Kind == "refused" {
			attributes = append(attributes, "style=dotted", "label=\"refused\"")
		}
		if e.Loop {
			attributes = append(attributes, "color=\"#cc0000\"", "penwidth=2")
		}
		line := fmt.Sprintf("  %s -> %s", names[e.From], names[e.To])
		if len(attributes) > 0 {
			line += " [" + strings.Join(attributes, ", ") + "]"
		}
		b.WriteString(line + ";\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
