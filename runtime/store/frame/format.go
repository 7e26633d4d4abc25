package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wowgen/wow/runtime/store"
)

// Format1 is the format of headers and payloads. Numbers are varints as in
// encoding/binary; a string is its length and its bytes.
//
//	header  = count, then for each entry: tag, length, bytes
//	          tag 1, metadata: a name as string, then its value to the end
//	          Entries with other tags are of newer versions and are passed over.
//	payload = count, then for each event: length, then that many bytes:
//	          flags  what must be known to read the rest; none is defined yet
//	          codec  1 JSON, 2 protobuf
//	          revision
//	          name   as string
//	          key    as string: the ID of the key that data is sealed with, "" for none
//	          data   to the end
//
// Whatever changes how data is read sets a flag, and whoever does not know the
// flag refuses: an old reader fails clearly and never takes sealed bytes for
// an event.
const Format1 = 1

// tagMetadata marks a header entry that is one entry of the metadata.
const tagMetadata = 1

var (
	// ErrCorrupt reports bytes that are not those that were written. Restore
	// them from a backup.
	ErrCorrupt = errors.New("corrupt row")
	// ErrFormat reports a row that a newer version wrote. Upgrade this one.
	ErrFormat = errors.New("row of a newer version")
)

func appendInt(b []byte, n int64) []byte   { return binary.AppendVarint(b, n) }
func appendUint(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }
func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// uintLen is how many bytes appendUint takes.
func uintLen(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func stringLen(s string) int { return uintLen(uint64(len(s))) + len(s) }

// appendHeader writes the metadata sorted by name: equal commits have equal
// bytes.
func appendHeader(b []byte, metadata map[string]string) []byte {
	b = appendUint(b, uint64(len(metadata)))
	if len(metadata) == 0 {
		return b
	}
	var room [16]string
	names := room[:0]
	for name := range metadata {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := metadata[name]
		b = appendUint(b, tagMetadata)
		b = appendUint(b, uint64(stringLen(name)+len(value)))
		b = appendString(b, name)
		b = append(b, value...)
	}
	return b
}

func appendPayload(b []byte, events []store.Event) []byte {
	b = appendUint(b, uint64(len(events)))
	for i := range events {
		e := &events[i]
		revision := uint64(e.Revision)
		size := 1 + uintLen(uint64(e.Codec)) + uintLen(revision) + stringLen(e.Name) + 1 + len(e.Data)
		b = appendUint(b, uint64(size))
		b = append(b, 0) // flags
		b = appendUint(b, uint64(e.Codec))
		b = appendUint(b, revision)
		b = appendString(b, e.Name)
		b = append(b, 0) // no key
		b = append(b, e.Data...)
	}
	return b
}

// parser takes bytes apart. The first fault stays; what follows is empty.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
	}
	p.rest = nil
}

func (p *parser) uint(what string) uint64 {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || size != uintLen(n) {
		p.fail("%s is no number", what)
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

// bytes takes a length and that many bytes.
func (p *parser) bytes(what string) []byte {
	n := p.uint(what)
	if n > uint64(len(p.rest)) {
		p.fail("%s has %d bytes of %d", what, len(p.rest), n)
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

// count takes the number of things that follow, each of at least size bytes.
func (p *parser) count(what string, size int) int {
	n := p.uint("the number of " + what)
	if n > uint64(len(p.rest)/size) {
		p.fail("%d %s in %d bytes", n, what, len(p.rest))
		return 0
	}
	return int(n)
}

func parseHeader(b []byte) (map[string]string, error) {
	p := parser{rest: b}
	n := p.count("header entries", 2)
	var metadata map[string]string
	for range n {
		tag := p.uint("a header tag")
		entry := parser{rest: p.bytes("a header entry")}
		if p.err != nil {
			return nil, p.err
		}
		if tag != tagMetadata {
			continue
		}
		name := entry.bytes("a metadata name")
		if entry.err != nil {
			return nil, entry.err
		}
		if metadata == nil {
			metadata = make(map[string]string, n)
		}
		metadata[string(name)] = string(entry.rest)
	}
	if p.err == nil && len(p.rest) > 0 {
		p.fail("%d bytes behind the header", len(p.rest))
	}
	return metadata, p.err
}

// parsePayload returns the events of a payload. Their names are pieces of
// types, which has them joined.
func parsePayload(b []byte, types string) ([]store.Event, error) {
	p := parser{rest: b}
	n := p.count("events", 6)
	if p.err == nil && n == 0 {
		p.fail("no events")
	}
	if p.err != nil {
		return nil, p.err
	}
	events := make([]store.Event, n)
	for i := range events {
		var known string
		known, types, _ = strings.Cut(types, Separator)
		e := parser{rest: p.bytes("an event")}
		if p.err != nil {
			return nil, p.err
		}
		if flags := e.uint("flags"); flags != 0 && e.err == nil {
			return nil, fmt.Errorf("%w: event %d has the flags %#x, this version knows none", ErrFormat, i, flags)
		}
		codec := e.uint("a codec")
		revision := e.uint("a revision")
		name := e.bytes("a name")
		if key := e.bytes("a key"); len(key) > 0 {
			e.fail("event %d names a key and has no flag that says how it is used", i)
		}
		if codec > 255 || revision > store.MaxRevision {
			e.fail("event %d has codec %d and revision %d", i, codec, revision)
		}
		if e.err == nil && string(name) != known {
			e.fail("event %d is %q in the payload and %q in the list of types", i, name, known)
		}
		if e.err != nil {
			return nil, e.err
		}
		events[i] = store.Event{Name: known, Revision: int(revision), Codec: store.Codec(codec), Data: e.rest}
	}
	if types != "" {
		p.fail("the list of types has more names than the payload events")
	}
	if len(p.rest) > 0 {
		p.fail("%d bytes behind the events", len(p.rest))
	}
	if p.err != nil {
		return nil, p.err
	}
	return events, nil
}
