package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/wowgen/wow/schema"
)

// aggregate writes everything about one aggregate, in the order in which a
// command meets it: routing, events, state, dispatcher, client.
func (e *emitter) aggregate(a *schema.Aggregate) {
	var commands []*schema.Command
	for _, c := range e.pkg.Commands {
		if c.Local == a {
			commands = append(commands, c)
		}
	}
	e.heading("Aggregate %s: key routing.", a.Name)
	e.commands(commands, func(c *schema.Command) jen.Code {
		if c.Tenant != nil {
			return jen.Return(jen.Id(e.target(a)).Call(text("c", c.Tenant), text("c", c.Key)))
		}
		return jen.Return(jen.Id(e.target(a)).Call(text("c", c.Key)))
	}, func(*schema.Command) string { return a.Name })
	e.file.Line()
	if a.Tenant {
		e.add(jen.Func().Id(e.target(a)).Params(jen.List(jen.Id("tenant"), jen.Id("id")).String()).Add(wow("Target")).Block(
			jen.Return(wow("Target").Values(field("Tenant", jen.Id("tenant")), field("Aggregate", jen.Lit(a.FullName())), field("ID", jen.Id("id"))))))
	} else {
		e.add(jen.Func().Id(e.target(a)).Params(jen.Id("id").String()).Add(wow("Target")).Block(
			jen.Return(wow("Target").Values(field("Aggregate", jen.Lit(a.FullName())), field("ID", jen.Id("id"))))))
	}
	e.commandTypes(commands)

	var events []*schema.Event
	for _, ev := range e.pkg.Events {
		if e.home(ev) == a {
			events = append(events, ev)
		}
	}
	if len(events) > 0 {
		e.heading("Aggregate %s: events.", a.Name)
		e.events(events)
	}
	e.state(a)
	e.apply(a)
	e.dispatcher(a)
	e.mailbox(a)
	e.register(a)
	e.client(a)
}

func (e *emitter) target(a *schema.Aggregate) string {
	return e.name(schema.Camel(a.Type) + "Target")
}
func (e *emitter) stateVar(a *schema.Aggregate) string {
	return e.name(schema.Camel(a.Type) + "State")
}
func (e *emitter) applyName(a *schema.Aggregate) string {
	return e.name("apply" + schema.Export(a.Type))
}
func (e *emitter) dispatcherName(typ string) string { return e.name(schema.Camel(typ) + "Dispatcher") }
func (e *emitter) mailboxName(typ string) string    { return e.name(schema.Camel(typ) + "Mailbox") }

func (e *emitter) state(a *schema.Aggregate) {
	e.heading("Aggregate %s: state.", a.Name)
	e.line("WowState describes the state.")
	e.add(jen.Func().Params(jen.Op("*").Id(a.Type)).Id("WowState").Params().Op("*").Add(wow("StateType")).
		Add(oneLine(jen.Return(jen.Op("&").Id(e.stateVar(a))))))

	fields := []jen.Code{
		field("Aggregate", jen.Lit(a.FullName())),
		field("Revision", jen.Lit(a.Fingerprint)),
	}
	if a.Snapshot > 0 {
		fields = append(fields, field("Snapshot", jen.Lit(a.Snapshot)))
	}
	if a.Tenant {
		fields = append(fields, field("Tenant", jen.True()))
	}
	if events := e.eventTypes(a); len(events) > 0 {
		fields = append(fields, field("Events", jen.Index().Op("*").Add(wow("EventType")).Add(block("{", "}", events...))))
	}
	fields = append(fields,
		field("New", e.newState(a)),
		field("Decode", jen.Func().Params(jen.Id("decode").Add(wow("Unmarshal")), jen.Id("data").Index().Byte()).Params(wow("State"), jen.Error()).Block(
			jen.Id("s").Op(":=").New(jen.Id(a.Type)),
			jen.Err().Op(":=").Id("decode").Call(jen.Id("data"), jen.Id("s")),
			jen.Return(jen.Id("s"), jen.Err()),
		)),
		field("Apply", jen.Func().Params(jen.Id("s").Add(wow("State")), jen.Id("e").Add(wow("DomainEvent")), jen.Id("m").Op("*").Add(wow("EventMeta"))).Bool().Block(
			jen.Return(jen.Id(e.applyName(a)).Call(jen.Id("s").Assert(jen.Op("*").Id(a.Type)), jen.Id("e"), jen.Id("m"))),
		)),
	)
	if a.Deleted != "" {
		fields = append(fields, field("Deleted", jen.Func().Params(jen.Id("s").Add(wow("State"))).Bool().Add(
			oneLine(jen.Return(jen.Id("s").Assert(jen.Op("*").Id(a.Type)).Dot(a.Deleted))))))
	}
	e.file.Line()
	e.add(jen.Var().Id(e.stateVar(a)).Op("=").Add(wow("StateType")).Add(block("{", "}", fields...)))
}

