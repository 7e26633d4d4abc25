package plan

import (
	"strings"

	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// paramKind says what a parameter is to wow.
type paramKind uint8

const (
	plain      paramKind = iota // nothing to wow
	state                       // S or *S of an aggregate
	command                     // C or wow.Command[C]
	event                       // E or wow.Event[E]
	stateEvent                  // wow.StateEvent[S]
	refused                     // wow.Refused[C]
	structure                   // a struct of this package that nobody declared
	foreign                     // another package's type, not wrapped
)

func (k paramKind) message() bool { return k >= command && k <= refused }

// param is a parameter after the context.
type param struct {
	kind    paramKind
	ref     schema.Ref
	wrapped bool
	pointer bool
	text    string
	name    string
}

// shape is a method's signature as wow reads it.
type shape struct {
	m      *source.Method
	ctx    bool
	params []param
}

// shapeOf reads a signature.
func (u *Unit) shapeOf(m *source.Method) shape {
	s := shape{m: m}
	rest := m.Params
	if len(rest) > 0 && rest[0].Type.Is("context", "Context") {
		s.ctx, rest = true, rest[1:]
	}
	for i, p := range rest {
		q := u.paramOf(p.Type)
		if m.Variadic && i == len(rest)-1 && p.Type.Elem != nil {
			q = u.paramOf(p.Type.Elem)
			q.text = "..." + q.text
		}
		q.name = p.Name
		s.params = append(s.params, q)
	}
	return s
}

func (u *Unit) paramOf(e *source.Expr) param {
	p := param{text: e.Text}
	if e.Kind == source.Pointer {
		p = u.paramOf(e.Elem)
		p.text, p.pointer = e.Text, true
		return p
	}
	for name, kind := range map[string]paramKind{"Command": command, "Event": event, "StateEvent": stateEvent, "Refused": refused} {
		if arg, ok := e.Wow(name); ok {
			p.kind, p.wrapped = kind, true
			if arg.Kind == source.Pointer {
				p.pointer, arg = true, arg.Elem
			}
			p.ref = u.ref(arg)
			return p
		}
	}
	if e.Kind != source.Named {
		return p
	}
	p.ref = u.ref(e)
	if p.ref.Path != u.Pkg.Path {
		if p.ref.Path != "" && p.ref.Path != source.WowPath {
			p.kind = foreign
		}
		return p
	}
	name := p.ref.Name
	switch {
	case u.states[name] != nil:
		p.kind = state
	case u.commands[name] != nil:
		p.kind = command
	case u.events[name] != nil:
		p.kind = event
	case u.isStruct(p.ref) && u.roles[name] == "":
		p.kind = structure
	}
	return p
}

// plainText is a parameter's type without what makes it wrong: a pointer, dots.
func plainText(p param) string {
	text := strings.TrimPrefix(strings.TrimPrefix(p.text, "..."), "*")
	return strings.Replace(text, "[*", "[", 1)
}

// has tells whether a parameter is of one of the kinds.
func (s *shape) has(kinds ...paramKind) bool {
	for _, p := range s.params {
		for _, k := range kinds {
			if p.kind == k {
				return true
			}
		}
	}
	return false
}

// suspicious finds the struct that a method is named after, where nobody has
// declared that as a message: T, OnT, HandleT or ApplyT for its one struct
// parameter T.
func (s *shape) suspicious(kind paramKind) (param, bool) {
	var one param
	count := 0
	for _, p := range s.params {
		if p.kind == structure || p.kind == foreign {
			one = p
			count++
		}
	}
	if count != 1 || one.kind != kind || one.ref.Name == "" {
		return param{}, false
	}
	for _, prefix := range []string{"", "On", "Handle", "Apply", "on", "handle", "apply"} {
		if s.m.Name == prefix+one.ref.Name {
			return one, true
		}
	}
	return param{}, false
}

// results reads the results of a method that returns messages: events when
// list is Events, commands when it is Commands. problem says what is wrong.
func (u *Unit) results(m *source.Method, list string) (out []schema.Result, err bool, problem string) {
	results := m.Results
	if n := len(results); n > 0 && results[n-1].Is("", "error") {
		err, results = true, results[:n-1]
	}
	what := strings.ToLower(strings.TrimSuffix(list, "s"))
	if len(results) == 0 {
		return nil, err, "it returns no " + what
	}
	for _, e := range results {
		r := schema.Result{Kind: schema.One}
		inner := e
		switch {
		case e.Is("", "error"):
			return nil, err, "its error is not the last result"
		case e.Is(source.WowPath, list):
			out = append(out, schema.Result{Kind: schema.Mixed})
			continue
		case e.Kind == source.Pointer:
			r.Kind, inner = schema.Maybe, e.Elem
		case e.Kind == source.Slice:
			r.Kind, inner = schema.Many, e.Elem
		}
		if what == "command" && inner != nil {
			if arg, ok := inner.Wow("Delayed"); ok {
				inner = arg
			}
			if inner.Is(source.WowPath, "Cancel") {
				r.Type.Name = "Cancel"
				out = append(out, r)
				continue
			}
		}
		if inner == nil || inner.Kind != source.Named {
			return nil, err, e.Text + " is no " + what
		}
		r.Type = u.ref(inner)
		if wrong := u.wrongMessage(r.Type, what); wrong != "" {
			return nil, err, e.Text + " is " + wrong
		}
		out = append(out, r)
	}
	return out, err, ""
}

// wrongMessage says why a type cannot be a result of that kind, or "".
func (u *Unit) wrongMessage(r schema.Ref, what string) string {
	switch {
	case r.Path == "" || r.Path == source.WowPath:
		return "no " + what
	case r.Path != u.Pkg.Path:
		return "" // the link step, and the compiler, look at it
	case u.Pkg.Types[r.Name] == nil:
		return "not declared"
	case !u.isStruct(r):
		return "no struct"
	case what == "event" && u.commands[r.Name] != nil:
		return "a command"
	case what == "event" && u.roles[r.Name] != "" && u.roles[r.Name] != "event":
		return article(u.roles[r.Name])
	case what == "command" && u.commands[r.Name] == nil:
		if u.events[r.Name] != nil {
			return "an event"
		}
		return "not declared as a command"
	}
	return ""
}

// call fills what every handler has.
func (u *Unit) call(typ string, s *shape, p param, why string) schema.Call {
	c := schema.Call{
		Method: s.m.Name, Ctx: s.ctx, Wrapped: p.wrapped,
		Pos: s.m.Pos, Signature: s.m.Signature, Why: why,
	}
	forCommand := ""
	if p.kind == command && p.ref.Path == u.Pkg.Path {
		forCommand = p.ref.Name
	}
	if b := u.option(typ, s.m, forCommand, "blocking"); b != nil {
		c.Blocking, c.Pool = true, b.Arg("pool")
	}
	if r := u.option(typ, s.m, forCommand, "retry"); r != nil {
		c.Retry = &schema.Retry{Max: r.Number("max", 0), Backoff: r.Arg("backoff"), Order: r.Arg("order")}
	}
	return c
}

// option finds what is said about a handler: at the method, at its command in
// YAML, or at the type.
func (u *Unit) option(typ string, m *source.Method, command, name string) *schema.Decl {
	for _, key := range []methodKey{{typ, m.Name}, {m.Recv, m.Name}} {
		if d, ok := u.methods[key][name]; ok {
			return d
		}
	}
	if d, ok := u.options[command][name]; ok && command != "" {
		return d
	}
	return u.types[typ][name]
}

// ignored tells whether a method is marked with //wow:ignore.
func (u *Unit) ignored(typ string, m *source.Method) bool {
	for _, key := range []methodKey{{typ, m.Name}, {m.Recv, m.Name}} {
		if _, ok := u.methods[key]["ignore"]; ok {
			u.take(typ, m)
			return true
		}
	}
	return false
}

// take notes that a method's directives have found their handler, or that the
// method was complained about already.
func (u *Unit) take(typ string, m *source.Method) {
	u.handled[methodKey{typ, m.Name}] = true
	u.handled[methodKey{m.Recv, m.Name}] = true
}

func (u *Unit) explain(typ string, m *source.Method, role, why string) {
	u.Explained = append(u.Explained, Method{Type: typ, Name: m.Name, Role: role, Why: why, Signature: m.Signature, Pos: m.Pos})
}
