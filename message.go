package wow

import (
	"strconv"
	"time"
)

// Command is a command with what is known about its sending. A handler that
// needs only the command takes the plain C instead.
type Command[C any] struct {
	CommandMeta
	Data C
}

// CommandMeta is what is known about a command besides its own fields.
type CommandMeta struct {
	Target      Target
	Request     string            // idempotency key, unique per aggregate; "" if the sender gave none
	Expected    int64             // version the sender expects; 0 if any
	Time        time.Time         // when the decision is made, UTC, microseconds
	Correlation string            // the conversation this belongs to
	Causation   string            // the command or event that led to it
	Metadata    map[string]string // read only
}

// Event is an event with where and when it happened. A handler that needs
// only the event takes the plain E instead.
type Event[E any] struct {
	EventMeta
	Data E
}

// CommitMeta is what is known about a commit: what one command appended to one
// aggregate, one or more events and one new version.
type CommitMeta struct {
	Target      Target
	Version     int64    // of the aggregate after this commit; the first is 1
	Position    Position // zero while the event is applied before it is stored
	Commit      string   // ID of the commit, a UUIDv7
	Time        time.Time
	Request     string
	Correlation string
	Causation   string
	Metadata    map[string]string // read only
}

// EventMeta is what is known about an event besides its own fields.
type EventMeta struct {
	CommitMeta
	Index int // of the event in its commit, from 0
}

// ID returns the event's identity, "commit/index".
func (m EventMeta) ID() string { return m.Commit + "/" + strconv.Itoa(m.Index) }

// StateEvent is a commit together with the aggregate's state after it. State
// is the receiver's own copy, valid during the call.
type StateEvent[S any] struct {
	CommitMeta
	State  *S
	Events Events
}

// Refused tells a saga that a command it sent was refused by its aggregate.
type Refused[C any] struct {
	Data   C         // the command
	Target Target    // who refused it
	Reason *Refusal  // why
	Cause  EventMeta // the event that made the saga send it
}

// Events is a list of events of different types, in the order they happened.
type Events []DomainEvent

// Commands is a list of commands of different types.
type Commands []Sendable
