// Shop is a small web shop without the web: carts, orders, and everything that
// follows from an order, in one process.
//
//	go run ./example/shop                    tells what happens, step by step
//	go run ./example/shop load -n 200000     drives load and checks the books
//	go run ./example/shop run < lines.json   does what a file says
//	go run ./example/shop rebuild -data …    builds a view anew beside the live one
//	go run ./example/shop ctl verify         looks at what run -data has stored
//
// The domain, with its annotations and the generated code, is in the folder
// domain. This package is what every app needs besides: app.go puts it
// together, the other files use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/data"
	"github.com/wowgen/wow/example/internal/lines"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/ctl"
	"github.com/wowgen/wow/runtime/sqlite"
)

func main() { program().Main() }

func program() *cli.Program {
	return &cli.Program{
		Name:    "go run ./example/shop",
		Summary: "A small shop that shows each kind of handler at work.",
		Commands: []cli.Command{
			{Name: "session", Summary: "Tells a day in the shop, step by step.", Prepare: prepareSession},
			{Name: "load", Args: "[-n N] [-aggregates N]", Summary: "Drives load, and checks that nothing was lost.", Prepare: prepareLoad},
			lines.Subcommand(catalogue, func(flags *flag.FlagSet) lines.Start {
				where := data.Flag(flags)
				return func(ctx context.Context, s cli.Streams, f func(context.Context, *wowrt.Runtime) error) error {
					return with(ctx, settings{data: *where, logger: warnings(s)}, func(ctx context.Context, a *app) error { return f(ctx, a.runtime) })
				}
			}),
			{Name: "rebuild", Args: "-data FOLDER", Summary: "Builds the view of sales anew, beside the one that answers, and lets it take over.", Prepare: prepareRebuild},
			{Name: "ctl", Args: "[-data FOLDER] COMMAND …", Summary: "Looks at the history in a folder: streams, show, state, verify and more.",
				Free: true, Prepare: prepareCtl},
		},
	}
}

// prepareCtl mounts the operator's program, which so knows the shop's types.
func prepareCtl(flags *flag.FlagSet) func(context.Context, cli.Streams) error {
	where := flags.String("data", "shop-data", "the `folder`")
	return func(ctx context.Context, s cli.Streams) error {
		history := filepath.Join(*where, "history.db")
		if _, err := os.Stat(history); err != nil {
			return fmt.Errorf("-data %s holds no history: %w", *where, err)
		}
		store, err := sqlite.Open(history, sqlite.Config{ReadOnly: true})
		if err != nil {
			return err
		}
		r := wowrt.New(wowrt.Config{Store: store}) // it is not started
		domain.RegisterCart(r, &domain.CartHandlers{})
		domain.RegisterOrder(r)
		p := ctl.Program{Name: "go run ./example/shop ctl", Store: store, States: ctl.States(r)}
		code := p.Run(ctx, flags.Args(), s.Out, s.Err)
		if err := store.Close(); err != nil || code != ctl.Fine {
			return errors.Join(err, cli.Exit(code))
		}
		return nil
	}
}

// catalogue is the help text about what can be said to the shop.
const catalogue = `
Commands:
  add_item       {"SKU":"tea","Qty":2}                     id: of the cart, which need not exist
  remove_item    {"SKU":"tea"}                             id: of the cart
  clear_cart     {"OrderID":"o1","Bought":{"tea":2}}       id: of the cart
  place_order    {"CartID":"c1","Lines":{"tea":{"Qty":2,"Price":400}}}  id: of the new order
  pay_order      {"Cents":800}                             id: of the order
  release_order  {"Reason":"changed my mind"}              id: of the order
Products: tea, jam, cup, s1 to s9. To see what trouble looks like, there are
also "haunted", whose price panics, and "frozen", whose price never comes.

Example, twice: the second finds what the first stored.
  echo '{"command":"add_item","id":"c1","body":{"SKU":"tea","Qty":2}}' | go run ./example/shop run -data shop-data
`

// warnings logs what went wrong, and nothing else, beside the output.
func warnings(s cli.Streams) *slog.Logger {
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
