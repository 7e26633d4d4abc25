// Package scan turns what users wrote, directive comments in Go and documents
// in YAML, into the one list of declarations of package schema. It knows the
// table of directives and nothing of what declarations mean together.
package scan

import (
	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Package reads the declarations of a package from both inputs.
//
// Declared.Damaged tells that some of it could not be read.
func Package(p *source.Package, found *diag.List) *schema.Declared {
	d := &schema.Declared{}
	own := &diag.List{}
	defer func() {
		d.Damaged = own.HasErrors()
		found.AddAll(own.Sorted())
	}()
	for _, f := range p.Files {
		s := &goScanner{pkg: p, file: f, found: own, out: d}
		s.scan()
	}
	for _, f := range p.YAML {
		y := &yamlScanner{file: f.Path, found: own, out: d}
		y.scan(f.Data)
	}
	refuseDoubles(d, own)
	return d
}

// refuseDoubles reports a declaration that is made twice, in one input or
// against the other, and keeps the first.
func refuseDoubles(d *schema.Declared, found *diag.List) {
	type key struct {
		directive string
		target    schema.Target
	}
	first := map[key]*schema.Decl{}
	kept := d.Decls[:0]
	for _, decl := range d.Decls {
		k := key{decl.Directive.Name, decl.Target}
		before, twice := first[k]
		if !twice {
			first[k] = decl
			kept = append(kept, decl)
			continue
		}
		message := decl.Directive.Name + " is declared twice for " + decl.Target.String()
		if before.YAML != decl.YAML {
			message = decl.Directive.Name + " is declared for " + decl.Target.String() + " in Go and in YAML"
		}
		found.Add(diag.Diagnostic{
			Pos: decl.Pos, Code: "duplicate", Message: message,
			Wanted: "one declaration", Found: "a second one",
			Fix:     "remove one of the two, and move its arguments to the other",
			Related: []diag.Related{{Pos: before.Pos, Message: "the first one"}},
			See:     decl.Directive.Name,
		})
	}
	d.Decls = kept
}
