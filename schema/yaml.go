package schema

// ShapeKind is the kind of a YAML node.
type ShapeKind uint8

// The kinds of nodes that wow.yaml is made of.
const (
	Scalar   ShapeKind = iota
	Mapping            // the keys of Keys and no others
	List               // items of Elem
	Free               // a mapping from names to Elem
	Switch             // true, or the mapping of Keys
	NameOr             // a name, or the mapping of Keys
	TypeText           // the text of a Go type, or the mapping of Keys
)

// Shape describes one node of wow.yaml. The strict reader and the JSON Schema
// are both made from it.
type Shape struct {
	Kind    ShapeKind
	Keys    []Property
	Elem    *Shape
	Arg     *Arg // what a scalar's value must look like
	Summary string
}

// Property is a key of a mapping.
type Property struct {
	Name     string
	Required bool
	Shape    *Shape
	Arg      string // the directive's argument that it stands for, where it has another name
}

// Key finds a key of the shape.
func (s *Shape) Key(name string) (*Property, bool) {
	for i := range s.Keys {
		if s.Keys[i].Name == name {
			return &s.Keys[i], true
		}
	}
	return nil, false
}

// KeyNames lists the shape's keys.
func (s *Shape) KeyNames() []string {
	names := make([]string, len(s.Keys))
	for i := range s.Keys {
		names[i] = s.Keys[i].Name
	}
	return names
}

var identArg = &Arg{Name: "name", Kind: Ident}

func ident(summary string) *Shape {
	return &Shape{Kind: Scalar, Arg: identArg, Summary: summary}
}

func listOf(elem *Shape, summary string) *Shape {
	return &Shape{Kind: List, Elem: elem, Summary: summary}
}

// argKeys are the keys that stand for the arguments of a directive, under the
// same names. The flags of a group become one key with the group's name.
func argKeys(directive string, leaveOut ...string) []Property {
	d, _ := Lookup(directive)
	var keys []Property
next:
	for i := range d.Args {
		a := &d.Args[i]
		for _, name := range leaveOut {
			if a.Name == name {
				continue next
			}
		}
		if a.Group == "" {
			keys = append(keys, Property{Name: a.Name, Shape: &Shape{Kind: Scalar, Arg: a, Summary: a.Summary}})
			continue
		}
		if len(keys) > 0 && keys[len(keys)-1].Name == a.Group {
			group := keys[len(keys)-1].Shape.Arg
			group.Values = append(group.Values, a.Name)
			continue
		}
		group := &Arg{Name: a.Group, Kind: Enum, Values: []string{a.Name}}
		keys = append(keys, Property{Name: a.Group, Shape: &Shape{Kind: Scalar, Arg: group, Summary: "what the aggregate's existence must be"}})
	}
	return keys
}

// YAML is the shape of wow.yaml.
var YAML = yamlShape()

