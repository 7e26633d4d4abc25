// Package gen turns declarations into dispatchers: it loads packages, plans
// what their declarations mean, emits Go, and writes what differs.
//
//	source -> scan -> plan -> emit -> output
//
// Each step is a package below this one. [Run] is the whole way; package cli
// puts commands around it.
package gen

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/emit"
	"github.com/wowgen/wow/gen/output"
	"github.com/wowgen/wow/gen/plan"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Config says what to generate.
type Config struct {
	Dir      string   // working directory; patterns and paths are relative to it
	Patterns []string // as in the go command; none is the directory itself
	Strict   bool     // warnings are errors
	Checking bool     // outputs that were edited by hand are drift, not mistakes
}

// Result is what a run found, and what it would write.
type Result struct {
	Diagnostics []diag.Diagnostic
	Changes     []*output.Change // sorted by path; empty when there is an error
	Packages    []*schema.Package
	Program     *plan.Program
	Failed      bool // there is an error, and nothing may be written
}

// Plan loads and plans packages without emitting anything. A usage error is
// returned; mistakes in the input are in the result.
func Plan(c Config) (*Result, *diag.List, error) {
	modules := &source.Modules{}
	inputs, err := modules.Match(c.Dir, c.Patterns)
	if err != nil {
		return nil, nil, err
	}
	found := &diag.List{}
	program, err := plan.Load(modules, inputs, found)
	if err != nil {
		return nil, nil, err
	}
	return &Result{Program: program, Packages: program.Packages()}, found, nil
}

// Run plans, emits and compares with what is on disk. It writes nothing.
func Run(c Config) (*Result, error) {
	r, found, err := Plan(c)
	if err != nil {
		return nil, err
	}
	changes := make([][]*output.Change, len(r.Packages))
	if !found.HasErrors() {
		w := &writer{found: found, checking: c.Checking, declared: declaredNames(r.Packages)}
		each(len(r.Packages), func(i int) { changes[i] = w.pkg(r.Packages[i]) })
	}
	r.Diagnostics = found.Sorted()
	for i := range r.Diagnostics {
		if c.Strict {
			r.Diagnostics[i].Severity = diag.Error
		}
		r.Failed = r.Failed || r.Diagnostics[i].Severity == diag.Error
	}
	if !r.Failed {
		for _, list := range changes {
			r.Changes = append(r.Changes, list...)
		}
	}
	return r, nil
}

func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// declaredNames counts the packages that declare a wire name now, so that a
// name which moved to another package has not vanished.
func declaredNames(packages []*schema.Package) map[string]int {
	names := map[string]int{}
	for _, p := range packages {
		l := output.LockOf(p)
		for n := range l.Aggregates {
			names["aggregate "+n]++
		}
		for n := range l.Commands {
			names["command "+n]++
		}
		for n := range l.Events {
			names["event "+n]++
		}
		for n := range l.Consumers {
			names["consumer "+n]++
		}
	}
	return names
}

// writer compares what is to be written with what is there.
type writer struct {
	found    *diag.List
	checking bool
	declared map[string]int
}

// pkg returns the changes that a package needs.
func (w *writer) pkg(p *schema.Package) []*output.Change {
	var changes []*output.Change
	add := func(c *output.Change) {
		if c != nil {
			changes = append(changes, c)
		}
	}
	lock, ok := w.lock(p)
	if !ok {
		return nil
	}
	for _, file := range []struct {
		name string
		emit func(*schema.Package) ([]byte, error)
	}{{source.GenName, emit.Gen}, {source.TypesName, emit.Types}} {
		src, err := file.emit(p)
		if err == nil {
			var change *output.Change
			change, err = w.goFile(p, file.name, src)
			add(change)
		}
		if err == nil {
			continue
		}
		w.found.Add(diag.Diagnostic{
			Pos: schema.Pos{File: filepath.ToSlash(p.Dir)}, Code: "internal", Message: "wowgen wrote Go that does not parse",
			Wanted: "Go", Found: err.Error(), Fix: "report it with the declarations of the package",
		})
		return nil
	}
	add(lock)
	return changes
}

// goFile compares one generated Go file; a nil source means that there should
// be none.
func (w *writer) goFile(p *schema.Package, name string, src []byte) (*output.Change, error) {
	path := filepath.Join(p.Dir, name)
	old, err := output.Read(path)
	if err != nil {
		w.unreadable(path, err)
		return nil, nil
	}
	if old == nil && src == nil {
		return nil, nil
	}
	change := &output.Change{Path: path, Old: old}
	if src != nil {
		if change.New, err = output.Format(src); err != nil {
			return nil, fmt.Errorf("package %q: %w", p.Path, err)
		}
		if output.Same(old, change.New) {
			return nil, nil
		}
	}
	state := output.Inspect(old)
	if src != nil && state == output.Intact && output.SameTokens(old, change.New) {
		return nil, nil // somebody's formatter has been there
	}
	contents := change.New
	switch {
	case state == output.Foreign && contents == nil:
		return nil, nil
	case state == output.Foreign:
		w.found.Add(diag.Diagnostic{
			Pos: pos(path, 1), Code: "foreign-output", Message: "the output " + name + " exists and is not ours",
			Wanted: source.Header, Found: firstLine(old), Fix: "rename that file: wowgen writes " + name,
		})
		return nil, nil
	case state == output.Edited && w.checking:
		change.Edited = true
	case state == output.Edited:
		w.found.Add(diag.Diagnostic{
			Pos: pos(path, 1), Code: "edited-output", Message: "the output " + name + " was edited by hand",
			Wanted: "the file as wowgen wrote it", Found: "other tokens than its last line sums up",
			Fix: "move the edit to a file of your own, then remove " + name + " and run wowgen again",
		})
		return nil, nil
	case state == output.Broken && contents == nil && !w.checking:
		w.found.Add(diag.Diagnostic{
			Pos: pos(path, 1), Code: "stale-output", Message: "the output " + name + " is stale, and does not parse",
			Wanted: "a package with declarations, or no " + name, Found: "nothing to generate", Fix: "remove " + name,
		})
		return nil, nil
	}
	return change, nil
}

