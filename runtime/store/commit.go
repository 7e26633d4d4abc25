package store

import "github.com/wowgen/wow"

// Commit is what one command appended to one aggregate: one or more events and
// one new version.
type Commit struct {
	Position    wow.Position // assigned by the store
	StoredAt    int64        // assigned by the store: microseconds UTC, monotone with the position
	Target      wow.Target
	Version     int64  // from 1, without gaps
	ID          string // a UUIDv7, given by who decided it
	Request     string // idempotency key, "" if there is none
	Correlation string
	Causation   string
	DecidedAt   int64 // microseconds UTC, never before the aggregate's last
	Metadata    map[string]string
	Events      []Event
}

// Event is an encoded event.
type Event struct {
	Name     string // on the wire, "item_added"
	Revision int
	Codec    Codec
	Data     []byte
}

// Codec says how bytes were encoded. It is stored with each event, so a
// history may hold several.
type Codec uint8

const (
	JSON     Codec = 1
	Protobuf Codec = 2
)

// Outcome returns the commit as what its request came to.
func (c *Commit) Outcome() *Outcome {
	return &Outcome{
		Kind:     Committed,
		Request:  c.Request,
		Version:  c.Version,
		Position: c.Position,
		Commit:   c.ID,
		At:       c.DecidedAt,
	}
}