// eventTypes lists the events of an aggregate.
func (e *emitter) eventTypes(a *schema.Aggregate) []jen.Code {
	var list []jen.Code
	for _, ev := range e.pkg.Events {
		if ev.Newest == ev && slices.Contains(ev.Aggregates, a.FullName()) {
			list = append(list, jen.Op("&").Id(e.eventVar(ev.Type)))
		}
	}
	for _, r := range a.Events {
		if r.Path != e.pkg.Path {
			list = append(list, e.eventType(r))
		}
	}
	return list
}

func (e *emitter) newState(a *schema.Aggregate) *jen.Statement {
	fn := jen.Func().Params(jen.Id("t").Add(wow("Target"))).Add(wow("State"))
	made := jen.New(jen.Id(a.Type))
	var body []jen.Code
	if a.New != "" {
		made = jen.Id(a.New).Call()
	}
	switch {
	case a.New != "" && a.NewValue:
		body = append(body, jen.Id("v").Op(":=").Add(made), jen.Id("s").Op(":=").Op("&").Id("v"))
	case a.Key == nil:
		return fn.Block(jen.Return(made))
	default:
		body = append(body, jen.Id("s").Op(":=").Add(made))
	}
	if a.Key != nil {
		body = append(body, jen.Id("s").Dot(a.Key.Field).Op("=").Add(e.asKey(a.Key, jen.Id("t").Dot("ID"))))
	}
	return fn.Block(append(body, jen.Return(jen.Id("s")))...)
}

func (e *emitter) apply(a *schema.Aggregate) {
	applied := map[schema.Ref]*schema.Apply{}
	for _, apply := range a.Applies {
		applied[apply.Event] = apply
	}
	uses := false
	var cases []jen.Code
	for _, r := range a.Events {
		if e.isOld(r) {
			continue
		}
		apply := applied[r]
		if apply == nil {
			cases = append(cases, jen.Case(e.typ(r)).Block(jen.Comment("// Nothing changes.")))
			continue
		}
		uses = true
		arg := jen.Id("e")
		if apply.Wrapped {
			arg = wow("Event").Types(e.typ(r)).Values(field("EventMeta", jen.Op("*").Id("m")), field("Data", jen.Id("e")))
		}
		cases = append(cases, jen.Case(e.typ(r)).Block(jen.Id("s").Dot(apply.Method).Call(arg)))
	}
	e.line("%s lets an event happen to s. It reports false for one it does not know.", e.applyName(a))
	fn := jen.Func().Id(e.applyName(a)).Params(jen.Id("s").Op("*").Id(a.Type), jen.Id("event").Add(wow("DomainEvent")), jen.Id("m").Op("*").Add(wow("EventMeta"))).Bool()
	if len(cases) == 0 {
		e.add(fn.Block(jen.Return(jen.False())))
		return
	}
	subject := jen.Id("event").Assert(jen.Type())
	if uses {
		subject = jen.Id("e").Op(":=").Add(subject)
	}
	cases = append(cases, jen.Default().Block(jen.Return(jen.False())))
	e.add(fn.Block(jen.Switch(subject).Block(cases...), jen.Return(jen.True())))
}

// isOld tells whether a type is an older revision of an event, which nobody
// applies.
func (e *emitter) isOld(r schema.Ref) bool {
	for _, ev := range e.pkg.Events {
		if r.Path == e.pkg.Path && ev.Type == r.Name {
			return ev.Newest != ev
		}
	}
	return false
}

// handlerField is the name under which a dispatcher holds a component. Its own
// methods begin with dispatch.
func (e *emitter) handlerField(typ string) string {
	name := schema.Camel(typ)
	if strings.HasPrefix(name, "dispatch") {
		name = "own" + schema.Export(name)
	}
	return e.variable(name, "r", "d")
}

func handlerType(typ string, pointer bool) *jen.Statement {
	if pointer {
		return jen.Op("*").Id(typ)
	}
	return jen.Id(typ)
}

