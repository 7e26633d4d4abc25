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
package runtime
