package plan

import (
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// decides finds the command handlers: methods of states and handler types that
// take a declared command.
func (u *Unit) decides() {
	for _, a := range u.Model.Aggregates {
		for _, m := range u.methodsOf(a.Type) {
			u.decide(a, nil, a.Type, m)
		}
		for _, h := range a.Handlers {
			if u.written(h) {
				continue
			}
			for _, m := range u.methodsOf(h.Type) {
				u.decide(a, h, h.Type, m)
			}
		}
		for _, h := range a.Handlers {
			if u.written(h) {
				u.writeInterface(a, h)
			}
		}
	}
}

// written tells whether the handler type is an interface that comes with the output.
func (u *Unit) written(h *schema.HandlerType) bool {
	for _, w := range u.Model.Interfaces {
		if w == h {
			return true
		}
	}
	return false
}

func (u *Unit) decide(a *schema.Aggregate, h *schema.HandlerType, typ string, m *source.Method) {
	s := u.shapeOf(m)
	if !s.has(command) {
		return
	}
	if u.ignored(typ, m) {
		u.explain(typ, m, "ignored", "marked //wow:ignore")
		return
	}
	u.take(typ, m)
	var c param
	for _, p := range s.params {
		if p.kind == command {
			c = p
			break
		}
	}
	if problem := u.decideProblem(a, h, &s, c); problem != "" {
		u.wrongDecide(a, h, &s, c, problem)
		return
	}
	results, err, problem := u.results(m, "Events")
	if problem != "" {
		u.wrongDecide(a, h, &s, c, problem)
		return
	}
	for _, other := range a.Decides {
		if other.Command == c.ref {
			u.twoHandlers(u.show(c.ref), other.Pos, m)
			return
		}
	}
	why := "it takes " + c.text
	if known := u.commands[c.ref.Name]; known != nil && c.ref.Path == u.Pkg.Path {
		why += ", a command because " + known.Why
	}
	d := &schema.Decide{Call: u.call(typ, &s, c, why), Command: c.ref, On: h}
	d.Results, d.Err = results, err
	if known := u.commands[c.ref.Name]; known != nil && c.ref.Path == u.Pkg.Path {
		d.Timeout = known.Timeout
	}
	if h != nil {
		h.Pointer = h.Pointer || (m.Pointer && !h.Interface)
		h.Decides = append(h.Decides, d)
	}
	a.Decides = append(a.Decides, d)
	u.mention(m.File, c.ref)
	if c.ref.Path != u.Pkg.Path {
		u.uses = append(u.uses, use{kind: handles, ref: c.ref, pos: m.Pos, text: m.Signature, aggregate: a})
	}
	for _, r := range results {
		u.mention(m.File, r.Type)
		if r.Type.Path != "" && r.Type.Path != u.Pkg.Path {
			u.uses = append(u.uses, use{kind: returns, ref: r.Type, pos: m.Pos, text: m.Signature, aggregate: a})
		}
	}
	u.explain(typ, m, "decide", why)
}

// decideProblem says what is wrong with the parameters of a command handler.
func (u *Unit) decideProblem(a *schema.Aggregate, h *schema.HandlerType, s *shape, c param) string {
	switch {
	case s.m.Generic && u.Pkg.Types[s.m.Recv] != nil && !u.Pkg.Types[s.m.Recv].Generic:
		return "it has type parameters"
	case s.m.Variadic:
		return "its last parameter is variadic"
	case c.pointer:
		return "the command is passed by pointer"
	case c.ref.Name == "":
		return "its command is no named type"
	case h == nil && len(s.params) != 1:
		return "it takes more than the command"
	case h == nil:
		return ""
	case len(s.params) == 1:
		return "it does not take the state"
	case len(s.params) != 2 || s.params[1].kind != command:
		return "it takes more than the state and the command"
	case s.params[0].kind != state || !s.params[0].pointer:
		return "it does not take *" + a.Type + " first"
	case s.params[0].ref.Name != a.Type:
		return "it takes the state of another aggregate"
	}
	return ""
}

func (u *Unit) wrongDecide(a *schema.Aggregate, h *schema.HandlerType, s *shape, c param, problem string) {
	u.blame(c.ref)
	u.cloud(s.m)
	u.report(s.m.Pos, diag.Diagnostic{
		Code: "wrong-shape", Message: "command handler " + s.m.Recv + "." + s.m.Name + " has the wrong shape: " + problem,
		Source: s.m.Signature, Wanted: decideForm(a, h), Found: foundShape(s.m),
		Fix: "write " + u.fixedDecide(a, h, s, c) + "; or //wow:ignore above it, when it is no handler", See: "aggregate",
	})
}

func decideForm(a *schema.Aggregate, h *schema.HandlerType) string {
	in := "C"
	if h != nil {
		in = "*" + a.Type + ", C"
	}
	return "func(" + in + ") (E, error) or func(ctx, " + in + ") (E, error), where C is a command, plain or wow.Command[C],\n" +
		"and E one or more of E, *E, []E and wow.Events; the error may be left out"
}

// fixedDecide rewrites a signature into one that fits, keeping what does.
func (u *Unit) fixedDecide(a *schema.Aggregate, h *schema.HandlerType, s *shape, c param) string {
	var in []string
	if s.ctx {
		in = append(in, "ctx context.Context")
	}
	recv := "s " + s.m.Recv
	if s.m.Pointer {
		recv = "s *" + s.m.Recv
	}
	if h != nil {
		recv = "h" + recv[1:]
		in = append(in, "s *"+a.Type)
	}
	text := strings.TrimPrefix(strings.TrimPrefix(c.text, "..."), "*")
	text = strings.Replace(text, "[*", "[", 1)
	in = append(in, "cmd "+text)
	out := "(Event, error)"
	if results, err, problem := u.results(s.m, "Events"); problem == "" {
		var parts []string
		for _, r := range results {
			name := u.show(r.Type)
			switch r.Kind {
			case schema.Maybe:
				name = "*" + name
			case schema.Many:
				name = "[]" + name
			case schema.Mixed:
				name = "wow.Events"
			}
			parts = append(parts, name)
		}
		if err {
			parts = append(parts, "error")
		}
		out = strings.Join(parts, ", ")
		if len(parts) > 1 {
			out = "(" + out + ")"
		}
	}
	return "func (" + recv + ") " + s.m.Name + "(" + strings.Join(in, ", ") + ") " + out
}

// foundShape is a signature without its receiver and name.
func foundShape(m *source.Method) string {
	var in, out []string
	for _, p := range m.Params {
		in = append(in, p.Type.Text)
	}
	for _, r := range m.Results {
		out = append(out, r.Text)
	}
	s := "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
	case 1:
		s += " " + out[0]
	default:
		s += " (" + strings.Join(out, ", ") + ")"
	}
	return s
}

