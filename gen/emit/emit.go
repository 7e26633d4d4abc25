// Package emit writes the model of a package as Go.
//
// What it writes is what a user steps through in the debugger: one dispatcher,
// one mailbox adapter and one Register function for each component, in names
// of the user's own domain. Nothing of the input but names goes into the text,
// so that the same declarations give the same bytes from Go and from YAML.
package emit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Import paths that the output uses.
const (
	wowPath     = source.WowPath
	runtimePath = source.WowPath + "/runtime"
)

// Format is the version of what generated code expects of the runtime.
const Format = 1

// FormatName is the constant by which a runtime says that it knows a format. A
// runtime that is older lacks the name, and the compiler prints it: so it says
// what to do. Every runtime knows the first format.
func FormatName(format int) string {
	if format == 1 {
		return "Format1"
	}
	return fmt.Sprintf("Format%dOrUpgradeWow", format)
}

// emitter writes one file.
type emitter struct {
	pkg   *schema.Package
	file  *jen.File
	names map[string]string // what we want to call something, what it is called
	taken map[string]bool   // names of the file's imports and of our own declarations
}

// Gen returns wow_gen.go of a package, neither formatted nor signed. It is nil
// when there is nothing to generate.
func Gen(pkg *schema.Package) ([]byte, error) {
	if len(pkg.Aggregates)+len(pkg.Commands)+len(pkg.Events)+len(pkg.Consumers) == 0 {
		return nil, nil
	}
	e := newEmitter(pkg)
	e.line("This file was written for format %d of the runtime. When this line does not compile, the compiler's message says what to do.", Format)
	e.add(jen.Const().Id("_").Uint().Op("=").Qual(runtimePath, FormatName(Format)))
	for _, a := range pkg.Aggregates {
		e.aggregate(a)
	}
	e.foreignMessages()
	for _, c := range pkg.Consumers {
		e.consumer(c)
	}
	return e.render()
}

func newEmitter(pkg *schema.Package) *emitter {
	e := &emitter{pkg: pkg, names: map[string]string{}, taken: map[string]bool{}}
	e.file = jen.NewFilePathName(pkg.Path, pkg.Name)
	e.file.NoFormat = true
	e.file.HeaderComment(source.Header)
	e.importAs("context", "context")
	e.importAs("time", "time")
	e.importAs(wowPath, "wow")
	e.importAs(runtimePath, "wowrt")
	for _, path := range sortedKeys(pkg.Imports) {
		e.importAs(path, pkg.Imports[path])
	}
	return e
}

// locals are the names of variables in the output: no import may be called so.
var locals = map[string]bool{
	"body": true, "c": true, "cmd": true, "ctx": true, "d": true, "data": true, "decode": true, "e": true, "err": true,
	"event": true, "events": true, "commands": true, "g": true, "id": true, "in": true, "key": true, "m": true, "opts": true, "out": true, "r": true,
	"s": true, "state": true, "t": true, "tenant": true, "v": true, "version": true, "gateway": true,
}

// importAs gives an import a name that collides with nothing: a package-level
// name of the user, in any file of the directory, would not compile beside it.
func (e *emitter) importAs(path, name string) {
	free := func(n string) bool {
		_, user := e.pkg.Names[n]
		return !user && !e.taken[n] && !locals[n] && !jen.IsReservedWord(n)
	}
	chosen := name
	if !free(chosen) {
		chosen = name + "pkg"
	}
	for n := 2; !free(chosen); n++ {
		chosen = fmt.Sprintf("%spkg%d", name, n)
	}
	e.taken[chosen] = true
	if chosen == name && (path == wowPath || !strings.Contains(path, ".") || name == lastOf(path)) {
		e.file.ImportName(path, chosen)
		return
	}
	e.file.ImportAlias(path, chosen)
}

func lastOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// name returns what a package-level identifier of ours is called: as wanted,
// unless the user has that name.
func (e *emitter) name(wanted string) string {
	if n, ok := e.names[wanted]; ok {
		return n
	}
	chosen := wanted
	for n := 2; ; n++ {
		if _, user := e.pkg.Names[chosen]; !user && !e.taken[chosen] {
			break
		}
		chosen = fmt.Sprintf("%s%d", wanted, n)
	}
	e.names[wanted] = chosen
	e.taken[chosen] = true
	return chosen
}

// variable returns a name for a local variable that hides nothing which is
// used beside it.
func (e *emitter) variable(wanted string, beside ...string) string {
	hides := func(n string) bool {
		if locals[n] || e.taken[n] || jen.IsReservedWord(n) {
			return true
		}
		for _, b := range beside {
			if b == n {
				return true
			}
		}
		return false
	}
	chosen := wanted
	for n := 2; hides(chosen); n++ {
		chosen = fmt.Sprintf("%s%d", wanted, n)
	}
	return chosen
}

// typ renders a type.
func (e *emitter) typ(r schema.Ref) *jen.Statement {
	if r.Path == e.pkg.Path || r.Path == "" {
		return jen.Id(r.Name)
	}
	return jen.Qual(r.Path, r.Name)
}

func wow(name string) *jen.Statement   { return jen.Qual(wowPath, name) }
func wowrt(name string) *jen.Statement { return jen.Qual(runtimePath, name) }

// add adds a declaration below the comment that was written last.
func (e *emitter) add(code *jen.Statement) { e.file.Add(code) }

// line writes a comment, wrapped, below a blank line.
func (e *emitter) line(format string, args ...any) {
	e.file.Line()
	for _, l := range wrap(fmt.Sprintf(format, args...), width) {
		e.file.Comment("// " + l)
	}
}

// heading writes a comment that stands alone.
func (e *emitter) heading(format string, args ...any) {
	e.line(format, args...)
}

// width is the longest line of a comment.
const width = 78

// wrap breaks text into lines.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len("// ")+len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// block is a composite literal or argument list with a line for each item.
func block(open, end string, items ...jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: open, Close: end, Separator: ",", Multi: true}, items...)
}

// oneLine is a function's body of one statement, on the function's line.
func oneLine(statement jen.Code) *jen.Statement {
	return jen.Op("{").Add(statement).Op("}")
}

// field is one field of a composite literal.
func field(name string, value jen.Code) jen.Code { return jen.Id(name).Op(":").Add(value) }

// render writes the file out.
func (e *emitter) render() ([]byte, error) {
	var b bytes.Buffer
	if err := e.file.Render(&b); err != nil {
		return nil, fmt.Errorf("emit: rendering package %q: %w", e.pkg.Path, err)
	}
	return groupImports(b.Bytes()), nil
}

// groupImports puts a blank line between the standard library and the rest.
func groupImports(src []byte) []byte {
	from := bytes.Index(src, []byte("\nimport ("))
	if from < 0 {
		return src
	}
	to := from + bytes.Index(src[from:], []byte("\n)"))
	var std, other [][]byte
	for _, l := range bytes.Split(src[from+len("\nimport ("):to], []byte("\n")) {
		l = bytes.TrimSpace(l)
		if len(l) == 0 {
			continue
		}
		path := l[bytes.IndexByte(l, '"')+1:]
		if first, _, _ := bytes.Cut(bytes.TrimRight(path, `"`), []byte("/")); bytes.IndexByte(first, '.') < 0 {
			std = append(std, l)
		} else {
			other = append(other, l)
		}
	}
	var b bytes.Buffer
	b.Write(src[:from])
	b.WriteString("\nimport (\n")
	b.Write(bytes.Join(std, []byte("\n")))
	if len(std) > 0 && len(other) > 0 {
		b.WriteString("\n\n")
	}
	b.Write(bytes.Join(other, []byte("\n")))
	b.Write(src[to:])
	return b.Bytes()
}
