package schema

// MaxRevision bounds revisions and generations: a typing slip of more digits is found.
const MaxRevision = 9999

// Directives is everything that can be declared. It is the one definition of
// the grammar: readers of both inputs, suggestions, reference pages and the
// JSON Schema are made from it.
var Directives = []Directive{
	{
		Name: "context", On: OnPackage,
		Positional: &Arg{Name: "name", Kind: Wire, Summary: "the context's wire name"},
		Summary:    "the bounded context of everything in the package that names none",
		Doc:        "A context is the outer part of every wire name and owns one receiver of commands. An aggregate or consumer may name another with context=.",
		Example:    "//wow:context shop\npackage shop",
	},
	{
		Name: "aggregate", On: OnType,
		Summary: "makes a type the state of an aggregate",
		Doc:     "Methods of the state that take a command decide, methods on its pointer that take an event apply it. Decisions must not change the state; applying must not fail. A field tagged `wow:\"key\"` holds the aggregate's ID, from its first command on. A bool field tagged `wow:\"deleted\"` says that the aggregate was deleted: an event sets it, and from then on only a command marked recover is decided.",
		Args: []Arg{
			{Name: "name", Kind: Wire, Default: "the type's name in snake case", Summary: "the wire name, frozen once something is stored"},
			{Name: "context", Kind: Wire, Default: "the package's context", Summary: "the bounded context"},
			{Name: "new", Kind: Ident, Default: "the zero value", Summary: "a function of the package that makes an empty state: func() *T or func() T"},
			{Name: "tenant", Kind: Enum, Values: []string{"none", "required"}, Default: "tenants are optional", Summary: "whether commands carry a tenant"},
			{Name: "snapshot", Kind: Snapshot, Default: "off", Summary: "store the state every N commits"},
		},
		Example: "//wow:aggregate name=cart context=shop snapshot=every:100\ntype Cart struct {\n\tID string `wow:\"key\"`\n}",
	},
	{
		Name: "handler", On: OnType,
		Summary: "makes a type hold command handlers of an aggregate",
		Doc:     "For handlers that need something: a price service, a clock. The user builds the value and hands it to Register. Its methods take the state, then the command.",
		Args: []Arg{
			{Name: "aggregate", Kind: WireRef, Default: "the package's only aggregate", Summary: "the aggregate, which is declared in the same package"},
		},
		Example: "//wow:handler aggregate=cart\ntype CartHandlers struct{ Prices PriceService }",
	},
	{
		Name: "command", On: OnType,
		Summary: "makes a struct a command, or says more about one",
		Doc:     "A struct with a field tagged `wow:\"key\"` is a command already. Once a command of an aggregate is marked create, its unmarked ones need the aggregate to exist; with none marked, all are upsert.",
		Args: []Arg{
			{Name: "create", Kind: Flag, Group: "mode", Summary: "the aggregate must not exist yet"},
			{Name: "upsert", Kind: Flag, Group: "mode", Summary: "the aggregate may exist or not"},
			{Name: "exists", Kind: Flag, Group: "mode", Summary: "the aggregate must exist"},
			{Name: "recover", Kind: Flag, Group: "mode", Summary: "the aggregate must have been deleted"},
			{Name: "name", Kind: Wire, Default: "the type's name in snake case", Summary: "the wire name"},
			{Name: "aggregate", Kind: Wire, Default: "the one that handles it in this package", Summary: "the aggregate, where that is declared in another package"},
			{Name: "context", Kind: Wire, Default: "the aggregate's context", Summary: "the aggregate's context, where that is declared in another package"},
			{Name: "key", Kind: Ident, Default: "the field tagged key", Summary: "the field that holds the target's ID"},
			{Name: "timeout", Kind: Duration, Default: "the runtime's", Summary: "how long a decision may take"},
		},
		Example: "//wow:command create\ntype OpenAccount struct {\n\tAccountID string `wow:\"key\"`\n}",
	},
	{
		Name: "event", On: OnType,
		Summary: "makes a struct an event, or says more about one",
		Doc:     "A struct that a command handler returns is an event already. Raise the revision when stored events of the old shape need an upcaster.",
		Args: []Arg{
			{Name: "name", Kind: Wire, Default: "the type's name in snake case", Summary: "the wire name, frozen once an event is stored"},
			{Name: "revision", Kind: Count, Max: MaxRevision, Default: "1", Summary: "the revision of its shape"},
			{Name: "aggregate", Kind: WireRef, Default: "those that return or apply it", Summary: "the aggregate, where that is declared in another package"},
		},
		Example: "//wow:event revision=2\ntype OrderPlaced struct{ Lines int }",
	},
	{
		Name: "processor", On: OnType,
		Summary: "makes a type react to events with side effects",
		Doc:     "Its methods take one event each, or a state event. Each event is handled at least once.",
		Args:    consumerArgs(),
		Example: "//wow:processor name=receipts context=shop\ntype Receipts struct{ Dir string }",
	},
	{
		Name: "projection", On: OnType,
		Summary: "makes a type build a view from events",
		Doc:     "Like a processor, but its view can be rebuilt: a higher generation replays history beside the live one and takes over when it has caught up. A view in a database can keep its progress there, so that each commit takes effect once: give it the methods Resume(ctx context.Context, shard int32) (wow.Position, error) and Run(ctx context.Context, done wow.Position, handle func(context.Context) error) error.",
		Args:    consumerArgs("generation", "serial"),
		Example: "//wow:projection name=cart_view context=shop\ntype CartView struct{ db *sql.DB }",
	},
	{
		Name: "saga", On: OnType,
		Summary: "makes a type answer events with commands",
		Doc:     "Its methods return commands, which are sent with IDs that derive from the event, so that each takes effect once. A method that takes wow.Refused[C] hears that a command of its own was refused.",
		Args:    consumerArgs("refused", "loop"),
		Example: "//wow:saga name=checkout context=shop\ntype Checkout struct{}",
	},
	{
		Name: "on", On: OnMethod,
		Summary: "says more about a consumer's method",
		Doc:     "The name keys dead letters and the IDs of a saga's commands: give it before renaming the method.",
		Args: []Arg{
			{Name: "name", Kind: Wire, Default: "the method's name in snake case", Summary: "the frozen name of the function"},
			{Name: "from", Kind: WireRef, Default: "all that share the event", Summary: "the aggregate whose events it takes, where several share the type"},
		},
		Example: "//wow:on name=reserve from=order\nfunc (Stock) OnOrderPlaced(e OrderPlaced) error",
	},
	{
		Name: "blocking", On: OnMethod | OnType,
		Summary: "runs a handler on the offload pool, because it waits for something",
		Doc:     "On a type it counts for all its handlers. A handler that blocks without it holds a worker.",
		Args: []Arg{
			{Name: "pool", Kind: Word, Default: "the runtime's default pool", Summary: "the pool's name in the runtime's configuration"},
		},
		Example: "//wow:blocking pool=db\nfunc (v *CartView) OnItemAdded(ctx context.Context, e ItemAdded) error",
	},
	{
		Name: "retry", On: OnMethod | OnType,
		Summary: "says how often a failing handler is tried, and what waits meanwhile",
		Doc:     "On a type it counts for all its handlers; on a method it replaces the type's.",
		Args: []Arg{
			{Name: "max", Kind: Count, Max: 1000, Default: "the runtime's", Summary: "attempts after the first"},
			{Name: "backoff", Kind: Duration, Default: "the runtime's", Summary: "the first wait; it doubles, with jitter, up to a cap"},
			{Name: "order", Kind: Enum, Values: []string{"aggregate", "function", "skip"}, Default: "aggregate", Summary: "what is parked behind a message that keeps failing: all of its aggregate, the function's, or nothing"},
		},
		Example: "//wow:retry max=5 backoff=10ms order=function\nfunc (m *Mailer) OnOrderPlaced(ctx context.Context, e OrderPlaced) error",
	},
	{
		Name: "ignore", On: OnMethod, Text: true,
		Summary: "says that a method which looks like a handler is none",
		Doc:     "The rest of the line says why.",
		Example: "//wow:ignore a question, not a decision\nfunc (c *Cart) Holds(e ItemAdded) bool",
	},
	{
		Name: "upcast", On: OnFunc,
		Summary: "turns a stored event of an older revision into the next one",
		Doc:     "The function takes the old struct and returns the new one; both are events of one wire name whose revisions follow each other.",
		Example: "//wow:upcast\nfunc upcastOrderPlaced(old OrderPlacedV1) OrderPlaced",
	},
}

