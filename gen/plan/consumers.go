package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

func itoa(n int) string { return strconv.Itoa(n) }

// consumers makes the processors, projections and sagas of the package.
func (u *Unit) consumers() {
	for _, typ := range sortedKeys(u.roles) {
		switch kind := u.roles[typ]; kind {
		case schema.Processor, schema.Projection, schema.Saga:
			u.consumer(kind, typ, u.decl(typ, kind))
		}
	}
}

func (u *Unit) consumer(kind, typ string, d *schema.Decl) {
	c := &schema.Consumer{
		Kind: kind, Type: typ, Name: u.wireName(typ, d), Context: u.contextOf(typ, d), Pos: d.Pos,
		Generation: d.Number("generation", 1), Loop: d.Arg("loop"),
	}
	if at := d.Arg("start"); at != "beginning" {
		c.Start = at
	}
	_, c.Serial = d.Get("serial")
	_, c.IgnoreRefused = d.Get("refused")
	base := u.base(u.Pkg.Types[typ])
	c.Interface, c.Written = base.Kind == source.Interface, u.interfaces[typ]
	for _, m := range u.methodsOf(typ) {
		if u.ignored(typ, m) {
			u.explain(typ, m, "ignored", "marked //wow:ignore")
			continue
		}
		if (m.Name == "Resume" || m.Name == "Run") && mentionsPosition(m) {
			u.progress(c, m)
			continue
		}
		before := len(c.Functions)
		u.function(c, m)
		if len(c.Functions) == before {
			continue
		}
		c.Pointer = c.Pointer || (m.Pointer && !c.Interface)
	}
	if kind == schema.Projection && c.Resume == "" && c.Run == "" && u.embedsView(typ) {
		c.Resume, c.Run = "Resume", "Run" // promoted from the view
	}
	if (c.Resume == "") != (c.Run == "") {
		have, lack := c.Resume, "Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error"
		if c.Resume == "" {
			have, lack = c.Run, "Resume(ctx context.Context, shard int32) (wow.Position, error)"
		}
		u.report(d.Pos, diag.Diagnostic{
			Code: "half-transaction", Message: "the projection " + typ + " has " + have + ", and lacks the other half of keeping its own progress",
			Wanted: "both Resume and Run, or neither", Found: have + " alone", Fix: "write " + lack, See: kind,
		})
	}
	u.Model.Consumers = append(u.Model.Consumers, c)
}

// embedsView tells whether a type has the methods of a view.View by embedding
// one. That package is not of the user's, so its methods are known by name.
func (u *Unit) embedsView(typ string) bool {
	return slices.ContainsFunc(u.fields(u.Pkg.Types[typ]), func(f promotedField) bool {
		e := f.Type
		if e != nil && e.Kind == source.Pointer {
			e = e.Elem
		}
		return f.Embedded && e != nil && e.Is(source.WowPath+"/runtime/view", "View")
	})
}

// mentionsPosition tells whether a method takes or returns a wow.Position: it
// has to do with the progress of a projection then.
func mentionsPosition(m *source.Method) bool {
	for _, p := range m.Params {
		if p.Type.Is(source.WowPath, "Position") {
			return true
		}
	}
	for _, r := range m.Results {
		if r.Is(source.WowPath, "Position") {
			return true
		}
	}
	return false
}

// progress reads a method with which a projection keeps its progress itself.
func (u *Unit) progress(c *schema.Consumer, m *source.Method) {
	u.take(c.Type, m)
	ctx := len(m.Params) > 0 && m.Params[0].Type.Is("context", "Context")
	failing := len(m.Results) > 0 && m.Results[len(m.Results)-1].Is("", "error")
	resume := ctx && failing && len(m.Params) == 2 && m.Params[1].Type.Is("", "int32") && len(m.Results) == 2 && m.Results[0].Is(source.WowPath, "Position")
	run := ctx && failing && len(m.Params) == 3 && m.Params[1].Type.Is(source.WowPath, "Position") && m.Params[2].Type.Kind == source.Func && len(m.Results) == 1
	switch {
	case c.Kind == schema.Projection && resume && m.Name == "Resume":
		c.Resume = m.Name
	case c.Kind == schema.Projection && run && m.Name == "Run":
		c.Run = m.Name
	default:
		u.report(m.Pos, diag.Diagnostic{
			Code: "wrong-shape", Message: c.Kind + " method " + m.Recv + "." + m.Name + " has to do with positions, and has the wrong shape", Source: m.Signature,
			Wanted: "on a projection: Resume(ctx context.Context, shard int32) (wow.Position, error)\nand Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error", Found: foundShape(m),
			Fix: "change its shape; or //wow:ignore above it, when it is something else", See: c.Kind,
		})
		return
	}
	c.Pointer = c.Pointer || (m.Pointer && !c.Interface)
	u.explain(c.Type, m, "progress", "it keeps the projection's progress beside its rows")
}

