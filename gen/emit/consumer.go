package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/wowgen/wow/schema"
)

// consumer writes a processor, projection or saga.
func (e *emitter) consumer(c *schema.Consumer) {
	kind := schema.Export(c.Kind)
	name := e.dispatcherName(c.Type)
	field0 := e.handlerField(c.Type)
	e.heading("%s %s.", kind, c.Name)
	e.line("%s calls the methods of %s.", name, c.Type)
	e.add(jen.Type().Id(name).Op("struct{").Id(field0).Add(handlerType(c.Type, c.Pointer)).Op("}"))
	e.consumerDispatch(c, schema.OnEvent, "dispatch", "handles one event.")
	e.consumerDispatch(c, schema.OnState, "dispatchState", "handles one commit with the state after it.")
	e.consumerDispatch(c, schema.OnRefused, "dispatchRefused", "handles the refusal of a command that the saga sent.")
	for _, f := range byMessage(c.Functions) {
		if f.Blocking {
			e.offloadFunction(c, f)
		}
	}
	e.consumerMailbox(c)
	verb := map[string]string{schema.Processor: "run", schema.Projection: "keep", schema.Saga: "run"}[c.Kind]
	e.line("Register%s makes r %s the %s %s.", schema.Export(c.Type), verb, c.Kind, c.Name)
	e.add(jen.Func().Id("Register"+schema.Export(c.Type)).Params(jen.Id("r").Op("*").Add(wowrt("Runtime")), jen.Id(field0).Add(handlerType(c.Type, c.Pointer))).Block(
		jen.Id("r").Dot("Add" + kind).Call(jen.Id(e.mailboxName(c.Type)).Call(jen.Op("&").Id(name).Values(field(field0, jen.Id(field0)))))))
}

// What a consumer's methods take, by the kind of method.
var (
	inTypes  = map[schema.FunctionKind]string{schema.OnEvent: "Recorded", schema.OnState: "StateRecorded", schema.OnRefused: "RefusedCommand"}
	inFields = map[schema.FunctionKind]string{schema.OnEvent: "Event", schema.OnState: "State", schema.OnRefused: "Body"}
	inNames  = map[schema.FunctionKind]string{schema.OnEvent: "e", schema.OnState: "s", schema.OnRefused: "c"}
)

func outType(c *schema.Consumer) string {
	if c.Kind == schema.Saga {
		return "Outbox"
	}
	return "Reaction"
}

// byMessage orders functions by the type they take.
func byMessage(all []*schema.Function) []*schema.Function {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *schema.Function) int {
		if a.Message.Name != b.Message.Name {
			return strings.Compare(a.Message.Name, b.Message.Name)
		}
		if a.Message.Path != b.Message.Path {
			return strings.Compare(a.Message.Path, b.Message.Path)
		}
		return strings.Compare(a.From, b.From)
	})
	return sorted
}

func (e *emitter) consumerDispatch(c *schema.Consumer, kind schema.FunctionKind, method, does string) {
	var functions []*schema.Function
	for _, f := range byMessage(c.Functions) {
		if f.Kind == kind {
			functions = append(functions, f)
		}
	}
	if len(functions) == 0 {
		return
	}
	var cases []jen.Code
	for i := 0; i < len(functions); {
		j := i
		for j < len(functions) && functions[j].Message == functions[i].Message {
			j++
		}
		body := e.functionCall(c, functions[i])
		if functions[i].From != "" {
			var sources []jen.Code
			for _, f := range functions[i:j] {
				sources = append(sources, jen.Case(jen.Lit(f.From)).Block(e.functionCall(c, f)...))
			}
			body = []jen.Code{jen.Switch(jen.Id("in").Dot("Target").Dot("Aggregate")).Block(sources...)}
		}
		cases = append(cases, jen.Case(e.message(functions[i])).Block(body...))
		i = j
	}
	e.line("%s %s", method, does)
	e.add(jen.Func().Params(jen.Id("d").Op("*").Id(e.dispatcherName(c.Type))).Id(method).Params(
		jen.Id("ctx").Qual("context", "Context"), jen.Id("in").Op("*").Add(wowrt(inTypes[kind])), jen.Id("out").Op("*").Add(wowrt(outType(c)))).Error().Block(
		jen.Switch(jen.Id(inNames[kind]).Op(":=").Id("in").Dot(inFields[kind]).Assert(jen.Type())).Block(cases...),
		jen.Return(jen.Nil())))
}

