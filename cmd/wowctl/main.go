// Command wowctl looks at a history of wow, moves it, and proves that it is
// whole. Run wowctl -h for what it can do.
//
//	WOW_STORE=shop-data/history.db wowctl verify
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/wowgen/wow/runtime/ctl"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("wowctl", flag.ContinueOnError)
	where := flags.String("store", os.Getenv("WOW_STORE"), "the `store`: a file of SQLite, or postgres://…; default $WOW_STORE")
	flags.Usage = func() {
		_ = ctl.Program{Name: "wowctl [-store STORE]"}.Run(ctx, []string{"help"}, flags.Output(), flags.Output())
		fmt.Fprintln(flags.Output())
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return ctl.Fine
	case err != nil:
		return ctl.Usage
	}
	p := ctl.Program{}
	if needsStore(flags.Args()) {
		s, err := open(ctx, *where, flags.Arg(0) != "import")
		if err != nil {
			fmt.Fprintln(os.Stderr, "wowctl:", err)
			return ctl.Wrong
		}
		defer s.Close()
		p.Store = s
	}
	return p.Run(ctx, flags.Args(), os.Stdout, os.Stderr)
}

// needsStore tells whether the command does more than help.
func needsStore(args []string) bool {
	if len(args) == 0 || args[0] == "help" {
		return false
	}
	for _, a := range args[1:] {
		if a == "-h" || a == "-help" || a == "--help" {
			return false
		}
	}
	return true
}

// open opens the store. A file of SQLite is opened beside the app that owns it,
// unless something is to be written.
func open(ctx context.Context, where string, look bool) (store.Store, error) {
	switch {
	case where == "":
		return nil, errors.New("no store: name it with -store FILE, -store postgres://… or in WOW_STORE")
	case strings.HasPrefix(where, "postgres://"), strings.HasPrefix(where, "postgresql://"):
		return postgres.Open(ctx, where, postgres.Config{})
	}
	if _, err := os.Stat(where); look && err != nil {
		return nil, err
	}
	return sqlite.Open(where, sqlite.Config{ReadOnly: look})
}
