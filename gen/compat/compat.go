// Package compat tells whether an older release and this one can share a store
// and a bus: it compares the wow.lock.json of then with the declarations of
// now.
//
// Stored events must stay readable, commands that a peer still sends must
// still be understood, and what checkpoints and dead letters are kept under
// must not change its name. What only delays somebody is a warning: a snapshot
// that is not used, a revision that older peers cannot read yet.
package compat

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/output"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Config says what to compare.
type Config struct {
	Dir      string   // working directory
	Name     string   // of the older lock file, for positions
	Lock     []byte   // its contents
	Patterns []string // the packages of now; none is the directory itself
}

// Check compares. The diagnostics are sorted; those about declarations that do
// not plan come alone, because nothing can be compared then.
func Check(c Config) ([]diag.Diagnostic, error) {
	was, err := output.ParseLock(c.Lock)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.Name, err)
	}
	r, found, err := gen.Plan(gen.Config{Dir: c.Dir, Patterns: c.Patterns})
	if err != nil {
		return nil, err
	}
	if found.HasErrors() {
		return found.Sorted(), nil
	}
	k := &check{name: c.Name, lock: c.Lock, was: was, now: &output.Lock{}, places: map[string]place{}}
	for _, p := range r.Packages {
		if err := k.add(p); err != nil {
			return nil, err
		}
	}
	k.aggregates()
	k.commands()
	k.events()
	k.consumers()
	return k.found.Sorted(), nil
}

// place is where something is declared now.
type place struct {
	pos  schema.Pos
	what string // "AddItem", for a fix
}

type check struct {
	name    string
	lock    []byte
	was     *output.Lock
	now     *output.Lock
	retired output.Lock      // names that are marked so in the lock files of now
	places  map[string]place // by kind and name
	found   diag.List
}

