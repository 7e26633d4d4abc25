package runtime

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Main starts r, calls run, and stops r when run returns: what most programs
// want of their life. run's context ends with SIGINT or SIGTERM; run then
// returns, with nil or the context's error, and what was admitted is finished.
// A second signal ends the process at once, as if nobody listened.
//
//	func main() {
//		r := runtime.New(runtime.Config{})
//		shop.RegisterCart(r, handlers)
//		if err := runtime.Main(context.Background(), r, serve); err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			os.Exit(1)
//		}
//	}
//
// A run of nil waits for the signal.
func Main(ctx context.Context, r *Runtime, run func(ctx context.Context) error) error {
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release) // a second signal is not for us
	err := r.Start(ctx)
	switch {
	case err != nil:
	case run == nil:
		<-ctx.Done()
	default:
		err = run(ctx)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // it was asked to
	}
	return errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
}