func (u *Unit) twoHandlers(command string, first schema.Pos, m *source.Method) {
	u.report(m.Pos, diag.Diagnostic{
		Code: "two-handlers", Message: "two handlers decide the command " + command, Source: m.Signature,
		Wanted: "one handler for a command", Found: "a second one", Fix: "remove one of the two, or mark it //wow:ignore",
		Related: []diag.Related{{Pos: first, Message: "the other handler"}}, See: "handler",
	})
}

// writeInterface gives a handler type that nobody wrote a method for each
// command of its aggregate that has no handler yet.
func (u *Unit) writeInterface(a *schema.Aggregate, h *schema.HandlerType) {
	for _, typ := range sortedKeys(u.commands) {
		d := u.decl(typ, "command")
		if d.Arg("aggregate") != a.Name || u.decidedIn(a, typ) {
			continue
		}
		c := param{kind: command, ref: schema.Ref{Path: u.Pkg.Path, Name: typ}}
		m := &source.Method{Recv: h.Type, Name: typ, Pos: d.Pos, Signature: typ + "(ctx context.Context, s *" + a.Type + ", cmd " + typ + ") (wow.Events, error)"}
		s := shape{m: m, ctx: true}
		decide := &schema.Decide{Call: u.call(h.Type, &s, c, "YAML lists the command, and names the handler type"), Command: c.ref, On: h}
		decide.Results, decide.Err = []schema.Result{{Kind: schema.Mixed}}, true
		decide.Timeout = u.commands[typ].Timeout
		u.take(h.Type, m)
		h.Decides = append(h.Decides, decide)
		a.Decides = append(a.Decides, decide)
		u.explain(h.Type, m, "decide", decide.Why)
	}
}

func (u *Unit) decidedIn(a *schema.Aggregate, typ string) bool {
	for _, d := range a.Decides {
		if d.Command == (schema.Ref{Path: u.Pkg.Path, Name: typ}) {
			return true
		}
	}
	return false
}

// mention notes how this package's files call another package, so that the
// output calls it the same.
func (u *Unit) mention(f *source.File, r schema.Ref) {
	if r.Path == "" || r.Path == "?" || r.Path == u.Pkg.Path || f == nil {
		return
	}
	if _, ok := u.Model.Imports[r.Path]; !ok {
		u.Model.Imports[r.Path] = f.NameOf(r.Path)
	}
}