// idle reports consumers that handle nothing. It runs last: that a method
// does not count is most often a mistake, which was reported.
func (u *Unit) idle() {
	for _, c := range u.Model.Consumers {
		if len(c.Functions) > 0 {
			continue
		}
		u.missing(c.Type, c.Pos, diag.Diagnostic{
			Code: "no-functions", Message: "the " + c.Kind + " " + c.Type + " handles nothing",
			Wanted: "at least one method that takes " + consumes(c.Kind), Found: "none",
			Fix: "write func (x *" + c.Type + ") OnEvent(ctx context.Context, e wow.Event[Event]) " + resultOf(c.Kind), See: c.Kind,
		})
	}
}

func consumes(kind string) string {
	if kind == schema.Saga {
		return "an event, wow.StateEvent[S] or wow.Refused[C]"
	}
	return "an event or wow.StateEvent[S]"
}

func resultOf(kind string) string {
	if kind == schema.Saga {
		return "(Command, error)"
	}
	return "error"
}

func (u *Unit) function(c *schema.Consumer, m *source.Method) {
	s := u.shapeOf(m)
	if !s.has(event, stateEvent, refused, command) {
		u.ordinary(c.Type, m, &s, "//wow:event above %s, or wow.Event[%s] as the parameter")
		return
	}
	u.take(c.Type, m)
	var p param
	for _, q := range s.params {
		if q.kind.message() {
			p = q
			break
		}
	}
	problem := ""
	switch {
	case p.kind == command:
		problem = "it takes a command, and a " + c.Kind + " takes " + consumes(c.Kind)
	case p.kind == refused && c.Kind != schema.Saga:
		problem = "it takes a refusal, which only sagas hear of"
	case len(s.params) != 1:
		problem = "it takes more than the " + messageWord(p.kind)
	case m.Variadic:
		problem = "its parameter is variadic"
	case p.pointer:
		problem = "the " + messageWord(p.kind) + " is passed by pointer"
	case p.ref.Name == "":
		problem = "its " + messageWord(p.kind) + " is no named type"
	case p.kind == event && p.ref.Path == u.Pkg.Path && u.events[p.ref.Name] == nil:
		problem = u.show(p.ref) + " is no event"
	case p.kind == stateEvent && p.ref.Path == u.Pkg.Path && u.states[p.ref.Name] == nil:
		problem = u.show(p.ref) + " is no aggregate's state"
	case p.kind == refused && p.ref.Path == u.Pkg.Path && u.commands[p.ref.Name] == nil:
		problem = u.show(p.ref) + " is no command"
	}
	var results []schema.Result
	var err bool
	if problem == "" {
		results, err, problem = u.functionResults(c, m, p)
	}
	if problem != "" {
		u.wrongFunction(c, m, &s, p, problem)
		return
	}
	why := "it takes " + p.text
	if known := u.events[p.ref.Name]; p.kind == event && known != nil && p.ref.Path == u.Pkg.Path {
		why += ", an event because " + known.Why
	}
	f := &schema.Function{Call: u.call(c.Type, &s, p, why), Message: p.ref, Name: schema.Snake(m.Name)}
	f.Results, f.Err = results, err
	switch p.kind {
	case stateEvent:
		f.Kind = schema.OnState
	case refused:
		f.Kind = schema.OnRefused
	}
	on := u.option(c.Type, m, "", "on")
	if name, ok := on.Get("name"); ok {
		f.Name = name
	}
	if from, ok := on.Get("from"); ok {
		f.From = u.sourceOf(c, f, from, on)
	}
	if u.sameFunction(c, f, m) {
		return
	}
	c.Functions = append(c.Functions, f)
	u.mention(m.File, p.ref)
	u.use(f, m)
	for _, r := range results {
		if !r.Typed() {
			continue
		}
		u.mention(m.File, r.Type)
		c.Sends = append(c.Sends, r.Type)
		if r.Type.Path != "" && r.Type.Path != u.Pkg.Path {
			u.uses = append(u.uses, use{kind: sends, ref: r.Type, pos: m.Pos, text: m.Signature})
		}
	}
	u.explain(c.Type, m, "handle", why)
}

func (u *Unit) use(f *schema.Function, m *source.Method) {
	kinds := map[schema.FunctionKind]useKind{schema.OnEvent: consumesEvent, schema.OnState: consumesState, schema.OnRefused: hearsRefused}
	if f.Message.Path != u.Pkg.Path || f.From != "" {
		u.uses = append(u.uses, use{kind: kinds[f.Kind], ref: f.Message, pos: m.Pos, text: m.Signature, function: f})
	}
}

// functionResults reads the results of a consumer's method.
func (u *Unit) functionResults(c *schema.Consumer, m *source.Method, p param) ([]schema.Result, bool, string) {
	if c.Kind != schema.Saga {
		switch {
		case len(m.Results) == 0:
			return nil, false, ""
		case len(m.Results) == 1 && m.Results[0].Is("", "error"):
			return nil, true, ""
		}
		return nil, false, "it returns more than an error"
	}
	return u.results(m, "Commands")
}

