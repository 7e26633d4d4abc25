package schema

import (
	"cmp"
	"strconv"
)

// Pos is a place in an input: a file of Go or YAML.
type Pos struct {
	File   string // slash-separated, absolute
	Line   int    // from 1; 0 when only the file is known
	Column int    // from 1, in bytes; 0 when only the line is known
}

// IsValid tells whether the position names a file at least.
func (p Pos) IsValid() bool { return p.File != "" }

// String renders file:line:column, leaving out what is unknown.
func (p Pos) String() string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Target is what a declaration is about. The empty target is the package.
//
// A method is named by Type and Method. YAML may name the handler of a command
// without knowing where it stands: then only Command is set.
type Target struct {
	Type    string
	Method  string
	Func    string
	Command string
}

// String names the target as a user would.
func (t Target) String() string {
	switch {
	case t.Command != "":
		return "the handler of " + t.Command
	case t.Method != "":
		return t.Type + "." + t.Method
	case t.Type != "":
		return t.Type
	case t.Func != "":
		return t.Func
	}
	return "the package"
}

// Value is one argument as it was given, checked against the table.
type Value struct {
	Name string
	Text string // "true" for a flag
	Pos  Pos
}

// Decl is one declaration: a directive comment, or the part of a YAML document
// that says the same.
type Decl struct {
	Directive *Directive
	Target    Target
	Args      []Value
	Text      string // of a directive with free text
	Pos       Pos
	YAML      bool
}

// Get returns an argument's text and whether it was given.
func (d *Decl) Get(name string) (string, bool) {
	if d == nil {
		return "", false
	}
	for i := range d.Args {
		if d.Args[i].Name == name {
			return d.Args[i].Text, true
		}
	}
	return "", false
}

// Arg returns an argument's text, or "" when it was not given.
func (d *Decl) Arg(name string) string {
	s, _ := d.Get(name)
	return s
}

// ArgPos returns where an argument was given, or where the declaration is.
func (d *Decl) ArgPos(name string) Pos {
	for i := range d.Args {
		if d.Args[i].Name == name {
			return d.Args[i].Pos
		}
	}
	return d.Pos
}

// Number returns a count argument, or def when it was not given.
func (d *Decl) Number(name string, def int) int {
	if s, ok := d.Get(name); ok {
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
	}
	return def
}

// Fields are the fields of a type that YAML asks to be written.
type Fields struct {
	Type   string
	Doc    string
	Fields []Field
	Pos    Pos
}

// Field is one field of a type that YAML asks to be written.
type Field struct {
	Name string
	Type string // as in Go; a package path before the last dot, where it is another package's
	Tag  string // key, tenant, version, request or nothing
	Pos  Pos
}

// Takes is what YAML says that a method takes, of a consumer's type that is to
// be written as an interface.
type Takes struct {
	Type    string
	Method  string
	Kind    string // event, state or refused; "" for what cannot be taken, which was reported
	Message string // as in Go; a package path before the last dot, where it is another package's
	Pos     Pos
}

// Declared is everything that one package declares, from both inputs.
type Declared struct {
	Decls  []*Decl
	Fields []*Fields
	Takes  []*Takes
	// Damaged tells that some declarations could not be read. What seems to be
	// missing then is a consequence, and not worth a diagnostic.
	Damaged bool

	// Doubtful are the types about whose declaration something was wrong.
	Doubtful map[string]bool
}

// Doubt notes such a type; "" is none.
func (d *Declared) Doubt(typ string) {
	if typ == "" {
		return
	}
	if d.Doubtful == nil {
		d.Doubtful = map[string]bool{}
	}
	d.Doubtful[typ] = true
}
