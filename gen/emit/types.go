package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/wowgen/wow/schema"
)

// Types returns wow_types_gen.go: the types that YAML gives fields for, and an
// interface for each handler type and consumer that YAML names and nobody wrote. It is nil
// when there are none.
func Types(pkg *schema.Package) ([]byte, error) {
	writes := func(c *schema.Consumer) bool { return c.Written }
	if len(pkg.Written)+len(pkg.Interfaces) == 0 && !slices.ContainsFunc(pkg.Consumers, writes) {
		return nil, nil
	}
	e := newEmitter(pkg)
	for _, w := range pkg.Written {
		e.written(w)
	}
	for _, h := range pkg.Interfaces {
		e.handlerInterface(h)
	}
	for _, c := range pkg.Consumers {
		if c.Written {
			e.consumerInterface(c)
		}
	}
	return e.render()
}

func (e *emitter) written(w *schema.Written) {
	e.line("%s is %s.", w.Type, e.roleOf(w.Type))
	var fields []jen.Code
	for _, f := range w.Fields {
		names := map[string]string{}
		for _, qualifier := range sortedKeys(f.Imports) {
			path := f.Imports[qualifier]
			if _, known := e.names["import "+path]; !known {
				e.importAs(path, qualifier)
				e.names["import "+path] = qualifier
			}
			names[qualifier] = path
		}
		code := jen.Id(f.Name).Add(qualify(f.Type, names))
		if f.Tag != "" {
			code.Tag(map[string]string{"wow": f.Tag})
		}
		fields = append(fields, code)
	}
	e.add(jen.Type().Id(w.Type).Struct(fields...))
}

// qualify renders a type whose qualifiers stand for import paths.
func qualify(text string, names map[string]string) *jen.Statement {
	out := jen.Null()
	for text != "" {
		at, path, length := -1, "", 0
		for name, p := range names {
			if i := strings.Index(text, name+"."); i >= 0 && (at < 0 || i < at) && (i == 0 || !isWord(text[i-1])) {
				at, path, length = i, p, len(name)+1
			}
		}
		if at < 0 {
			return out.Op(text)
		}
		end := at + length
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if at > 0 {
			out.Op(text[:at])
		}
		out.Qual(path, text[at+length:end])
		text = text[end:]
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// roleOf says what a type is, for its comment.
func (e *emitter) roleOf(typ string) string {
	for _, c := range e.pkg.Commands {
		if c.Type == typ {
			return "a command to the aggregate " + c.Aggregate
		}
	}
	for _, ev := range e.pkg.Events {
		if ev.Type == typ {
			return "the event " + ev.Name
		}
	}
	for _, a := range e.pkg.Aggregates {
		if a.Type == typ {
			return "the state of the aggregate " + a.Name
		}
	}
	return "declared in YAML"
}

func (e *emitter) handlerInterface(h *schema.HandlerType) {
	aggregate := h.Aggregate
	e.line("%s decides commands to %s. Implement it, and hand it to Register%s.", h.Type, aggregate, schema.Export(aggregate))
	var methods []jen.Code
	for _, d := range h.Decides {
		methods = append(methods, jen.Id(d.Method).Params(
			jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id(aggregate), jen.Id("cmd").Add(e.typ(d.Command))).
			Params(wow("Events"), jen.Error()))
	}
	e.add(jen.Type().Id(h.Type).Interface(methods...))
}

// consumerInterface writes the interface of a consumer that nobody wrote.
func (e *emitter) consumerInterface(c *schema.Consumer) {
	does := map[string]string{schema.Processor: "reacts to events", schema.Projection: "keeps a view", schema.Saga: "answers events with commands"}[c.Kind]
	e.line("%s %s, as the %s %s. Implement it, and hand it to Register%s.", c.Type, does, c.Kind, c.Name, schema.Export(c.Type))
	var methods []jen.Code
	for _, f := range c.Functions {
		in := map[schema.FunctionKind]*jen.Statement{
			schema.OnEvent: jen.Id("e").Add(wow("Event")), schema.OnState: jen.Id("s").Add(wow("StateEvent")), schema.OnRefused: jen.Id("r").Add(wow("Refused")),
		}[f.Kind].Types(e.typ(f.Message))
		method := jen.Id(f.Method).Params(jen.Id("ctx").Qual("context", "Context"), in)
		if c.Kind == schema.Saga {
			methods = append(methods, method.Params(wow("Commands"), jen.Error()))
		} else {
			methods = append(methods, method.Error())
		}
	}
	e.add(jen.Type().Id(c.Type).Interface(methods...))
}