func (e *emitter) dispatcher(a *schema.Aggregate) {
	name := e.dispatcherName(a.Type)
	e.heading("Aggregate %s: dispatcher.", a.Name)
	e.line("%s decides the commands of the aggregate %s.", name, a.Name)
	switch len(a.Handlers) {
	case 0:
		e.add(jen.Type().Id(name).Op("struct{}"))
	case 1:
		h := a.Handlers[0]
		e.add(jen.Type().Id(name).Op("struct{").Id(e.handlerField(h.Type)).Add(handlerType(h.Type, h.Pointer)).Op("}"))
	default:
		var fields []jen.Code
		for _, h := range a.Handlers {
			fields = append(fields, jen.Id(e.handlerField(h.Type)).Add(handlerType(h.Type, h.Pointer)))
		}
		e.add(jen.Type().Id(name).Struct(fields...))
	}

	if len(a.Decides) == 0 {
		e.line("dispatch decides no command.")
		e.add(e.dispatch(a, 0).Block(unhandled()))
		return
	}
	for i := 0; i < len(a.Decides); i += MaxCases {
		e.dispatchSome(a, i, a.Decides[i:min(i+MaxCases, len(a.Decides))])
	}
	for _, d := range a.Decides {
		if d.Blocking {
			e.offloadDecide(a, d)
		}
	}
}

// MaxCases is how many handlers are called from one switch. Further ones have
// one of their own, behind its default, because the compiler's time grows with
// the square of a function's size; a method for each costs it more.
const MaxCases = 40

// DispatchName is the method with the switch in which an aggregate's handler is
// called.
func DispatchName(handler int) string {
	if handler < MaxCases {
		return "dispatch"
	}
	return fmt.Sprintf("dispatch%d", handler/MaxCases+1)
}

// dispatch is the head of such a method.
func (e *emitter) dispatch(a *schema.Aggregate, handler int) *jen.Statement {
	return jen.Func().Params(jen.Id("d").Op("*").Id(e.dispatcherName(a.Type))).Id(DispatchName(handler)).Params(
		jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id(a.Type), jen.Id("in").Op("*").Add(wowrt("Command")), jen.Id("out").Op("*").Add(wowrt("Decision"))).Error()
}

func unhandled() *jen.Statement { return jen.Return(wowrt("Unhandled").Call(jen.Id("in"))) }

// dispatchSome writes the switch over some handlers, of which the first is the
// aggregate's handler number first.
func (e *emitter) dispatchSome(a *schema.Aggregate, first int, some []*schema.Decide) {
	var cases []jen.Code
	falls := false // some case goes on to the end of the method
	for _, d := range some {
		body := e.decide(d)
		if d.Blocking {
			args := []jen.Code{jen.Id("s"), jen.Id("c"), jen.Id("out")}
			if d.Wrapped {
				args = []jen.Code{jen.Id("s"), jen.Id("in"), jen.Id("c"), jen.Id("out")}
			}
			body = []jen.Code{jen.Return(jen.Id("d").Dot(e.offloadName(a, d)).Call(args...))}
		}
		falls = falls || !d.Blocking
		cases = append(cases, jen.Case(e.typ(d.Command)).Block(body...))
	}
	otherwise := unhandled()
	if next := first + MaxCases; next < len(a.Decides) {
		otherwise = jen.Return(jen.Id("d").Dot(DispatchName(next)).Call(jen.Id("ctx"), jen.Id("s"), jen.Id("in"), jen.Id("out")))
	}
	cases = append(cases, jen.Default().Block(otherwise))
	body := []jen.Code{jen.Switch(jen.Id("c").Op(":=").Id("in").Dot("Body").Assert(jen.Type())).Block(cases...)}
	if falls {
		body = append(body, jen.Return(jen.Nil()))
	}
	if first == 0 {
		e.line("dispatch decides one command. It runs in the %s's mailbox, alone with s.", a.Name)
	} else {
		e.line("%s decides the commands from %s on.", DispatchName(first), some[0].Command.Name)
	}
	e.add(e.dispatch(a, first).Block(body...))
}

// offloadName is the method around a handler that may block. Commands of two
// packages may have one name.
func (e *emitter) offloadName(a *schema.Aggregate, d *schema.Decide) string {
	name := "offload" + schema.Export(d.Command.Name)
	for _, other := range a.Decides {
		if other == d {
			break
		}
		if other.Command.Name == d.Command.Name {
			name += "2"
		}
	}
	return name
}

func (e *emitter) offloadDecide(a *schema.Aggregate, d *schema.Decide) {
	name := e.offloadName(a, d)
	recv := a.Type
	if d.On != nil {
		recv = d.On.Type
	}
	e.line("%s runs %s.%s, which may block, on the %s. The %s's mailbox waits for it, no worker does.", name, recv, d.Method, poolName(d.Pool), a.Name)
	params := []jen.Code{jen.Id("s").Op("*").Id(a.Type)}
	if d.Wrapped {
		params = append(params, jen.Id("in").Op("*").Add(wowrt("Command")))
	}
	params = append(params, jen.Id("c").Add(e.typ(d.Command)), jen.Id("out").Op("*").Add(wowrt("Decision")))
	body := append(e.decide(d), jen.Return(jen.Nil()))
	e.add(jen.Func().Params(jen.Id("d").Op("*").Id(e.dispatcherName(a.Type))).Id(name).Params(params...).Error().Block(
		jen.Return(jen.Id("out").Dot("Offload").Call(jen.Lit(d.Pool),
			jen.Func().Params(jen.Id("ctx").Qual("context", "Context")).Error().Block(body...)))))
}

