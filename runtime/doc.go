// Package runtime decides commands, keeps their history and runs what follows
// from it. It runs what wowgen generated.
//
//	r := runtime.New(runtime.Config{})
//	shop.RegisterCart(r, &shop.CartHandlers{Prices: prices})
//	if err := r.Start(ctx); err != nil { … }  // every fault at once
//	carts := shop.NewCartClient(r.Gateway())
//	receipt, err := carts.AddItem(ctx, shop.AddItem{CartID: "c1", SKU: "s1", Qty: 2})
//	…
//	err = r.Stop(ctx)
//
// An application needs [New], [Config], [Main] or [Runtime.Start] and
// [Runtime.Stop]; the options of a send, [SendOption] and [LoadOption]; [Receipt]
// and the errors of package wow; [Middleware] and [On]; [Consumer] to see and mend
// what was parked. The other types are what generated code hands over.
//
// A command is validated, enters the lane of its bounded context, and runs in
// the mailbox of its aggregate: load, decide, encode, apply to a private state,
// append. Once appended it is PROCESSED and the sender gets its Receipt. The
// files follow that road: send.go, admit.go, lane.go, load.go, decide.go,
// append.go, request.go, answer.go.
//
// # What the sender can rely on
//
// Commands of one aggregate are decided one at a time, each on the state that
// all before it left. A command that was answered without an error is stored as
// safely as the store stores; the memory store keeps it as long as the process
// lives. A command with a request ID takes effect once, however often it is
// sent, and each sending gets the answer of the first.
//
// An error says what to do: see the variables of package wow. A refusal is the
// decision of the aggregate itself, always confirmed against its newest version
// before it is reported.
//
// # What follows from a commit
//
// Projections, processors, sagas and snapshot writers are consumers. Each reads
// the store from its own checkpoint, so a process that dies after an append
// loses nothing; a command never waits for one. The files follow a commit's
// road: tail.go, consumer.go, consumer_table.go, consumer_task.go,
// watermark.go; then park.go, saga.go, saga_later.go, wait.go. Of several
// processes on one store, each consumer runs in one: consumer_lease.go.
//
// Each commit reaches each consumer with a function for it at least once, in the
// order of versions of its aggregate; a serial one, in the order of positions.
// Functions of one commit run in the order of its events, then those that take
// the state after it. Within one life of the process, one that has worked is not
// run again when a later one fails.
//
// A function that fails is tried again with growing pauses, then its message is
// parked: with its bytes, the error and the number of attempts. Later messages of
// that aggregate are parked behind it, all others go on. [Consumer] lists,
// retries and skips them while the runtime runs, and tells how far a consumer is.
//
// [WaitFor] has a sender wait until consumers have finished its commit. A
// projection with a [Transaction] keeps its progress beside its rows, and each
// commit takes effect there exactly once.
package runtime