// add takes in what a package declares now.
func (k *check) add(p *schema.Package) error {
	now := output.LockOf(p)
	into(&k.now.Aggregates, now.Aggregates)
	into(&k.now.Commands, now.Commands)
	for name, e := range now.Events {
		if other := k.now.Events[name]; other != nil {
			maps.Copy(other.Revisions, e.Revisions) // its revisions are in several packages
			delete(now.Events, name)
		}
	}
	into(&k.now.Events, now.Events)
	into(&k.now.Consumers, now.Consumers)
	for _, a := range p.Aggregates {
		k.places["aggregate "+a.FullName()] = place{a.Pos, a.Type}
	}
	for _, c := range p.Commands {
		k.places["command "+c.Target()+"/"+c.Name] = place{c.Pos, c.Type}
	}
	for _, e := range p.Events {
		for _, from := range e.Aggregates {
			k.places["event "+from+"/"+e.Name] = place{e.Newest.Pos, e.Newest.Type}
			k.places["event "+from+"/"+e.Name+" "+strconv.Itoa(e.Revision)] = place{e.Pos, e.Type}
		}
	}
	for _, c := range p.Consumers {
		k.places["consumer "+c.FullName()] = place{c.Pos, c.Type}
		for _, f := range c.Functions {
			k.places["function "+c.FullName()+" "+f.Name] = place{f.Pos, c.Type + "." + f.Method}
		}
	}
	name := filepath.Join(p.Dir, source.LockName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := output.ParseLock(data)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	into(&k.retired.Aggregates, l.Aggregates)
	into(&k.retired.Commands, l.Commands)
	into(&k.retired.Events, l.Events)
	into(&k.retired.Consumers, l.Consumers)
	return nil
}

func into[V any](all *map[string]V, more map[string]V) {
	if *all == nil {
		*all = map[string]V{}
	}
	maps.Copy(*all, more)
}

func (k *check) aggregates() {
	for name, was := range k.was.Aggregates {
		if was == nil || was.Retired {
			continue
		}
		is := k.now.Aggregates[name]
		if is == nil {
			mark := k.retired.Aggregates[name]
			k.gone("aggregate", name, mark != nil && mark.Retired, onlyNew(k.now.Aggregates, k.was.Aggregates, nil),
				"its events are stored under the name, and nobody reads them any more")
			continue
		}
		if was.State != is.State {
			k.at("aggregate "+name, diag.Diagnostic{
				Severity: diag.Warning, Code: "snapshot-changed", Message: "snapshots of " + name + " that the older release stored are not used",
				Wanted: "a state of the same shape, for its snapshots to be read", Found: "fingerprint " + is.State + ", was " + was.State,
				Fix: "nothing, unless histories are long: the first load of each aggregate replays all of its events", See: "aggregate",
			})
		}
	}
}

func (k *check) commands() {
	for name, was := range k.was.Commands {
		if was == nil || was.Retired || k.orphan(name) {
			continue
		}
		is := k.now.Commands[name]
		if is == nil {
			mark := k.retired.Commands[name]
			same := func(c *output.LockCommand) bool { return slices.Equal(c.Fields, was.Fields) }
			k.gone("command", name, mark != nil && mark.Retired, onlyNew(k.now.Commands, k.was.Commands, same),
				"a peer or client of the older release still sends it, and gets an unknown type")
			continue
		}
		for _, c := range output.CompareFields(was.Fields, is.Fields) {
			k.changed("command "+name, "the command "+name, c, "keep the field, under its old name and type, until nobody sends the older command; or declare a new command beside it")
		}
	}
}

func (k *check) events() {
	for name, was := range k.was.Events {
		if was.Retired || k.orphan(name) {
			continue
		}
		is := k.now.Events[name]
		if is == nil {
			mark := k.retired.Events[name]
			same := func(e *output.LockEvent) bool { return sameRevisions(e, was) }
			k.gone("event", name, mark != nil && mark.Retired, onlyNew(k.now.Events, k.was.Events, same),
				"stored events of that name cannot be read, and their aggregates cannot be loaded")
			continue
		}
		for revision, fields := range was.Revisions {
			now, ok := is.Revisions[revision]
			if !ok {
				shape := "no fields"
				if len(fields) > 0 {
					shape = "the fields " + strings.Join(fields, ", ")
				}
				k.at("event "+name, diag.Diagnostic{
					Code: "revision-missing", Message: "revision " + revision + " of the event " + name + " cannot be read any more",
					Wanted: "every revision that may be stored, with an upcaster to the next one", Found: "revisions " + revisions(is),
					Fix: "declare a struct with //wow:event name=" + last(name) + " revision=" + revision + " and " + shape + "; and a //wow:upcast function from it", See: "upcast",
					Related: []diag.Related{k.then(name)},
				})
				continue
			}
			for _, c := range output.CompareFields(fields, now) {
				k.changed("event "+name+" "+revision, "revision "+revision+" of the event "+name, c,
					"keep this struct as the old revision, declare the new shape with //wow:event revision="+next(is)+", and a //wow:upcast function between them")
			}
		}
		if newest, before := highest(is), highest(was); newest > before {
			k.at("event "+name, diag.Diagnostic{
				Severity: diag.Warning, Code: "revision-newer", Message: fmt.Sprintf("the older release cannot read revision %d of the event %s", newest, name),
				Wanted: fmt.Sprintf("peers that know revision %d", newest), Found: fmt.Sprintf("a release that knows revision %d and below", before),
				Fix: "upgrade everything that reads the event before what decides it", See: "event",
			})
		}
	}
}

func (k *check) consumers() {
	for name, was := range k.was.Consumers {
		if was == nil || was.Retired {
			continue
		}
		is := k.now.Consumers[name]
		mark := k.retired.Consumers[name]
		if is == nil {
			same := func(c *output.LockConsumer) bool {
				return slices.Equal(slices.Sorted(maps.Keys(c.Functions)), slices.Sorted(maps.Keys(was.Functions)))
			}
			k.gone("consumer", name, mark != nil && mark.Retired, onlyNew(k.now.Consumers, k.was.Consumers, same),
				"its checkpoint is kept under the name: under another one it begins again with the first event")
			continue
		}
		for f, function := range was.Functions {
			if _, ok := is.Functions[f]; ok || function.Retired {
				continue
			}
			var candidates []string
			for n := range is.Functions {
				if _, old := was.Functions[n]; !old {
					candidates = append(candidates, n)
				}
			}
			retired := mark != nil && mark.Functions[f].Retired
			k.function(name, f, retired, candidates)
		}
	}
}

// orphan tells whether the aggregate of a command or event is gone, which is
// reported itself.
func (k *check) orphan(name string) bool {
	aggregate, _, _ := strings.Cut(name, "/")
	return k.was.Aggregates[aggregate] != nil && k.now.Aggregates[aggregate] == nil
}

// gone reports a name that the older release knows and nobody declares now.
func (k *check) gone(kind, name string, retired bool, candidates []string, why string) {
	d := diag.Diagnostic{
		Code: kind + "-gone", Message: "the " + kind + " " + name + " is gone: " + why,
		Wanted: "a declaration of every name that the older release uses", Found: "no " + kind + " of that name",
		Fix: "declare it again, or add the patterns of the package that declares it now",
	}
	if retired {
		d.Severity, d.Found = diag.Warning, "a name that is marked retired"
		d.Fix = "make sure that nothing of it is stored and nobody sends it any more"
	} else if similar := pick(name, candidates); similar != "" {
		now := k.places[kind+" "+similar]
		d.Found = "the new " + kind + " " + similar
		d.Fix = "if that took its place, give " + now.what + " its old name: name=" + last(name)
		d.Related = []diag.Related{{Pos: now.pos, Message: "the new " + kind}}
	}
	d.Pos = k.then(name).Pos
	k.found.Add(d)
}

// function reports a method of a consumer whose frozen name is gone.
func (k *check) function(consumer, name string, retired bool, candidates []string) {
	d := diag.Diagnostic{
		Code:    "function-gone",
		Message: "the function " + name + " of " + consumer + " is gone: its dead letters, and the IDs of a saga's commands, are kept under the name",
		Wanted:  "a method of every frozen name that the older release uses", Found: "no function of that name",
		Fix: "give the method that took its place //wow:on name=" + name, See: "on",
	}
	if retired {
		d.Severity, d.Found = diag.Warning, "a name that is marked retired"
		d.Fix = "make sure that it has no dead letters any more"
	} else if similar := pick(name, candidates); similar != "" {
		now := k.places["function "+consumer+" "+similar]
		d.Found = "the new function " + similar
		d.Fix = "if that took its place, give " + now.what + " its old name: //wow:on name=" + name
		d.Related = []diag.Related{{Pos: now.pos, Message: "the new function"}}
	}
	d.Pos = k.then(consumer).Pos
	if line := lineAfter(k.lock, d.Pos.Line, name); line > 0 {
		d.Pos.Line = line
	}
	k.found.Add(d)
}

// changed reports a field that is not what it was.
func (k *check) changed(where, what string, c output.FieldChange, fix string) {
	d := diag.Diagnostic{Code: "field-" + c.Kind, Wanted: c.Field + " " + c.Was, Found: c.Field + " " + c.Is, Fix: fix}
	switch c.Kind {
	case "removed":
		d.Message = what + " has lost the field " + c.Field + ": what was written in it is dropped when it is read"
		d.Found = "no field " + c.Field
	case "retyped":
		d.Message = what + " has another type of field " + c.Field + ": what was written cannot be read, or means something else"
	case "widened":
		d.Severity = diag.Warning
		d.Message = what + " has a wider field " + c.Field + ": the older release cannot read what does not fit"
		d.Fix = "upgrade everything that reads it before a larger value is written"
	}
	name, _, _ := strings.Cut(strings.SplitN(where, " ", 2)[1], " ")
	d.Related = []diag.Related{k.then(name)}
	k.at(where, d)
}

// at adds a diagnostic about something that is declared now.
func (k *check) at(where string, d diag.Diagnostic) {
	d.Pos = k.places[where].pos
	k.found.Add(d)
}

// then is where the older lock file speaks of a name.
func (k *check) then(name string) diag.Related {
	return diag.Related{Pos: schema.Pos{File: k.name, Line: lineAfter(k.lock, 0, name)}, Message: "what the older release knows"}
}

// lineAfter finds the first line after another that has a key.
func lineAfter(data []byte, after int, key string) int {
	quoted := []byte(strconv.Quote(key) + ":")
	for i, line := range bytes.Split(data, []byte("\n")) {
		if i+1 > after && bytes.Contains(line, quoted) {
			return i + 1
		}
	}
	return 0
}

// onlyNew lists the names that the older release did not have, those first
// that look the same.
func onlyNew[V any](now, was map[string]V, same func(V) bool) []string {
	var alike, others []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, old := was[name]; old {
			continue
		}
		if same != nil && same(now[name]) {
			alike = append(alike, name)
		} else {
			others = append(others, name)
		}
	}
	if len(alike) == 1 {
		return alike
	}
	return append(alike, others...)
}

// pick returns the candidate that a name most likely became.
func pick(name string, candidates []string) string {
	if len(candidates) == 1 {
		return candidates[0]
	}
	return schema.Suggest(name, candidates)
}

func sameRevisions(a, b *output.LockEvent) bool {
	return maps.EqualFunc(a.Revisions, b.Revisions, slices.Equal[[]string])
}

func revisions(e *output.LockEvent) string {
	keys := slices.SortedFunc(maps.Keys(e.Revisions), func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return strings.Join(keys, ", ")
}

func highest(e *output.LockEvent) int {
	most := 0
	for r := range e.Revisions {
		most = max(most, number(r))
	}
	return most
}

func next(e *output.LockEvent) string { return strconv.Itoa(highest(e) + 1) }

func number(revision string) int {
	n, err := strconv.Atoi(revision)
	if err != nil {
		return 0 // not a revision that wowgen wrote
	}
	return n
}

// last is the own part of a full name: add_item of shop.cart/add_item.
func last(name string) string { return name[strings.LastIndexAny(name, "/.")+1:] }
