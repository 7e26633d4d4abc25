package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/wowgen/wow/schema"
)

func (e *emitter) commandVar(typ string) string {
	return e.name(schema.Camel(typ) + "Command")
}

func (e *emitter) eventVar(typ string) string { return e.name(schema.Camel(typ) + "Event") }

// decodeName names the function that reads a message. It is not a closure in the
// message's description: a stack trace shows its name, and formatting a
// composite literal prints a closure in it twice.
func (e *emitter) decodeName(typ string) string { return e.name("decode" + schema.Export(typ)) }

// commandType is the description of a command, as an expression.
func (e *emitter) commandType(r schema.Ref) *jen.Statement {
	return e.typ(r).Values().Dot("WowCommand").Call()
}

// eventType is the description of an event, as an expression.
func (e *emitter) eventType(r schema.Ref) *jen.Statement {
	return e.typ(r).Values().Dot("WowEvent").Call()
}

// commands writes the methods of commands, which route them and tell the
// compiler what they are. target writes where one is sent.
func (e *emitter) commands(list []*schema.Command, target func(c *schema.Command) jen.Code, its func(c *schema.Command) string) {
	for _, c := range list {
		e.line("WowTarget routes the command to its %s.", its(c))
		if c.Key.Type.Path != "" && c.Key.Type.Path != e.pkg.Path {
			e.file.Comment("// The key must be a string underneath; give another one a method AggregateID() string.")
		}
		e.add(jen.Func().Params(jen.Id("c").Id(c.Type)).Id("WowTarget").Params().Add(wow("Target")).Add(oneLine(target(c))))
		e.line("WowCommand describes the command.")
		e.add(jen.Func().Params(jen.Id(c.Type)).Id("WowCommand").Params().Op("*").Add(wow("CommandType")).
			Add(oneLine(jen.Return(jen.Op("&").Id(e.commandVar(c.Type))))))
		if c.Request != nil {
			e.line("WowRequest is the idempotency key that the command carries.")
			e.add(jen.Func().Params(jen.Id("c").Id(c.Type)).Id("WowRequest").Params().String().Add(oneLine(jen.Return(text("c", c.Request)))))
		}
		if c.Version != nil {
			e.line("WowExpected is the version that the sender expects.")
			value := jen.Id("c").Dot(c.Version.Field)
			if c.Version.Type != (schema.Ref{Name: "int64"}) {
				value = jen.Int64().Parens(value)
			}
			e.add(jen.Func().Params(jen.Id("c").Id(c.Type)).Id("WowExpected").Params().Int64().Add(oneLine(jen.Return(value))))
		}
	}
}

// text is a key as a string.
func text(variable string, k *schema.Key) *jen.Statement {
	switch {
	case k.Method:
		return jen.Id(variable).Dot("AggregateID").Call()
	case k.Type == (schema.Ref{Name: "string"}):
		return jen.Id(variable).Dot(k.Field)
	}
	return jen.String().Parens(jen.Id(variable).Dot(k.Field))
}

// asKey turns a string into a key's type.
func (e *emitter) asKey(k *schema.Key, value *jen.Statement) *jen.Statement {
	if k.Type == (schema.Ref{Name: "string"}) {
		return value
	}
	return e.typ(k.Type).Parens(value)
}

// commandTypes writes the descriptions of commands.
func (e *emitter) commandTypes(list []*schema.Command) {
	for _, c := range list {
		mode := map[schema.Mode]string{schema.Create: "Create", schema.Upsert: "Upsert", schema.Exists: "Exists", schema.Recover: "Recover"}[c.Mode]
		decode := []jen.Code{
			jen.Var().Id("c").Id(c.Type),
			jen.Err().Op(":=").Id("decode").Call(jen.Id("body"), jen.Op("&").Id("c")),
		}
		if !c.Key.Method {
			decode = append(decode, jen.If(jen.Id("c").Dot(c.Key.Field).Op("==").Lit("")).Block(
				jen.Id("c").Dot(c.Key.Field).Op("=").Add(e.asKey(c.Key, jen.Id("key")))))
		}
		decode = append(decode, jen.Return(jen.Id("c"), jen.Err()))
		e.file.Line()
		e.add(jen.Var().Id(e.commandVar(c.Type)).Op("=").Add(wow("CommandType")).Add(block("{", "}",
			field("Aggregate", jen.Lit(c.Target())),
			field("Name", jen.Lit(c.Name)),
			field("Mode", wow(mode)),
			field("Decode", jen.Id(e.decodeName(c.Type))),
		)))
		e.file.Line()
		e.add(jen.Func().Id(e.decodeName(c.Type)).Params(jen.Id("decode").Add(wow("Unmarshal")), jen.Id("key").String(), jen.Id("body").Index().Byte()).
			Params(wow("Sendable"), jen.Error()).Block(decode...))
	}
}

