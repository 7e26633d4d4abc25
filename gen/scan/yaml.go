package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

// Bounds of a YAML document: a mistake, or malice, ends with an error.
const (
	MaxYAML  = 1 << 20 // bytes
	maxNodes = 100_000 // after aliases are expanded
	maxDepth = 32
)

// yamlScanner reads the declarations of one YAML document. It decodes through
// yaml.Node, so that each diagnostic has its line and column.
type yamlScanner struct {
	file  string
	found *diag.List
	out   *schema.Declared
	nodes int
}

func (y *yamlScanner) scan(data []byte) {
	if len(data) > MaxYAML {
		y.report(nil, diag.Diagnostic{
			Code: "yaml-too-large", Message: "the document is too large",
			Wanted: "at most 1 MiB", Found: strconv.Itoa(len(data)) + " bytes", Fix: "split the package",
		})
		return
	}
	root, ok := y.parse(data)
	if !ok || root == nil {
		return
	}
	root = y.resolve(root, 0)
	if root == nil || !y.check(root, schema.YAML, "wow.yaml") {
		if root == nil || root.Kind != yaml.MappingNode {
			return
		}
	}
	y.document(root)
}

func (y *yamlScanner) parse(data []byte) (root *yaml.Node, ok bool) {
	defer func() {
		if r := recover(); r != nil { // the parser's own panics are a fault of the document, too
			y.syntax(fmt.Errorf("yaml: %v", r))
			root, ok = nil, false
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			y.report(nil, diag.Diagnostic{
				Code: "yaml-empty", Message: "the document is empty",
				Wanted: "version: 1, and declarations", Found: "nothing", Fix: "write version: 1, or remove the file",
			})
			return nil, false
		}
		y.syntax(err)
		return nil, false
	}
	if err := dec.Decode(&second); err == nil {
		y.report(&second, diag.Diagnostic{
			Code: "yaml-documents", Message: "the file holds several documents",
			Wanted: "one document", Found: "a second one", Fix: "remove the --- line, and join them",
		})
	} else if !errors.Is(err, io.EOF) {
		y.syntax(err)
		return nil, false
	}
	if len(doc.Content) == 0 {
		return nil, false
	}
	return doc.Content[0], true
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (y *yamlScanner) syntax(err error) {
	d := diag.Diagnostic{
		Pos: schema.Pos{File: y.file, Line: 1}, Code: "yaml-syntax", Message: "the document does not parse",
		Wanted: "YAML", Fix: "mend the syntax: indentation by blanks, a blank after each colon",
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		d.Pos.Line, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	d.Found = text
	y.found.Add(d)
}

func (y *yamlScanner) pos(n *yaml.Node) schema.Pos {
	if n == nil {
		return schema.Pos{File: y.file}
	}
	return schema.Pos{File: y.file, Line: n.Line, Column: n.Column}
}

func (y *yamlScanner) report(n *yaml.Node, d diag.Diagnostic) {
	d.Pos = y.pos(n)
	y.found.Add(d)
}

// resolve replaces aliases by what they stand for and applies merge keys,
// under the bounds. It returns nil once it gave up.
func (y *yamlScanner) resolve(n *yaml.Node, depth int) *yaml.Node {
	if y.nodes++; y.nodes > maxNodes || depth > maxDepth {
		if y.nodes != -1<<30 {
			y.report(n, diag.Diagnostic{
				Code: "yaml-bounds", Message: "the document is too deep, or its aliases expand to too much",
				Wanted: fmt.Sprintf("at most %d nodes, %d deep", maxNodes, maxDepth), Found: "more", Fix: "write out what the aliases stand for",
			})
			y.nodes = -1 << 30
		}
		return nil
	}
	if y.nodes < 0 {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil {
			return nil
		}
		target := y.resolve(n.Alias, depth+1)
		if target == nil {
			return nil
		}
		here := *target
		here.Line, here.Column = n.Line, n.Column
		return &here
	}
	out := *n
	out.Content = nil
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			r := y.resolve(c, depth+1)
			if r == nil {
				return nil
			}
			out.Content = append(out.Content, r)
		}
		return &out
	}
	var merged []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := y.resolve(n.Content[i+1], depth+1)
		if value == nil {
			return nil
		}
		if n.Content[i].Tag == "!!merge" {
			sources := []*yaml.Node{value}
			if value.Kind == yaml.SequenceNode {
				sources = value.Content
			}
			for _, s := range sources {
				if s.Kind == yaml.MappingNode {
					merged = append(merged, s.Content...)
				}
			}
			continue
		}
		own[n.Content[i].Value] = true
		out.Content = append(out.Content, n.Content[i], value)
	}
	for i := 0; i+1 < len(merged); i += 2 {
		if !own[merged[i].Value] {
			own[merged[i].Value] = true
			out.Content = append(out.Content, merged[i], merged[i+1])
		}
	}
	return &out
}

// pairs walks a mapping's keys in order.
func pairs(n *yaml.Node) func(func(key, value *yaml.Node) bool) {
	return func(do func(key, value *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !do(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// at returns the value of a key, or nil.
func at(n *yaml.Node, name string) *yaml.Node {
	for key, value := range pairs(n) {
		if key.Value == name {
			return value
		}
	}
	return nil
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return quote(n.Value)
}
