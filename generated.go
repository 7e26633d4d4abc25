package wow

// What generated code implements and describes. Nothing here is written by
// hand: the compiler uses it to tell commands, events and states from other
// structs in every package, without a registry.

// Sendable is a command. Only generated code implements it.
type Sendable interface {
	WowCommand() *CommandType
	WowTarget() Target
}

// DomainEvent is an event. Only generated code implements it.
type DomainEvent interface {
	WowEvent() *EventType
}

// State is the state of an aggregate, a pointer. Only generated code
// implements it.
type State interface {
	WowState() *StateType
}

// Requested is a command with a field tagged `wow:"request"`.
type Requested interface{ WowRequest() string }

// Versioned is a command with a field tagged `wow:"version"`.
type Versioned interface{ WowExpected() int64 }

// Unmarshal decodes data into the value that into points to, as json.Unmarshal
// does.
type Unmarshal func(data []byte, into any) error

// Mode says what a command asks of its aggregate.
type Mode uint8

const (
	Exists  Mode = iota // the aggregate must exist
	Upsert              // it is created when it does not exist
	Create              // it must not exist
	Recover             // it must have been deleted
)

// String returns the word that declares the mode.
func (m Mode) String() string { return [...]string{"exists", "upsert", "create", "recover"}[m%4] }

// CommandType describes a type of command.
type CommandType struct {
	Aggregate string // "shop.cart"
	Name      string // on the wire, unique in its aggregate: "add_item"
	Mode      Mode
	// Decode decodes a command. A key that came apart from the body goes into
	// the key field when that is empty.
	Decode func(decode Unmarshal, key string, body []byte) (Sendable, error)
}

// EventType describes a type of event.
type EventType struct {
	Aggregates []string // those whose commands it comes from, sorted
	Name       string   // on the wire, unique in its aggregate: "item_added"
	Revision   int      // from 1
	Decode     func(decode Unmarshal, data []byte) (DomainEvent, error)
	// Older are earlier revisions that may be stored. Their Decode reads the
	// old shape and returns the event as it is now.
	Older []*EventType
}

// StateType describes the state of an aggregate.
type StateType struct {
	Aggregate string // "shop.cart"
	Revision  string // fingerprint of the Go type: a snapshot of another one is not used
	Snapshot  int    // a snapshot every so many versions; 0: none
	Tenant    bool   // every target needs a tenant
	Events    []*EventType
	New       func(t Target) State
	Decode    func(decode Unmarshal, data []byte) (State, error)
	// Apply lets e happen to s. It reports false for an event it does not know.
	Apply func(s State, e DomainEvent, m *EventMeta) bool
	// Deleted reports whether s says that it was deleted: only a command of mode
	// Recover is decided then. Nil: such a state cannot be deleted.
	Deleted func(s State) bool
}

// IsDeleted reports whether a state of this type says that it was deleted.
func (t *StateType) IsDeleted(s State) bool { return t.Deleted != nil && t.Deleted(s) }