func poolName(pool string) string {
	if pool == "" {
		return "offload pool"
	}
	return "pool " + pool
}

// decide calls a command handler and hands on what it decided.
func (e *emitter) decide(d *schema.Decide) []jen.Code {
	var args []jen.Code
	if d.Ctx {
		args = append(args, jen.Id("ctx"))
	}
	call := jen.Id("s")
	if d.On != nil {
		call = jen.Id("d").Dot(e.handlerField(d.On.Type))
		args = append(args, jen.Id("s"))
	}
	arg := jen.Id("c")
	if d.Wrapped {
		arg = wow("Command").Types(e.typ(d.Command)).Values(field("CommandMeta", jen.Id("in").Dot("CommandMeta")), field("Data", jen.Id("c")))
	}
	return e.deliver(&d.Call, call.Dot(d.Method).Call(append(args, arg)...), "Add", "events")
}

// deliver assigns the results of a call, returns its error, and hands the
// messages to out.
func (e *emitter) deliver(c *schema.Call, call *jen.Statement, hand, mixed string) []jen.Code {
	var names []jen.Code
	var after []jen.Code
	taken := []string{}
	for _, r := range c.Results {
		wanted := schema.Camel(r.Type.Name)
		if r.Kind == schema.Mixed {
			wanted = mixed
		}
		name := wanted
		if r.Kind != schema.Mixed || slices.Contains(taken, wanted) {
			name = e.variable(wanted, taken...)
		}
		taken = append(taken, name)
		names = append(names, jen.Id(name))
		switch r.Kind {
		case schema.One:
			after = append(after, jen.Id("out").Dot(hand).Call(jen.Id(name)))
		case schema.Maybe:
			after = append(after, jen.If(jen.Id(name).Op("!=").Nil()).Block(jen.Id("out").Dot(hand).Call(jen.Op("*").Id(name))))
		case schema.Many:
			one := "e"
			if hand == "Send" {
				one = "c"
			}
			after = append(after, jen.For(jen.List(jen.Id("_"), jen.Id(one)).Op(":=").Range().Id(name)).Block(jen.Id("out").Dot(hand).Call(jen.Id(one))))
		case schema.Mixed:
			after = append(after, jen.Id("out").Dot(hand).Call(jen.Id(name).Op("...")))
		}
	}
	if c.Err {
		names = append(names, jen.Err())
	}
	body := []jen.Code{jen.List(names...).Op(":=").Add(call)}
	if c.Err {
		body = append(body, jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())))
	}
	return append(body, after...)
}

func (e *emitter) mailbox(a *schema.Aggregate) {
	name := e.mailboxName(a.Type)
	e.line("%s is the adapter between a mailbox of the runtime, which knows only that it holds a state, and the dispatcher of %s.", name, a.Name)
	fields := []jen.Code{field("State", jen.Op("&").Id(e.stateVar(a)))}
	var handlers []jen.Code
	for _, d := range a.Decides {
		command := jen.Op("&").Id(e.commandVar(d.Command.Name))
		if d.Command.Path != e.pkg.Path {
			command = e.commandType(d.Command)
		}
		parts := []jen.Code{field("Command", command)}
		parts = append(parts, options(&d.Call)...)
		if d.Timeout != "" {
			parts = append(parts, field("Timeout", duration(d.Timeout)))
		}
		handlers = append(handlers, jen.Values(parts...))
	}
	if len(handlers) > 0 {
		fields = append(fields, field("Commands", jen.Index().Add(wowrt("CommandHandler")).Add(block("{", "}", handlers...))))
	}
	fields = append(fields, field("Decide", jen.Func().Params(
		jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Add(wow("State")), jen.Id("in").Op("*").Add(wowrt("Command")), jen.Id("out").Op("*").Add(wowrt("Decision"))).Error().Block(
		jen.Return(jen.Id("d").Dot("dispatch").Call(jen.Id("ctx"), jen.Id("s").Assert(jen.Op("*").Id(a.Type)), jen.Id("in"), jen.Id("out"))))))
	var nils []*jen.Statement
	for _, h := range a.Handlers {
		if h.Pointer || h.Interface {
			nils = append(nils, jen.Id("d").Dot(e.handlerField(h.Type)).Op("==").Nil())
		}
	}
	fields = append(fields, missing(nils)...)
	e.add(jen.Func().Id(name).Params(jen.Id("d").Op("*").Id(e.dispatcherName(a.Type))).Add(wowrt("Aggregate")).Block(
		jen.Return(wowrt("Aggregate").Add(block("{", "}", fields...)))))
}

