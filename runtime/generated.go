package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/wowgen/wow"
)

// What generated code is written against. Everything here is plain data and
// plain functions: the switch over message types is the only part of a
// dispatcher that has to be generated.

// Format1 is the format of the generated files that this runtime understands.
//
// A generated file uses the constant of its format as a number. A runtime that
// no longer understands a format keeps its constant as an untyped string, of at
// most 70 bytes, which the compiler prints: what to run. The constants of later
// formats are called Format2OrUpgradeWow and so on, because the compiler prints
// the name when a runtime is too old to have it.
const Format1 uint = 1

// Command is one command on its way through a mailbox.
type Command struct {
	wow.CommandMeta
	Body wow.Sendable

	// waits are the stages behind PROCESSED that the sender asked for.
	waits []waitSpec
	// unattended has Send return once the command is admitted.
	unattended bool
}

// Unhandled is the error of a dispatcher that does not know a command.
func Unhandled(in *Command) error {
	return fmt.Errorf("%s has no handler for %T: %w", in.Target.Aggregate, in.Body, wow.ErrUnknownType)
}

// Decision takes what a command handler decides.
type Decision struct {
	events []wow.DomainEvent
	work   offload
}

// Add notes that events happen, in order. None at all is a no-op that
// remembers its request. It is not inlined: generated code calls it once for
// each handler, and would take the compiler an eighth longer.
//
//go:noinline
func (d *Decision) Add(events ...wow.DomainEvent) { d.events = append(d.events, events...) }

// Offload has f, which may block, run on a pool of its own ("" is the shared
// one). The mailbox stays claimed until f returned.
func (d *Decision) Offload(pool string, f func(context.Context) error) error {
	d.work = offload{pool, f}
	return nil
}

// offload is work that a handler declared blocking.
type offload struct {
	pool string
	run  func(context.Context) error
}

// Recorded is one stored event on its way through a consumer's mailbox.
type Recorded struct {
	wow.EventMeta
	Event wow.DomainEvent
}

// StateRecorded is one stored commit with the state after it.
type StateRecorded struct {
	wow.CommitMeta
	State  wow.State
	Events wow.Events
}

// RefusedCommand is a saga's own command that was refused.
type RefusedCommand struct {
	Target wow.Target
	Body   wow.Sendable
	Reason *wow.Refusal
	Cause  wow.EventMeta
}

// Reaction takes what an event handler wants besides its return value.
type Reaction struct {
	work offload
}

// Offload has f, which may block, run on a pool of its own, as for Decision.
func (r *Reaction) Offload(pool string, f func(context.Context) error) error {
	r.work = offload{pool, f}
	return nil
}

// Outbox takes the commands that a saga method returns.
type Outbox struct {
	Reaction
	commands []wow.Sendable
}

// Send notes that commands are to be sent, in order, once the method returned.
// It is not inlined, like Add.
//
//go:noinline
func (o *Outbox) Send(commands ...wow.Sendable) { o.commands = append(o.commands, commands...) }

// Aggregate is what a runtime needs to decide the commands of one aggregate.
type Aggregate struct {
	State    *wow.StateType
	Commands []CommandHandler
	Decide   func(ctx context.Context, s wow.State, in *Command, out *Decision) error
	Missing  bool // Register was given nil for a value whose methods decide: a fault of Start
}

// CommandHandler describes the handler of one type of command.
type CommandHandler struct {
	Command  *wow.CommandType
	Blocking bool
	Pool     string // of a blocking handler; "" is the shared one
	Timeout  time.Duration
	Retry    Retry
}

// Retry says how often and how far apart something is tried again. Its zero
// value is the runtime's default.
type Retry struct {
	Max     int           // tries after the first
	Backoff time.Duration // before the first retry; it doubles, with jitter, up to a cap
	Order   Order
}

// Order says what waits for a parked message.
type Order uint8

const (
	OrderAggregate Order = iota // all later messages of its aggregate, for this consumer
	OrderFunction               // later messages of its aggregate for the same function
	OrderSkip                   // none
)

// Function describes one method of a consumer. Exactly one of Event, State and
// Refused is set.
type Function struct {
	Name     string // frozen: it keys dead letters and the IDs of a saga's commands
	Event    *wow.EventType
	State    *wow.StateType
	Refused  *wow.CommandType
	From     string // only events of this aggregate; "" is each that the event comes from
	Blocking bool
	Pool     string
	Retry    Retry
}

// Processor is what a runtime needs to run a processor of events and states.
type Processor struct {
	Name      string // frozen: "shop.processor.receipts"
	Start     Start  // where it begins when it is new; the zero value is the beginning
	Functions []Function
	OnEvent   func(ctx context.Context, in *Recorded, out *Reaction) error
	OnState   func(ctx context.Context, in *StateRecorded, out *Reaction) error
	Missing   bool // Register was given nil: a fault of Start
}

// Projection is what a runtime needs to keep a projection.
type Projection struct {
	Name       string // frozen: "shop.projection.cart_view"
	Generation int    // from 1; 0 is 1
	Serial     bool   // all of it in order, not only each aggregate
	Start      Start  // where it begins when it is new; the zero value is the beginning
	Functions  []Function
	OnEvent    func(ctx context.Context, in *Recorded, out *Reaction) error
	OnState    func(ctx context.Context, in *StateRecorded, out *Reaction) error
	Missing    bool // Register was given nil: a fault of Start

	// Transaction, if set, lets the projection keep its progress where it keeps
	// its rows, so that each commit takes effect there once. It makes the
	// projection serial.
	Transaction *Transaction
}

// Start says where in the history a consumer begins that is new.
type Start struct {
	now bool
	at  int64 // microseconds UTC; 0: the beginning
}

// StartNow is behind the last commit.
func StartNow() Start { return Start{now: true} }

// StartAt is with the first commit that was stored at a time or later, as of RFC
// 3339. wowgen has checked it; it panics for anything else.
func StartAt(text string) Start {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return Start{at: max(1, t.UnixMicro())}
}

// Transaction is how a projection stores its progress itself.
type Transaction struct {
	// Resume returns the position of a shard that the last Run stored; sequence
	// 0 if there was none.
	Resume func(ctx context.Context, shard int32) (wow.Position, error)
	// Run begins a transaction, calls handle with a context that carries it to
	// the projection's methods, stores done, and commits. When handle or
	// anything else fails, it undoes all and returns the error.
	Run func(ctx context.Context, done wow.Position, handle func(ctx context.Context) error) error
}

// Saga is what a runtime needs to run a stateless saga.
type Saga struct {
	Name      string // frozen: "shop.saga.checkout"
	Start     Start  // where it begins when it is new; the zero value is the beginning
	Functions []Function
	Sends     []*wow.CommandType // each needs somebody who decides it
	// IgnoreRefused takes the refusal of a command that no function is for as
	// an outcome like any other; else it parks the message.
	IgnoreRefused bool
	OnEvent       func(ctx context.Context, in *Recorded, out *Outbox) error
	OnState       func(ctx context.Context, in *StateRecorded, out *Outbox) error
	OnRefused     func(ctx context.Context, in *RefusedCommand, out *Outbox) error
	Missing       bool // Register was given nil: a fault of Start
}