func messageWord(k paramKind) string {
	switch k {
	case command:
		return "command"
	case stateEvent:
		return "state event"
	case refused:
		return "refusal"
	}
	return "event"
}

func (u *Unit) wrongFunction(c *schema.Consumer, m *source.Method, s *shape, p param, problem string) {
	form := "func(E) or func(ctx, E) error, where E is an event, plain or wow.Event[E], or wow.StateEvent[S]"
	if c.Kind == schema.Saga {
		form = "func(E) (C, error) or func(ctx, E) (C, error), where E is an event, plain or wow.Event[E], wow.StateEvent[S] or wow.Refused[C],\n" +
			"and C one or more of C, *C, []C, wow.Delayed[C], wow.Cancel and wow.Commands; the error may be left out"
	}
	u.blame(p.ref)
	u.blamed[c.Type] = true
	if u.doubtful[p.ref.Name] || slices.ContainsFunc(m.Results, func(r *source.Expr) bool { return u.doubtful[messageName(r)] }) {
		return // a consequence of what was reported
	}
	in := "e " + plainText(p)
	switch {
	case p.kind == command || p.kind == refused && c.Kind != schema.Saga || p.kind == event && strings.HasSuffix(problem, "is no event"):
		in = "e Event"
	case p.kind == stateEvent && strings.HasSuffix(problem, "state"):
		in = "e wow.StateEvent[State]"
	case p.kind == refused && strings.HasSuffix(problem, "is no command"):
		in = "r wow.Refused[Command]"
	}
	if s.ctx {
		in = "ctx context.Context, " + in
	}
	recv := m.Recv
	if m.Pointer {
		recv = "*" + recv
	}
	fix := "write func (x " + recv + ") " + m.Name + "(" + in + ") " + resultOf(c.Kind)
	if c.Kind == schema.Saga && strings.HasSuffix(problem, "not declared as a command") {
		fix = "declare the command: tag its key `wow:\"key\"`, or write //wow:command above it"
	}
	fix += "; or //wow:ignore above it, when it is no handler"
	if c.Written {
		form = map[paramKind]string{event: "event: and an event that some command handler returns, or that is declared", stateEvent: "state: and the type of an aggregate's state", refused: "refused: and a command"}[p.kind]
		fix = "name one instead of " + p.ref.Name
	}
	u.report(m.Pos, diag.Diagnostic{
		Code: "wrong-shape", Message: c.Kind + " method " + m.Recv + "." + m.Name + " has the wrong shape: " + problem, Source: m.Signature,
		Wanted: form, Found: foundShape(m), Fix: fix, See: c.Kind,
	})
}

// sameFunction refuses a second method for one message, and two functions of
// one name.
func (u *Unit) sameFunction(c *schema.Consumer, f *schema.Function, m *source.Method) bool {
	for _, other := range c.Functions {
		if other.Kind == f.Kind && other.Message == f.Message && (other.From == f.From || other.From == "" || f.From == "") {
			u.report(m.Pos, diag.Diagnostic{
				Code: "two-handlers", Message: "two methods of " + c.Type + " take " + u.show(f.Message), Source: m.Signature,
				Wanted: "one method for an event; or //wow:on from= on both, where aggregates share it", Found: "a second one",
				Fix:     "join the two, or mark one //wow:ignore",
				Related: []diag.Related{{Pos: other.Pos, Message: "the other method"}}, See: "on",
			})
			return true
		}
		if other.Name == f.Name {
			u.report(m.Pos, diag.Diagnostic{
				Code: "name-collision", Message: "two functions of " + c.Type + " are called " + f.Name, Source: m.Signature,
				Wanted: "a name of its own for each function", Found: f.Name + " twice", Fix: "give one another name: //wow:on name=",
				Related: []diag.Related{{Pos: other.Pos, Message: "the other function"}}, See: "on",
			})
			return true
		}
	}
	return false
}

// sourceOf completes the aggregate that from= names.
func (u *Unit) sourceOf(c *schema.Consumer, f *schema.Function, from string, on *schema.Decl) string {
	if f.Kind != schema.OnEvent {
		u.report(on.ArgPos("from"), diag.Diagnostic{
			Code: "bad-value", Message: "from= stands on a method that takes no event", Wanted: "a method that takes an event", Found: f.Signature,
			Fix: "remove from=: the state or command says where it comes from", See: "on",
		})
		return ""
	}
	if strings.Contains(from, ".") {
		return from
	}
	if e := u.events[f.Message.Name]; e != nil && f.Message.Path == u.Pkg.Path {
		for _, a := range u.Model.Aggregates {
			if a.Name == from {
				return a.FullName()
			}
		}
	}
	return c.Context + "." + from
}
