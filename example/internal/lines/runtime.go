package lines

import (
	"context"
	"flag"
	"fmt"

	"github.com/wowgen/wow/example/internal/cli"
	wowrt "github.com/wowgen/wow/runtime"
)

// New returns a driver of the commands that are registered with r.
func New(r *wowrt.Runtime) *Driver {
	gateway := r.Gateway()
	d := &Driver{Send: func(ctx context.Context, c Command) (Answer, error) {
		var opts []wowrt.SendOption
		if c.Request != "" {
			opts = append(opts, wowrt.WithRequest(c.Request))
		}
		if c.Version != 0 {
			opts = append(opts, wowrt.WithVersion(c.Version))
		}
		receipt, err := gateway.Send(ctx, c.Body, opts...)
		return Answer{Version: receipt.Version, Stage: receipt.Stage.String(), Repeated: receipt.Repeated}, err
	}}
	for _, a := range r.Handlers().Aggregates {
		for _, c := range a.Commands {
			d.Commands = append(d.Commands, c.Command)
		}
	}
	return d
}

// Start starts an example's app, calls f and stops the app.
type Start func(ctx context.Context, s cli.Streams, f func(context.Context, *wowrt.Runtime) error) error

// Subcommand returns the subcommand run of an example. prepare declares flags of
// its own and says how to start the app; commands is the help text about what
// can be said to it.
func Subcommand(commands string, prepare func(*flag.FlagSet) Start) cli.Command {
	return cli.Command{
		Name: "run", Args: "< FILE", Summary: "Runs one JSON command per line.", Help: Format + commands,
		Prepare: func(flags *flag.FlagSet) func(context.Context, cli.Streams) error {
			window := flags.Int("window", DefaultWindow, "how many lines may be under way at the same time")
			start := prepare(flags)
			timeout := flags.Duration("timeout", DefaultTimeout, "how long one command may take")
			return func(ctx context.Context, s cli.Streams) error {
				var errs []error
				if *window < 1 || *window > maxWindow {
					errs = append(errs, fmt.Errorf("-window is %d: it must be between 1 and %d", *window, maxWindow))
				}
				if *timeout <= 0 {
					errs = append(errs, fmt.Errorf("-timeout is %v: it must be more than 0", *timeout))
				}
				if err := cli.Usage(errs...); err != nil {
					return err
				}
				return start(ctx, s, func(ctx context.Context, r *wowrt.Runtime) error {
					d := New(r)
					d.Window, d.Timeout = *window, *timeout
					return d.Run(ctx, s.In, s.Out)
				})
			}
		},
	}
}
