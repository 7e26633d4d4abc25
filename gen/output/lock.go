package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/wowgen/wow/schema"
)

// ErrFormat reports a lock file that another wowgen wrote.
var ErrFormat = errors.New("format")

// LockFormat is the version of wow.lock.json.
const LockFormat = 1

// Lock is wow.lock.json: the wire facts of everything that was ever generated
// for a package. What is stored somewhere under a name must stay readable
// under it, so a name that vanishes is a mistake until it is marked retired.
type Lock struct {
	Format     int                       `json:"format"`
	Aggregates map[string]*LockAggregate `json:"aggregates,omitempty"`
	Commands   map[string]*LockCommand   `json:"commands,omitempty"`
	Events     map[string]*LockEvent     `json:"events,omitempty"`
	Consumers  map[string]*LockConsumer  `json:"consumers,omitempty"`
}

// LockAggregate is an aggregate, by its full name.
type LockAggregate struct {
	State   string `json:"state"` // fingerprint
	Retired bool   `json:"retired,omitempty"`
}

// LockCommand is a command, by its aggregate's full name, a slash and its name.
type LockCommand struct {
	Fields  []string `json:"fields"`
	Retired bool     `json:"retired,omitempty"`
}

// LockEvent is an event, by its aggregate's full name, a slash and its name.
type LockEvent struct {
	Revisions map[string][]string `json:"revisions"` // fields by revision
	Retired   bool                `json:"retired,omitempty"`
}

// LockConsumer is a consumer, by its full name.
type LockConsumer struct {
	Functions map[string]LockFunction `json:"functions"`
	Retired   bool                    `json:"retired,omitempty"`
}

// LockFunction is a consumer's function, by its name.
type LockFunction struct {
	Retired bool `json:"retired,omitempty"`
}

// ParseLock reads a lock file; nil data is an empty one.
func ParseLock(data []byte) (*Lock, error) {
	l := &Lock{}
	if data == nil {
		return l, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		return nil, err
	}
	if l.Format != LockFormat {
		return nil, fmt.Errorf("%w %d, and this wowgen knows %d", ErrFormat, l.Format, LockFormat)
	}
	switch {
	case hasNull(l.Aggregates):
		return nil, errors.New("an aggregate is null")
	case hasNull(l.Commands):
		return nil, errors.New("a command is null")
	case hasNull(l.Events):
		return nil, errors.New("an event is null")
	case hasNull(l.Consumers):
		return nil, errors.New("a consumer is null")
	}
	return l, nil
}

func hasNull[T any](entries map[string]*T) bool {
	for _, e := range entries {
		if e == nil {
			return true
		}
	}
	return false
}

// Bytes renders the lock, sorted.
func (l *Lock) Bytes() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(l)
	return b.Bytes(), err
}

// LockOf returns the wire facts that a package declares now.
func LockOf(p *schema.Package) *Lock {
	l := &Lock{
		Format: LockFormat, Aggregates: map[string]*LockAggregate{}, Commands: map[string]*LockCommand{},
		Events: map[string]*LockEvent{}, Consumers: map[string]*LockConsumer{},
	}
	for _, a := range p.Aggregates {
		l.Aggregates[a.FullName()] = &LockAggregate{State: a.Fingerprint}
	}
	for _, c := range p.Commands {
		l.Commands[c.Target()+"/"+c.Name] = &LockCommand{Fields: FieldList(c.Fields)}
	}
	for _, e := range p.Events {
		for _, from := range e.Aggregates {
			key := from + "/" + e.Name
			if l.Events[key] == nil {
				l.Events[key] = &LockEvent{Revisions: map[string][]string{}}
			}
			l.Events[key].Revisions[strconv.Itoa(e.Revision)] = FieldList(e.Fields)
		}
	}
	for _, c := range p.Consumers {
		functions := map[string]LockFunction{}
		for _, f := range c.Functions {
			functions[f.Name] = LockFunction{}
		}
		l.Consumers[c.FullName()] = &LockConsumer{Functions: functions}
	}
	return l
}

// FieldList is how a lock file describes fields: "Qty int".
func FieldList(fields []schema.LockField) []string {
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, f.Name+" "+f.Type)
	}
	return out
}

// Empty tells whether nothing was ever generated.
func (l *Lock) Empty() bool {
	return len(l.Aggregates)+len(l.Commands)+len(l.Events)+len(l.Consumers) == 0
}

// Gone is a name that the lock knows and nobody declares any more.
type Gone struct {
	Kind string // aggregate, command, event, revision, consumer, function
	Name string
	Key  string // what to look for in the file
}

// Merge adds what now declares to what was, and reports what has vanished.
// elsewhere tells whether a name is declared by another package now.
func (l *Lock) Merge(now *Lock, elsewhere func(kind, name string) bool) (*Lock, []Gone) {
	out := &Lock{Format: LockFormat, Aggregates: now.Aggregates, Commands: now.Commands, Events: now.Events, Consumers: now.Consumers}
	var gone []Gone
	vanished := func(kind, name, key string, retired bool) bool {
		if elsewhere(kind, name) {
			return false // it has moved, and is locked there
		}
		if !retired {
			gone = append(gone, Gone{kind, name, key})
		}
		return true
	}
	for name, a := range l.Aggregates {
		if out.Aggregates[name] == nil && vanished("aggregate", name, name, a.Retired) {
			out.Aggregates[name] = a
		}
	}
	for name, c := range l.Commands {
		if out.Commands[name] == nil && vanished("command", name, name, c.Retired) {
			out.Commands[name] = c
		}
	}
	for name, e := range l.Events {
		current := out.Events[name]
		if current == nil {
			if vanished("event", name, name, e.Retired) {
				out.Events[name] = e
			}
			continue
		}
		for revision := range e.Revisions {
			if _, ok := current.Revisions[revision]; !ok {
				gone = append(gone, Gone{"revision", name + " revision " + revision, name})
			}
		}
	}
	for name, c := range l.Consumers {
		current := out.Consumers[name]
		if current == nil {
			if vanished("consumer", name, name, c.Retired) {
				out.Consumers[name] = c
			}
			continue
		}
		for f, old := range c.Functions {
			if _, ok := current.Functions[f]; !ok {
				if !old.Retired {
					gone = append(gone, Gone{"function", f + " of " + name, f})
				}
				current.Functions[f] = old
			}
		}
	}
	sort.Slice(gone, func(i, j int) bool {
		return slices.Compare([]string{gone[i].Kind, gone[i].Name}, []string{gone[j].Kind, gone[j].Name}) < 0
	})
	return out, gone
}
