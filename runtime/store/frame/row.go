// Package frame is how the stores of this project lay a commit out in bytes:
// the header, the payload and the checksum of a row. What it writes is read
// for as long as a history lives, so the golden tests beside it may gain lines
// and never change one.
//
// A store keeps a Row in columns of its own and need not look inside.
package frame

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Row is a commit as a database keeps it: one row per commit.
type Row struct {
	Seq      int64 // assigned by the store, as is StoredAt
	StoredAt int64

	Shard       int32
	Target      wow.Target
	Version     int64
	Commit      string
	Request     string
	Correlation string
	Causation   string
	DecidedAt   int64
	Types       string // the events' names, with Separator between them, for readers that filter
	Format      uint8  // of header and payload
	Header      []byte
	Payload     []byte
	Sum         uint32 // CRC-32C of all but Seq and StoredAt

	scratch []byte // of Decode, for whoever fills one Row again and again
}

// Separator stands between the names in Types. No name may contain it.
const Separator = "\n"

// Error reports a row that cannot be read. Where it is ErrCorrupt, the bytes
// are not those that were written.
type Error struct {
	Position wow.Position
	Target   wow.Target
	Version  int64
	Err      error
}

func (e *Error) Error() string {
	return fmt.Sprintf("store: reading position %s (%s version %d): %v", e.Position, e.Target, e.Version, e.Err)
}

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the row of a commit; Seq and StoredAt are left to the store.
// Header and Payload lie behind what buf holds, and the grown buffer comes
// back too, so that a batch needs one allocation.
func Encode(c *store.Commit, shard int32, buf []byte) (Row, []byte) {
	r := Row{
		Shard:       shard,
		Target:      c.Target,
		Version:     c.Version,
		Commit:      c.ID,
		Request:     c.Request,
		Correlation: c.Correlation,
		Causation:   c.Causation,
		DecidedAt:   c.DecidedAt,
		Types:       types(c.Events),
		Format:      Format1,
	}
	start := len(buf)
	buf = appendHeader(buf, c.Metadata)
	split := len(buf)
	buf = appendPayload(buf, c.Events)
	end := len(buf)
	r.Header, r.Payload = buf[start:split:split], buf[split:end:end]
	r.Sum, buf = r.sum(buf)
	return r, buf[:end]
}

// Decode returns the commit of a row. The data of its events lie in Payload.
func (r *Row) Decode() (*store.Commit, error) {
	c, err := r.decode()
	if err != nil {
		return nil, &Error{Position: r.position(), Target: r.Target, Version: r.Version, Err: err}
	}
	return c, nil
}

func (r *Row) decode() (*store.Commit, error) {
	if r.Format != Format1 {
		return nil, fmt.Errorf("%w: format %d, this version knows %d", ErrFormat, r.Format, Format1)
	}
	var sum uint32
	if sum, r.scratch = r.sum(r.scratch[:0]); sum != r.Sum {
		return nil, fmt.Errorf("%w: its checksum is %08x, stored is %08x", ErrCorrupt, sum, r.Sum)
	}
	metadata, err := parseHeader(r.Header)
	if err != nil {
		return nil, err
	}
	events, err := parsePayload(r.Payload, r.Types)
	if err != nil {
		return nil, err
	}
	return &store.Commit{
		Position:    r.position(),
		StoredAt:    r.StoredAt,
		Target:      r.Target,
		Version:     r.Version,
		ID:          r.Commit,
		Request:     r.Request,
		Correlation: r.Correlation,
		Causation:   r.Causation,
		DecidedAt:   r.DecidedAt,
		Metadata:    metadata,
		Events:      events,
	}, nil
}

func (r *Row) position() wow.Position { return wow.Position{Shard: r.Shard, Seq: r.Seq} }

// sum returns the checksum of a row. The fields that are not in one slice are
// written behind buf, each with its length before it: no two rows give the
// same bytes.
func (r *Row) sum(buf []byte) (uint32, []byte) {
	start := len(buf)
	buf = append(buf, r.Format)
	buf = appendInt(buf, int64(r.Shard))
	buf = appendString(buf, r.Target.Tenant)
	buf = appendString(buf, r.Target.Aggregate)
	buf = appendString(buf, r.Target.ID)
	buf = appendInt(buf, r.Version)
	buf = appendString(buf, r.Commit)
	buf = appendString(buf, r.Request)
	buf = appendString(buf, r.Correlation)
	buf = appendString(buf, r.Causation)
	buf = appendInt(buf, r.DecidedAt)
	buf = appendString(buf, r.Types)
	buf = appendUint(buf, uint64(len(r.Header)))
	buf = appendUint(buf, uint64(len(r.Payload)))
	sum := crc32.Update(0, castagnoli, buf[start:])
	sum = crc32.Update(sum, castagnoli, r.Header)
	return crc32.Update(sum, castagnoli, r.Payload), buf
}

// types joins the names of events. One event, the usual case, costs nothing.
func types(events []store.Event) string {
	if len(events) == 1 {
		return events[0].Name
	}
	var b strings.Builder
	n := len(events) - 1
	for i := range events {
		n += len(events[i].Name)
	}
	b.Grow(n)
	for i := range events {
		if i > 0 {
			b.WriteString(Separator)
		}
		b.WriteString(events[i].Name)
	}
	return b.String()
}