func yamlShape() *Shape {
	blocking := &Shape{Kind: Switch, Keys: argKeys("blocking"), Summary: summaryOf("blocking")}
	retry := &Shape{Kind: Mapping, Keys: argKeys("retry"), Summary: summaryOf("retry")}
	options := []Property{{Name: "blocking", Shape: blocking}, {Name: "retry", Shape: retry}}
	method := &Shape{Kind: Mapping, Summary: "a method of the type, where it needs an option", Keys: append([]Property{
		{Name: "name", Required: true, Shape: ident("the Go method")},
		{Name: "as", Arg: "name", Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: "as", Kind: Wire}, Summary: "the frozen name of the function"}},
		{Name: "from", Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: "from", Kind: WireRef}, Summary: "the aggregate whose events it takes"}},
		{Name: "ignore", Shape: &Shape{Kind: Scalar, Summary: summaryOf("ignore")}},
	}, options...)}
	methods := Property{Name: "methods", Shape: listOf(method, "methods that need an option")}
	fields := Property{Name: "fields", Shape: &Shape{
		Kind: Free, Summary: "the fields of the type, which is then written into " + "wow_types_gen.go",
		Elem: &Shape{Kind: TypeText, Summary: "a Go type, another package's with its import path: time.Time", Keys: []Property{
			{Name: "type", Required: true, Shape: &Shape{Kind: Scalar, Summary: "a Go type"}},
			{Name: "tag", Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: "tag", Kind: Enum, Values: FieldTags}, Summary: "what the field means to wow"}},
		}},
	}}
	typ := Property{Name: "type", Required: true, Shape: ident("the Go type, of this package")}

	handle := Property{Name: "handle", Shape: &Shape{Kind: Mapping, Keys: options, Summary: "options of the command's handler"}}
	command := &Shape{Kind: Mapping, Summary: summaryOf("command"), Keys: concat([]Property{typ}, argKeys("command", "aggregate", "context"), []Property{fields, handle})}
	event := &Shape{Kind: Mapping, Summary: summaryOf("event"), Keys: concat([]Property{typ}, argKeys("event", "aggregate"), []Property{fields})}
	handler := &Shape{Kind: NameOr, Arg: identArg, Summary: summaryOf("handler"), Keys: concat([]Property{typ, methods}, options)}
	aggregate := &Shape{Kind: Mapping, Summary: summaryOf("aggregate"), Keys: concat(
		[]Property{typ}, argKeys("aggregate"),
		[]Property{fields, {Name: "handlers", Shape: listOf(handler, "types that hold its command handlers")},
			{Name: "commands", Shape: listOf(command, "its commands")},
			{Name: "events", Shape: listOf(event, "its events")}, methods}, options)}
	consumer := func(kind string) Property {
		functions := Property{Name: "methods", Shape: listOf(
			&Shape{Kind: Mapping, Summary: "a method of the type, where it needs an option, or all of them, where the type is to be written as an interface",
				Keys: concat(method.Keys[:1], takesKeys(kind), method.Keys[1:])}, "methods that need an option, or all methods of an interface that is to be written")}
		return Property{Name: kind + "s", Shape: listOf(
			&Shape{Kind: Mapping, Summary: summaryOf(kind), Keys: concat([]Property{typ}, argKeys(kind), []Property{functions}, options)}, kind+"s")}
	}
	return &Shape{Kind: Mapping, Summary: "the declarations of one package, for wowgen", Keys: []Property{
		{Name: "version", Required: true, Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: "version", Kind: Count, Max: 1}, Summary: "the version of this format: 1"}},
		{Name: "context", Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: "context", Kind: Wire}, Summary: summaryOf("context")}},
		{Name: "aggregates", Shape: listOf(aggregate, "the package's aggregates")},
		{Name: "handlers", Shape: listOf(&Shape{Kind: Mapping, Summary: summaryOf("handler"), Keys: concat([]Property{typ}, argKeys("handler"), []Property{methods}, options)},
			"handler types of aggregates that Go declares")},
		{Name: "commands", Shape: listOf(&Shape{Kind: Mapping, Summary: summaryOf("command"), Keys: concat([]Property{typ}, argKeys("command"), []Property{fields, handle})},
			"commands of aggregates that are declared elsewhere")},
		{Name: "events", Shape: listOf(&Shape{Kind: Mapping, Summary: summaryOf("event"), Keys: concat([]Property{typ}, argKeys("event"), []Property{fields})},
			"events of aggregates that are declared elsewhere")},
		consumer("processor"), consumer("projection"), consumer("saga"),
		{Name: "upcasts", Shape: listOf(ident("a Go function of the package"), summaryOf("upcast"))},
	}}
}

// TakesKeys are the keys that say what a consumer's method takes.
var TakesKeys = []string{"event", "state", "refused"}

func takesKeys(kind string) []Property {
	var keys []Property
	for i, summary := range []string{
		"the event that it takes, when the type is to be written", "the aggregate's state that it takes after each commit, when the type is to be written",
		"the saga's own command whose refusal it takes, when the type is to be written",
	} {
		if name := TakesKeys[i]; name != "refused" || kind == "saga" {
			keys = append(keys, Property{Name: name, Shape: &Shape{Kind: Scalar, Arg: &Arg{Name: name, Kind: Word}, Summary: summary}})
		}
	}
	return keys
}

// FieldTags are the values of the struct tag wow.
var FieldTags = []string{"key", "tenant", "version", "request", "deleted"}

func summaryOf(directive string) string {
	d, _ := Lookup(directive)
	return d.Summary
}

func concat(lists ...[]Property) []Property {
	var all []Property
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