// missing is the field by which Start notices that Register was given nil.
func missing(nils []*jen.Statement) []jen.Code {
	if len(nils) == 0 {
		return nil
	}
	any := nils[0]
	for _, n := range nils[1:] {
		any = any.Op("||").Add(n)
	}
	return []jen.Code{field("Missing", any)}
}

func (e *emitter) register(a *schema.Aggregate) {
	name := "Register" + schema.Export(a.Type)
	e.line("%s makes r decide the commands of the aggregate %s.", name, a.Name)
	params := []jen.Code{jen.Id("r").Op("*").Add(wowrt("Runtime"))}
	var values []jen.Code
	for _, h := range a.Handlers {
		f := e.handlerField(h.Type)
		params = append(params, jen.Id(f).Add(handlerType(h.Type, h.Pointer)))
		values = append(values, field(f, jen.Id(f)))
	}
	e.add(jen.Func().Id(name).Params(params...).Block(
		jen.Id("r").Dot("AddAggregate").Call(jen.Id(e.mailboxName(a.Type)).Call(jen.Op("&").Id(e.dispatcherName(a.Type)).Values(values...)))))
}

// client has methods of the pointer: those of the value would be compiled twice,
// which for 500 commands is a tenth of the time a package takes.
func (e *emitter) client(a *schema.Aggregate) {
	name := schema.Export(a.Type) + "Client"
	e.line("%s sends commands to %s aggregates and loads them.", name, a.Name)
	e.add(jen.Type().Id(name).Op("struct{").Id("gateway").Op("*").Add(wowrt("Gateway")).Op("}"))
	e.line("New%s sends through g; the aggregates may live in another process.", name)
	e.add(jen.Func().Id("New" + name).Params(jen.Id("g").Op("*").Add(wowrt("Gateway"))).Op("*").Id(name).Add(oneLine(jen.Return(jen.Op("&").Id(name).Values(jen.Id("g"))))))

	load := "Load"
	for _, d := range a.Decides {
		if schema.Export(d.Command.Name) == load {
			load = "LoadState"
		}
	}
	ids := jen.Id("id").String()
	target := []jen.Code{jen.Id("id")}
	if a.Tenant {
		ids = jen.List(jen.Id("tenant"), jen.Id("id")).String()
		target = []jen.Code{jen.Id("tenant"), jen.Id("id")}
	}
	e.line("%s returns the state and the version of one %s; version 0 means that there is none, and the state is a new one.", load, a.Name)
	e.add(jen.Func().Params(jen.Id("c").Op("*").Id(name)).Id(load).Params(
		jen.Id("ctx").Qual("context", "Context"), ids, jen.Id("opts").Op("...").Add(wowrt("LoadOption"))).
		Params(jen.Op("*").Id(a.Type), jen.Int64(), jen.Error()).Block(
		jen.List(jen.Id("state"), jen.Id("version"), jen.Err()).Op(":=").Id("c").Dot("gateway").Dot("Load").Call(
			jen.Id("ctx"), jen.Id(e.target(a)).Call(target...), jen.Op("&").Id(e.stateVar(a)), jen.Id("opts").Op("...")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Lit(0), jen.Err())),
		jen.Return(jen.Id("state").Assert(jen.Op("*").Id(a.Type)), jen.Id("version"), jen.Nil()),
	))
	methods := map[string]bool{load: true, "gateway": true}
	for _, d := range a.Decides {
		method := schema.Export(d.Command.Name)
		for methods[method] {
			method += "2"
		}
		methods[method] = true
		e.line("%s sends cmd and waits until it is processed.", method)
		e.add(jen.Func().Params(jen.Id("c").Op("*").Id(name)).Id(method).Params(
			jen.Id("ctx").Qual("context", "Context"), jen.Id("cmd").Add(e.typ(d.Command)), jen.Id("opts").Op("...").Add(wowrt("SendOption"))).
			Params(wowrt("Receipt"), jen.Error()).Block(
			jen.Return(jen.Id("c").Dot("gateway").Dot("Send").Call(jen.Id("ctx"), jen.Id("cmd"), jen.Id("opts").Op("...")))))
	}
}