// message is the type that a function takes, as a case of the switch.
func (e *emitter) message(f *schema.Function) *jen.Statement {
	if f.Kind == schema.OnState {
		return jen.Op("*").Add(e.typ(f.Message))
	}
	return e.typ(f.Message)
}

// functionCall calls a function, or its wrapper when it may block.
func (e *emitter) functionCall(c *schema.Consumer, f *schema.Function) []jen.Code {
	if f.Blocking {
		args := []jen.Code{jen.Id(inNames[f.Kind]), jen.Id("out")}
		if f.Wrapped {
			args = append([]jen.Code{jen.Id("in")}, args...)
		}
		return []jen.Code{jen.Return(jen.Id("d").Dot(offloadFunctionName(f)).Call(args...))}
	}
	return e.callFunction(c, f, false)
}

// callFunction calls a function itself. last says that the caller returns
// after it whatever happens.
func (e *emitter) callFunction(c *schema.Consumer, f *schema.Function, last bool) []jen.Code {
	var args []jen.Code
	if f.Ctx {
		args = append(args, jen.Id("ctx"))
	}
	call := jen.Id("d").Dot(e.handlerField(c.Type)).Dot(f.Method).Call(append(args, e.argument(f))...)
	switch {
	case c.Kind == schema.Saga:
		body := e.deliver(&f.Call, call, "Send", "commands")
		if last {
			body = append(body, jen.Return(jen.Nil()))
		}
		return body
	case f.Err:
		return []jen.Code{jen.Return(call)}
	case last:
		return []jen.Code{call, jen.Return(jen.Nil())}
	}
	return []jen.Code{call}
}

// argument is what a function is called with.
func (e *emitter) argument(f *schema.Function) *jen.Statement {
	in := func(name string) *jen.Statement { return jen.Id("in").Dot(name) }
	t := e.typ(f.Message)
	switch {
	case f.Kind == schema.OnState:
		return wow("StateEvent").Types(t).Values(field("CommitMeta", in("CommitMeta")), field("State", jen.Id("s")), field("Events", in("Events")))
	case f.Kind == schema.OnRefused:
		return wow("Refused").Types(t).Values(field("Data", jen.Id("c")), field("Target", in("Target")), field("Reason", in("Reason")), field("Cause", in("Cause")))
	case f.Wrapped:
		return wow("Event").Types(t).Values(field("EventMeta", in("EventMeta")), field("Data", jen.Id("e")))
	}
	return jen.Id("e")
}

func offloadFunctionName(f *schema.Function) string { return "offload" + schema.Export(f.Method) }

func (e *emitter) offloadFunction(c *schema.Consumer, f *schema.Function) {
	name := offloadFunctionName(f)
	e.line("%s runs %s.%s, which may block, on the %s. The mailbox waits for it, no worker does.", name, c.Type, f.Method, poolName(f.Pool))
	var params []jen.Code
	if f.Wrapped {
		params = append(params, jen.Id("in").Op("*").Add(wowrt(inTypes[f.Kind])))
	}
	params = append(params, jen.Id(inNames[f.Kind]).Add(e.message(f)), jen.Id("out").Op("*").Add(wowrt(outType(c))))
	e.add(jen.Func().Params(jen.Id("d").Op("*").Id(e.dispatcherName(c.Type))).Id(name).Params(params...).Error().Block(
		jen.Return(jen.Id("out").Dot("Offload").Call(jen.Lit(f.Pool),
			jen.Func().Params(jen.Id("ctx").Qual("context", "Context")).Error().Block(e.callFunction(c, f, true)...)))))
}

