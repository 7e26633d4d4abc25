// Transfer is a small bank that moves money between accounts and never creates
// or loses any.
//
//	go run ./example/transfer                    tells what happens, step by step
//	go run ./example/transfer run < lines.json   does what a file says
//
// The domain is declared in domain/wow.yaml instead of annotations.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/data"
	"github.com/wowgen/wow/example/internal/idle"
	"github.com/wowgen/wow/example/internal/lines"
	"github.com/wowgen/wow/example/internal/story"
	"github.com/wowgen/wow/example/transfer/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

func main() { program().Main() }

func program() *cli.Program {
	return &cli.Program{
		Name:    "go run ./example/transfer",
		Summary: "A small bank whose transfers are a saga between two accounts.",
		Commands: []cli.Command{
			{Name: "session", Summary: "Tells what becomes of some transfers, step by step.", Prepare: prepareSession},
			lines.Subcommand(catalogue, func(*flag.FlagSet) lines.Start {
				return func(ctx context.Context, s cli.Streams, f func(context.Context, *wowrt.Runtime) error) error {
					log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
					return with(ctx, log, func(ctx context.Context, b *bank) error { return f(ctx, b.runtime) })
				}
			}),
		},
	}
}

// catalogue is the help text about what can be said to the bank.
const catalogue = `
Commands; the id is that of the account:
  open_account      {"Owner":"Ann","Limit":100000}                  amounts are cents
  deposit           {"Cents":5000}
  close_account     {}                                              an empty one; reopen_account {} undoes it
  prepare_transfer  {"TransferID":"t1","To":"bob","Cents":2000}     begins a transfer
The saga sends what follows, and so can you:
  enter_amount      {"TransferID":"t1","From":"ann","Cents":2000}
  confirm_transfer  {"TransferID":"t1"}
  unlock_amount     {"TransferID":"t1","Reason":"no room"}

Example:
  echo '{"command":"open_account","id":"ann","body":{"Owner":"Ann","Limit":100000}}' | go run ./example/transfer run
`

// bank is the app, put together and running.
type bank struct {
	runtime  *wowrt.Runtime
	accounts *domain.AccountClient
	ledger   *domain.Ledger
}

// with starts the bank, calls f, and stops the bank again. What was sent is
// finished first. f's context ends with SIGINT and SIGTERM.
//
// Its history is in SQLite, and is gone with it: the ledger lives in memory, so
// there would be little to find again.
func with(ctx context.Context, log *slog.Logger, f func(context.Context, *bank) error) (err error) {
	place, err := data.Open("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	r := wowrt.New(wowrt.Config{Store: place.Store, Logger: log})
	b := &bank{runtime: r, accounts: domain.NewAccountClient(r.Gateway()), ledger: new(domain.Ledger)}
	domain.RegisterAccount(r)
	domain.RegisterTransfer(r, domain.Transfer{})
	domain.RegisterLedger(r, b.ledger)
	return wowrt.Main(ctx, r, func(ctx context.Context) error { return f(ctx, b) })
}

func prepareSession(*flag.FlagSet) func(context.Context, cli.Streams) error {
	return func(ctx context.Context, s cli.Streams) error {
		return with(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context, b *bank) error {
			t := &teller{bank: b, Story: story.New(ctx, b.runtime, s.Out), ctx: ctx}
			t.Print("A bank of two accounts. A transfer is a saga between them.")
			return t.Play(t.open, t.arrive, t.bounce, t.end)
		})
	}
}

// teller is the bank and the story about it.
type teller struct {
	*bank
	*story.Story
	ctx context.Context
}

func (t *teller) open() {
	t.Title("Two accounts", "commands: create, and update")
	t.Tell("Ann opens an account").Did(t.accounts.OpenAccount(t.ctx, domain.OpenAccount{AccountID: "ann", Owner: "Ann", Limit: 100_000}))
	t.Tell("Bob opens one for 50.00 at most").Did(t.accounts.OpenAccount(t.ctx, domain.OpenAccount{AccountID: "bob", Owner: "Bob", Limit: 5000}))
	t.Tell("Ann brings 100.00").Did(t.accounts.Deposit(t.ctx, domain.Deposit{AccountID: "ann", Cents: 10_000}))
}

func (t *teller) arrive() {
	t.Title("30.00 for Bob", "the saga enters the sum, then confirms it")
	t.transfer("t1", "bob", 3000)
	t.Tell("the saga sends enter_amount").Happened(account("bob"))
	t.Tell("then confirm_transfer").Happened(account("ann"))
	t.balances()
}

func (t *teller) bounce() {
	t.Title("Transfers that cannot be", "the entry is refused, the saga unlocks the sum")
	t.transfer("t2", "bob", 3000)
	t.Tell("Bob has no room: unlock_amount").Happened(account("ann"))
	t.transfer("t3", "zoe", 1000)
	t.Tell("Zoe has no account: unlock_amount").Happened(account("ann"))
	t.transfer("t4", "bob", 99_999)
	t.balances()
}

func (t *teller) end() {
	t.Title("The ledger", "a projection of all transfers")
	t.OK(idle.Wait(t.ctx, t.runtime))
	transfers := t.ledger.Transfers()
	for _, id := range slices.Sorted(maps.Keys(transfers)) {
		t.Tell(id).Say("%s", transfers[id])
	}
	t.Tell("money that came from outside").Say("%s", euros(t.ledger.Deposited()))
}

// transfer begins a transfer and waits for its end: each command of the saga
// causes the next.
func (t *teller) transfer(id, to string, cents int) {
	receipt, err := t.accounts.PrepareTransfer(t.ctx, domain.PrepareTransfer{AccountID: "ann", TransferID: id, To: to, Cents: cents})
	if err == nil {
		t.OK(idle.Wait(t.ctx, t.runtime))
	}
	t.Tell("Ann sends "+euros(cents)+" to "+to).Did(receipt, err)
}

func (t *teller) balances() {
	for _, id := range []string{"ann", "bob"} {
		a, _, err := t.accounts.Load(t.ctx, id)
		if t.OK(err) {
			t.Tell(a.Owner+" has").Say("%s", euros(a.Balance))
		}
	}
}

func euros(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func account(id string) wow.Target { return wow.Target{Aggregate: "bank.account", ID: id} }
