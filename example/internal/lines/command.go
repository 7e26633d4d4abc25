package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wowgen/wow"
)

// Command is one parsed line.
type Command struct {
	Body    wow.Sendable
	Request string // "" if none
	Version int64  // that the aggregate is expected at; 0 for any
}

// envelope is the form of a line.
type envelope struct {
	Command string          `json:"command"`
	ID      string          `json:"id"`
	Body    json.RawMessage `json:"body"`
	Request string          `json:"request"`
	Version int64           `json:"version"`
}

// parse reads a line. The ID is returned as far as it is known, also with an
// error.
func (d *Driver) parse(l line) (id string, c Command, err error) {
	switch {
	case l.long:
		return "", c, invalid("the line is longer than %d bytes", MaxLine)
	case !utf8.Valid(l.text):
		return "", c, invalid("the line is not UTF-8: byte %d is %#x", badByte(l.text)+1, l.text[badByte(l.text)])
	}
	var e envelope
	if err := strict(l.text, &e); err != nil {
		return e.ID, c, fmt.Errorf("reading the line: %w: %w", err, wow.ErrInvalid)
	}
	switch {
	case e.Command == "":
		return e.ID, c, invalid(`"command" is missing: name one of %s`, strings.Join(d.names(), ", "))
	case e.ID == "":
		return "", c, invalid(`"id" is missing: say which aggregate does it`)
	case e.Version < 0:
		return e.ID, c, invalid(`"version" is %d: the first is 1`, e.Version)
	}
	t, err := d.find(e.Command)
	if err != nil {
		return e.ID, c, err
	}
	if len(e.Body) == 0 {
		e.Body = []byte("{}")
	}
	body, err := t.Decode(strict, e.ID, e.Body)
	if err != nil {
		return e.ID, c, fmt.Errorf("reading the body of %s: %w: %w", e.Command, err, wow.ErrInvalid)
	}
	if key := body.WowTarget().ID; key != e.ID {
		return e.ID, c, invalid(`"id" is %q and the body says %q: leave it out of the body`, e.ID, key)
	}
	return e.ID, Command{Body: body, Request: e.Request, Version: e.Version}, nil
}

// find returns the type of a command by its name, which may be qualified:
// add_item, cart.add_item or shop.cart.add_item.
func (d *Driver) find(name string) (*wow.CommandType, error) {
	var found []*wow.CommandType
	for _, t := range d.Commands {
		if full := t.Aggregate + "." + t.Name; full == name || strings.HasSuffix(full, "."+name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("there is no command %q, only %s: %w", name, strings.Join(d.names(), ", "), wow.ErrUnknownType)
	}
	var full []string
	for _, t := range found {
		full = append(full, t.Aggregate+"."+t.Name)
	}
	return nil, fmt.Errorf("several commands are called %q: name one of %s: %w", name, strings.Join(full, ", "), wow.ErrUnknownType)
}

// names lists the commands, qualified where the short name is taken twice.
func (d *Driver) names() []string {
	count := map[string]int{}
	for _, t := range d.Commands {
		count[t.Name]++
	}
	var names []string
	for _, t := range d.Commands {
		if count[t.Name] > 1 {
			names = append(names, t.Aggregate+"."+t.Name)
		} else {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// strict is json.Unmarshal that refuses unknown fields and tells people, not
// programmers, what is wrong.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return fmt.Errorf("something follows the JSON value, from byte %d", d.InputOffset()+1)
		}
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d: %s", syntax.Offset, syntax)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("field %q: got %s, want %s", kind.Field, kind.Value, kind.Type)
	case errors.As(err, &kind):
		return fmt.Errorf("got %s, want an object", kind.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, wow.ErrInvalid)...)
}

// badByte is the index of the first byte that is not UTF-8.
func badByte(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