// consumerArgs are what the three kinds of consumers take: all of them the
// name and the context, each the extras that mean something to it.
func consumerArgs(extras ...string) []Arg {
	args := []Arg{
		{Name: "name", Kind: Wire, Default: "the type's name in snake case", Summary: "the wire name, frozen: it keys checkpoints and dead letters"},
		{Name: "context", Kind: Wire, Default: "the package's context", Summary: "the bounded context"},
		{Name: "start", Kind: Begin, Default: "beginning", Summary: "where it begins in the history when it is new: with the first commit, behind the last, or with the first stored at a time"},
	}
	for _, extra := range extras {
		switch extra {
		case "generation":
			args = append(args, Arg{Name: "generation", Kind: Count, Max: MaxRevision, Default: "1", Summary: "raise it to rebuild the view from history"})
		case "serial":
			args = append(args, Arg{Name: "serial", Kind: Flag, Summary: "one event at a time over all aggregates, in the store's order"})
		case "refused":
			args = append(args, Arg{Name: "refused", Kind: Enum, Values: []string{"ignore"}, Default: "a refusal that no method takes is parked", Summary: "take the refusal of a command that no method is for as an outcome like any other"})
		case "loop":
			args = append(args, Arg{Name: "loop", Kind: Word, Summary: "why a cycle through this saga ends"})
		}
	}
	return args
}