// events writes the methods and descriptions of events.
func (e *emitter) events(list []*schema.Event) {
	for _, ev := range list {
		if ev.Newest != ev {
			continue // read, but never written again
		}
		e.line("WowEvent describes the event.")
		e.add(jen.Func().Params(jen.Id(ev.Type)).Id("WowEvent").Params().Op("*").Add(wow("EventType")).
			Add(oneLine(jen.Return(jen.Op("&").Id(e.eventVar(ev.Type))))))
	}
	for _, ev := range list {
		var from []jen.Code
		for _, a := range ev.Aggregates {
			from = append(from, jen.Lit(a))
		}
		result := jen.Id("e")
		for step := ev; step.Upcast != ""; step = e.next(step) {
			result = jen.Id(step.Upcast).Call(result)
		}
		if ev.Newest != ev {
			e.line("%sEvent reads %s of revision %d as %s.", schema.Camel(ev.Type), ev.Name, ev.Revision, ev.Newest.Type)
		} else {
			e.file.Line()
		}
		fields := []jen.Code{
			field("Aggregates", jen.Index().String().Values(from...)),
			field("Name", jen.Lit(ev.Name)),
			field("Revision", jen.Lit(ev.Revision)),
			field("Decode", jen.Id(e.decodeName(ev.Type))),
		}
		if older := e.older(ev); len(older) > 0 {
			fields = append(fields, field("Older", jen.Index().Op("*").Add(wow("EventType")).Values(older...)))
		}
		e.add(jen.Var().Id(e.eventVar(ev.Type)).Op("=").Add(wow("EventType")).Add(block("{", "}", fields...)))
		e.file.Line()
		e.add(jen.Func().Id(e.decodeName(ev.Type)).Params(jen.Id("decode").Add(wow("Unmarshal")), jen.Id("data").Index().Byte()).Params(wow("DomainEvent"), jen.Error()).Block(
			jen.Var().Id("e").Id(ev.Type),
			jen.Err().Op(":=").Id("decode").Call(jen.Id("data"), jen.Op("&").Id("e")),
			jen.Return(result, jen.Err()),
		))
	}
}

// older lists the earlier revisions of an event, the oldest first.
func (e *emitter) older(ev *schema.Event) []jen.Code {
	var list []*schema.Event
	for _, old := range e.pkg.Events {
		if old != ev && old.Newest == ev {
			list = append(list, old)
		}
	}
	slices.SortFunc(list, func(a, b *schema.Event) int { return a.Revision - b.Revision })
	var out []jen.Code
	for _, old := range list {
		out = append(out, jen.Op("&").Id(e.eventVar(old.Type)))
	}
	return out
}

// next is the event that an old one becomes.
func (e *emitter) next(old *schema.Event) *schema.Event {
	for _, ev := range e.pkg.Events {
		if ev.Name == old.Name && ev.Revision == old.Revision+1 {
			return ev
		}
	}
	return old.Newest
}

// foreignMessages writes what the package declares for aggregates of others.
func (e *emitter) foreignMessages() {
	var commands []*schema.Command
	for _, c := range e.pkg.Commands {
		if c.Local == nil {
			commands = append(commands, c)
		}
	}
	if len(commands) > 0 {
		e.heading("Commands of aggregates in other packages.")
		e.commands(commands, func(c *schema.Command) jen.Code {
			fields := []jen.Code{field("Aggregate", jen.Lit(c.Target())), field("ID", text("c", c.Key))}
			if c.Tenant != nil {
				fields = append([]jen.Code{field("Tenant", text("c", c.Tenant))}, fields...)
			}
			return jen.Return(wow("Target").Values(fields...))
		}, func(c *schema.Command) string { return c.Aggregate })
		e.commandTypes(commands)
	}
	var events []*schema.Event
	for _, ev := range e.pkg.Events {
		if e.home(ev) == nil {
			events = append(events, ev)
		}
	}
	if len(events) > 0 {
		e.heading("Events of aggregates in other packages.")
		e.events(events)
	}
}

// home is the aggregate of the package beside which an event is written: the
// first that it comes from.
func (e *emitter) home(ev *schema.Event) *schema.Aggregate {
	for _, a := range e.pkg.Aggregates {
		for _, from := range ev.Aggregates {
			if from == a.FullName() {
				return a
			}
		}
	}
	return nil
}