func (e *emitter) consumerMailbox(c *schema.Consumer) {
	kind := schema.Export(c.Kind)
	e.line("%s is the adapter between a mailbox of the runtime and the dispatcher of %s.", e.mailboxName(c.Type), c.Name)
	fields := []jen.Code{field("Name", jen.Lit(c.FullName()))}
	if c.Generation > 1 {
		fields = append(fields, field("Generation", jen.Lit(c.Generation)))
	}
	switch c.Start {
	case "":
	case "now":
		fields = append(fields, field("Start", wowrt("StartNow").Call()))
	default:
		fields = append(fields, field("Start", wowrt("StartAt").Call(jen.Lit(c.Start))))
	}
	if c.Serial {
		fields = append(fields, field("Serial", jen.True()))
	}
	var functions []jen.Code
	has := map[schema.FunctionKind]bool{}
	for _, f := range c.Functions {
		has[f.Kind] = true
		parts := []jen.Code{field("Name", jen.Lit(f.Name))}
		switch f.Kind {
		case schema.OnEvent:
			parts = append(parts, field("Event", e.eventType(f.Message)))
		case schema.OnState:
			parts = append(parts, field("State", jen.Parens(jen.Op("*").Add(e.typ(f.Message))).Parens(jen.Nil()).Dot("WowState").Call()))
		case schema.OnRefused:
			parts = append(parts, field("Refused", e.commandType(f.Message)))
		}
		if f.From != "" {
			parts = append(parts, field("From", jen.Lit(f.From)))
		}
		functions = append(functions, jen.Values(append(parts, options(&f.Call)...)...))
	}
	if len(functions) > 0 {
		fields = append(fields, field("Functions", jen.Index().Add(wowrt("Function")).Add(block("{", "}", functions...))))
	}
	if c.Kind == schema.Saga && len(c.Sends) > 0 {
		var sends []jen.Code
		for _, r := range c.Sends {
			sends = append(sends, e.commandType(r))
		}
		fields = append(fields, field("Sends", jen.Index().Op("*").Add(wow("CommandType")).Add(block("{", "}", sends...))))
	}
	if c.IgnoreRefused {
		fields = append(fields, field("IgnoreRefused", jen.True()))
	}
	for _, m := range []struct {
		kind   schema.FunctionKind
		name   string
		method string
	}{{schema.OnEvent, "OnEvent", "dispatch"}, {schema.OnState, "OnState", "dispatchState"}, {schema.OnRefused, "OnRefused", "dispatchRefused"}} {
		if has[m.kind] {
			fields = append(fields, field(m.name, jen.Id("d").Dot(m.method)))
		}
	}
	if c.Run != "" {
		own := func(method string) *jen.Statement { return jen.Id("d").Dot(e.handlerField(c.Type)).Dot(method) }
		fields = append(fields, field("Transaction", jen.Op("&").Add(wowrt("Transaction")).Values(field("Resume", own(c.Resume)), field("Run", own(c.Run)))))
	}
	if c.Pointer || c.Interface {
		fields = append(fields, missing([]*jen.Statement{jen.Id("d").Dot(e.handlerField(c.Type)).Op("==").Nil()})...)
	}
	e.add(jen.Func().Id(e.mailboxName(c.Type)).Params(jen.Id("d").Op("*").Id(e.dispatcherName(c.Type))).Add(wowrt(kind)).Block(
		jen.Return(wowrt(kind).Add(block("{", "}", fields...)))))
}

// options are the fields that every kind of handler shares.
func options(c *schema.Call) []jen.Code {
	var parts []jen.Code
	if c.Blocking {
		parts = append(parts, field("Blocking", jen.True()))
	}
	if c.Pool != "" {
		parts = append(parts, field("Pool", jen.Lit(c.Pool)))
	}
	if c.Retry != nil {
		var retry []jen.Code
		if c.Retry.Max > 0 {
			retry = append(retry, field("Max", jen.Lit(c.Retry.Max)))
		}
		if c.Retry.Backoff != "" {
			retry = append(retry, field("Backoff", duration(c.Retry.Backoff)))
		}
		switch c.Retry.Order {
		case "function":
			retry = append(retry, field("Order", wowrt("OrderFunction")))
		case "skip":
			retry = append(retry, field("Order", wowrt("OrderSkip")))
		}
		if len(retry) > 0 {
			parts = append(parts, field("Retry", wowrt("Retry").Values(retry...)))
		}
	}
	return parts
}