func (w *writer) unreadable(path string, err error) {
	w.found.Add(diag.Diagnostic{
		Pos: pos(path, 0), Code: "unreadable", Message: "the output cannot be read", Wanted: "a readable file", Found: err.Error(), Fix: "make it readable, or remove it",
	})
}

// lock brings the package's lock file up to date.
func (w *writer) lock(p *schema.Package) (*output.Change, bool) {
	path := filepath.Join(p.Dir, source.LockName)
	old, err := output.Read(path)
	if err != nil {
		w.unreadable(path, err)
		return nil, false
	}
	if old == nil && p.Empty() {
		return nil, true
	}
	was, err := output.ParseLock(old)
	if err != nil {
		fix := "restore it from version control; of two sides of a merge keep both"
		if errors.Is(err, output.ErrFormat) {
			fix = "use the wowgen that wrote it, or a newer one"
		}
		w.found.Add(diag.Diagnostic{
			Pos: pos(path, 1), Code: "bad-lock", Message: source.LockName + " cannot be read",
			Wanted: "the file as wowgen wrote it", Found: err.Error(), Fix: fix,
		})
		return nil, false
	}
	now := output.LockOf(p)
	merged, gone := was.Merge(now, func(kind, name string) bool { return w.declared[kind+" "+name] > 0 })
	for _, g := range gone {
		w.vanished(p, path, old, g)
	}
	if len(gone) > 0 {
		return nil, false
	}
	w.reshaped(p, was)
	data, err := merged.Bytes()
	if err != nil {
		w.unreadable(path, err)
		return nil, false
	}
	if output.Same(old, data) || (old == nil && merged.Empty()) {
		return nil, true
	}
	return &output.Change{Path: path, Old: old, New: data}, true
}

func (w *writer) vanished(p *schema.Package, path string, lock []byte, g output.Gone) {
	fix := "give the type that took its place name=" + lastPart(g.Name) + "; or, when nothing of it is stored any more, add \"retired\": true to it here"
	wanted := "a declaration for everything that " + source.LockName + " knows"
	switch g.Kind {
	case "revision":
		fix = "declare a struct of that revision, with //wow:event name= revision= and //wow:upcast on a function to the next one"
		wanted = "an upcaster from each revision that was ever stored"
	case "function":
		name, _, _ := strings.Cut(g.Name, " ")
		fix = "give the method that took its place //wow:on name=" + name + "; or add \"retired\": true to it here"
	}
	kind := g.Kind
	if kind == "revision" {
		kind = "event"
	}
	w.found.Add(diag.Diagnostic{
		Pos: pos(path, lineOf(lock, g.Key)), Code: "vanished-name", Message: "the " + kind + " " + g.Name + " has vanished",
		Wanted: wanted, Found: "no such " + g.Kind + " in package " + p.Name, Fix: fix,
	})
}

// reshaped warns about events whose fields are not what the lock file knows. It
// may be an event that was never stored, so it is no error; the lock file keeps
// the new fields, and only wowgen compat tells again.
func (w *writer) reshaped(p *schema.Package, was *output.Lock) {
	for _, e := range p.Events {
		for _, from := range e.Aggregates {
			before := was.Events[from+"/"+e.Name]
			if before == nil {
				continue
			}
			for _, c := range output.CompareFields(before.Revisions[strconv.Itoa(e.Revision)], output.FieldList(e.Fields)) {
				if c.Kind == "widened" {
					continue
				}
				found := c.Field + " " + c.Is
				if c.Kind == "removed" {
					found = "no field " + c.Field
				}
				w.found.Warn(diag.Diagnostic{
					Pos: e.Pos, Code: "field-" + c.Kind, Message: "the event " + e.Name + " has another shape: what is stored of " + c.Field + " will not be read",
					Wanted: c.Field + " " + c.Was + ", as " + source.LockName + " knows it", Found: found,
					Fix: "to rename it in Go only, add `json:\"" + c.Field + "\"`; else, when such events are stored: keep this struct as the old revision, declare the new shape with //wow:event revision=" +
						strconv.Itoa(e.Revision+1) + ", and a //wow:upcast function between them", See: "upcast",
				})
			}
		}
	}
}

func lastPart(name string) string {
	return name[strings.LastIndexAny(name, "/.")+1:]
}

// lineOf finds the line of a key in the lock file.
func lineOf(data []byte, key string) int {
	i := bytes.Index(data, fmt.Appendf(nil, "%q", key))
	if i < 0 {
		return 1
	}
	return 1 + bytes.Count(data[:i], []byte("\n"))
}

func pos(path string, line int) schema.Pos {
	return schema.Pos{File: filepath.ToSlash(path), Line: line}
}

func firstLine(data []byte) string {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if len(line) > 80 {
		line = line[:80]
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return "another file"
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(line)), "?")
}
