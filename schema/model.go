package schema

// Ref names a Go type by the import path of its package.
type Ref struct {
	Path string
	Name string
}

// Package is what is generated for one package: all names and options decided,
// all lists sorted.
type Package struct {
	Path       string
	Name       string
	Dir        string
	Context    string // the default of its declarations, or ""
	Aggregates []*Aggregate
	Commands   []*Command // declared here, wherever they are decided
	Events     []*Event   // declared here, wherever they come from
	Consumers  []*Consumer
	Written    []*Written
	Interfaces []*HandlerType    // handler types that YAML names and nobody wrote; consumers say it themselves
	Imports    map[string]string // import path to the name that the output may use
	Names      map[string]Pos    // package-level names that the user has
}

// Empty tells whether there is nothing to generate.
func (p *Package) Empty() bool {
	return len(p.Aggregates)+len(p.Commands)+len(p.Events)+len(p.Consumers)+len(p.Written)+len(p.Interfaces) == 0
}

// Aggregate is an aggregate of the package.
type Aggregate struct {
	Context     string
	Name        string
	Type        string
	New         string // function that makes a state, or ""
	NewValue    bool   // it returns T, not *T
	Key         *Key   // the state's own key field, or nil
	Tenant      bool   // every command carries a tenant
	Deleted     string // the state's field that says that it was deleted, or ""
	Snapshot    int    // commits between snapshots; 0 is off
	Fingerprint string // of the state's Go type
	Handlers    []*HandlerType
	Decides     []*Decide
	Applies     []*Apply
	Events      []Ref // all that it returns or applies
	Pos         Pos
}

// FullName is the aggregate's name with its context.
func (a *Aggregate) FullName() string { return a.Context + "." + a.Name }

// Key is a field that holds an identity.
type Key struct {
	Field  string
	Type   Ref  // Path "" and Name "string" for a string
	Method bool // AggregateID() instead of a field
}

// HandlerType is a type that holds command handlers of an aggregate.
type HandlerType struct {
	Type      string
	Pointer   bool // it is passed as *Type
	Interface bool
	Aggregate string // the Go type of the state
	Decides   []*Decide
	Pos       Pos
}

// ResultKind is how a method returns messages.
type ResultKind uint8

// The ways of returning messages.
const (
	One   ResultKind = iota // E
	Maybe                   // *E, nil when it did not happen
	Many                    // []E
	Mixed                   // wow.Events or wow.Commands
)

// Result is one result of a method, apart from the error. The type of a
// wow.Delayed[C] is C, that of a wow.Cancel is no package's.
type Result struct {
	Kind ResultKind
	Type Ref
}

// Typed reports whether the result says which type of message it holds.
func (r *Result) Typed() bool { return r.Kind != Mixed && r.Type.Path != "" }

// Call is how a method is called.
type Call struct {
	Method  string
	Ctx     bool // takes a context first
	Wrapped bool // takes the message with its metadata
	Results []Result
	Err     bool // returns an error last

	Blocking bool
	Pool     string
	Retry    *Retry

	Pos       Pos
	Signature string
	Why       string // how it was recognised, for explain
}

// Retry is how a handler is tried again; zero values are the runtime's.
type Retry struct {
	Max     int
	Backoff string // a duration
	Order   string // aggregate, function or skip
}

// Decide is the handler of one command.
type Decide struct {
	Call
	Command Ref
	On      *HandlerType // nil: a method of the state
	Timeout string       // a duration, or ""
}

// Apply is the method that lets one event happen to a state.
type Apply struct {
	Call
	Event Ref
}

// Mode is what a command asks of its aggregate's existence.
type Mode string

// The modes of commands.
const (
	Create Mode = "create"
	Upsert Mode = "upsert"
	Exists Mode = "exists"
	// Recover is for an aggregate that was deleted.
	Recover Mode = "recover"
)

// Command is a command that the package declares.
type Command struct {
	Type      string
	Name      string
	Context   string
	Aggregate string // its wire name
	Mode      Mode
	Marked    bool // the mode was given
	Key       *Key
	Tenant    *Key // nil: none
	Version   *Key
	Request   *Key
	Timeout   string
	Local     *Aggregate // where that is of this package
	Fields    []LockField
	Pos       Pos
	Why       string
}

// Target is the full name of the command's aggregate.
func (c *Command) Target() string { return c.Context + "." + c.Aggregate }

// Event is an event that the package declares.
type Event struct {
	Type       string
	Name       string
	Revision   int
	Aggregates []string // full names, sorted
	Upcast     string   // the function that makes it the next revision; "" for the newest
	Newest     *Event   // what it becomes; itself for the newest
	Fields     []LockField
	Pos        Pos
	Why        string
}

// LockField is a field of a message as it is on the wire.
type LockField struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// The kinds of consumers.
const (
	Processor  = "processor"
	Projection = "projection"
	Saga       = "saga"
)

// Consumer is a processor, projection or saga.
type Consumer struct {
	Kind       string
	Context    string
	Name       string
	Type       string
	Pointer    bool
	Interface  bool
	Written    bool // YAML names it and nobody wrote it: the interface comes with the output
	Generation int
	Serial     bool
	Loop       string
	Start      string // now, a time as of RFC 3339, or "" for the beginning
	// IgnoreRefused takes a refusal that no function is for as an outcome.
	IgnoreRefused bool
	// Resume and Run are the methods with which a projection keeps its
	// progress itself; both or none.
	Resume, Run string
	Functions   []*Function
	Sends       []Ref
	Pos         Pos
}

// FullName is the consumer's frozen name.
func (c *Consumer) FullName() string { return c.Context + "." + c.Kind + "." + c.Name }

// FunctionKind is what a consumer's method takes.
type FunctionKind uint8

// What consumers' methods take.
const (
	OnEvent FunctionKind = iota
	OnState
	OnRefused
)

// Function is a method of a consumer.
type Function struct {
	Call
	Kind    FunctionKind
	Name    string // frozen
	Message Ref    // the event, state or command
	From    string // the full name of an aggregate, or ""
}

// Written is a type that YAML asks to be written.
type Written struct {
	Type   string
	Doc    string
	Fields []WrittenField
	Pos    Pos
}

// WrittenField is a field of such a type.
type WrittenField struct {
	Name    string
	Type    string // Go source, with the qualifiers of Imports
	Tag     string
	Imports map[string]string // qualifier to import path
}
