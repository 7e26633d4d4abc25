package schema

import "strings"

// Place is a kind of Go declaration that a directive may stand on.
type Place uint8

// The places of directives; a directive may have several.
const (
	OnPackage Place = 1 << iota // the package clause
	OnType                      // a type declaration
	OnMethod                    // a method
	OnFunc                      // a function
)

// String names the place for people: "a type or a method".
func (p Place) String() string {
	var parts []string
	for _, q := range []struct {
		place Place
		name  string
	}{{OnPackage, "the package clause"}, {OnType, "a type"}, {OnMethod, "a method"}, {OnFunc, "a function"}} {
		if p&q.place != 0 {
			parts = append(parts, q.name)
		}
	}
	return strings.Join(parts, " or ")
}

// Kind says what the value of an argument looks like.
type Kind uint8

// The kinds of argument values.
const (
	Flag     Kind = iota // a bare word
	Wire                 // a wire name: item_added
	WireRef              // a wire name, with its context before a dot where it is another one: shop.cart
	Ident                // a Go identifier of the package
	Enum                 // one of Values
	Count                // a whole number from 1 to Max
	Duration             // 250ms, 1m30s
	Snapshot             // every:N or off
	Word                 // any word without spaces
	Begin                // beginning, now, or a time as of RFC 3339
)

// Arg is one argument that a directive takes.
type Arg struct {
	Name    string
	Kind    Kind
	Values  []string // of an Enum
	Max     int      // of a Count
	Default string   // what holds without it, for people
	Summary string
	Group   string // at most one Flag of a group may be given; in YAML the group is the key
}

// Directive is one row of the table of everything that can be declared.
type Directive struct {
	Name       string
	On         Place
	Positional *Arg // written without its name
	Args       []Arg
	Text       bool // the rest of the line is free text
	Summary    string
	Doc        string
	Example    string
}

// Arg finds an argument by name.
func (d *Directive) Arg(name string) (*Arg, bool) {
	for i := range d.Args {
		if d.Args[i].Name == name {
			return &d.Args[i], true
		}
	}
	return nil, false
}

// Usage shows the directive with all its arguments, as a user types it.
func (d *Directive) Usage() string {
	var b strings.Builder
	b.WriteString("//wow:" + d.Name)
	if d.Positional != nil {
		b.WriteString(" " + strings.ToUpper(d.Positional.Name))
	}
	if d.Text {
		b.WriteString(" text")
	}
	for i := 0; i < len(d.Args); i++ {
		a := d.Args[i]
		if a.Group != "" {
			var words []string
			for ; i < len(d.Args) && d.Args[i].Group == a.Group; i++ {
				words = append(words, d.Args[i].Name)
			}
			i--
			b.WriteString(" " + strings.Join(words, "|"))
			continue
		}
		b.WriteString(" " + a.Usage())
	}
	return b.String()
}

// Usage shows the argument as a user types it, its value as a pattern.
func (a *Arg) Usage() string {
	if a.Kind == Flag {
		return a.Name
	}
	return a.Name + "=" + a.Pattern()
}

// Pattern describes the values of the argument.
func (a *Arg) Pattern() string {
	switch a.Kind {
	case Flag:
		return a.Name
	case Wire:
		return "wire_name"
	case WireRef:
		return "[context.]name"
	case Ident:
		return "GoName"
	case Enum:
		return strings.Join(a.Values, "|")
	case Count:
		if a.Max == 1 {
			return "1"
		}
		return "N"
	case Duration:
		return "250ms"
	case Snapshot:
		return "every:N|off"
	case Begin:
		return "beginning|now|TIME"
	}
	return "word"
}

// Names lists the names of all arguments, in the table's order.
func (d *Directive) Names() []string {
	names := make([]string, len(d.Args))
	for i := range d.Args {
		names[i] = d.Args[i].Name
	}
	return names
}

// Lookup finds a directive by name.
func Lookup(name string) (*Directive, bool) {
	for i := range Directives {
		if Directives[i].Name == name {
			return &Directives[i], true
		}
	}
	return nil, false
}

// DirectiveNames lists the names of all directives, in the table's order.
func DirectiveNames() []string {
	names := make([]string, len(Directives))
	for i := range Directives {
		names[i] = Directives[i].Name
	}
	return names
}
