package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"time"

	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/data"
)

// prepareRebuild is the command rebuild.
func prepareRebuild(flags *flag.FlagSet) func(context.Context, cli.Streams) error {
	where := data.Flag(flags)
	return func(ctx context.Context, s cli.Streams) error {
		return with(ctx, settings{data: *where, rebuild: true}, func(ctx context.Context, a *app) error { return a.rebuild(ctx, s) })
	}
}

// rebuild waits until the new generation of the view of sales answers, and
// compares it with the one before. The shop is open meanwhile.
func (a *app) rebuild(ctx context.Context, s cli.Streams) error {
	consumer, err := a.runtime.Consumer(fmt.Sprintf("shop.projection.sales@%d", a.rebuilt.Generation()))
	if err != nil {
		return err
	}
	begun := time.Now()
	for tell := time.Now(); ; {
		answers, err := a.rebuilt.Answers(ctx)
		if err != nil {
			return err
		}
		st, err := consumer.Status(ctx)
		if err != nil {
			return err
		}
		if answers {
			fmt.Fprintf(s.Out, "generation %d of the view answers after %v, from %d commits\n",
				a.rebuilt.Generation(), time.Since(begun).Round(time.Millisecond), st.Shards[0].Position.Seq)
			break
		}
		if st.Shards[0].Head == 0 {
			return fmt.Errorf("there is no history to build it from: name a folder with -data that run has filled")
		}
		if time.Since(tell) > time.Second {
			fmt.Fprintf(s.Err, "%d of %d commits, %.0f a second, %v left\n", st.Shards[0].Position.Seq, st.Shards[0].Head, st.Rate, st.Left)
			tell = time.Now()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil // the next rebuild goes on where this one was
		}
	}
	before, err := a.sales.Sold(ctx)
	if err != nil {
		return err
	}
	after, err := a.rebuilt.Sold(ctx)
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("the rows differ: generation %d has %s, %d has %s", a.sales.Generation(), pieces(before), a.rebuilt.Generation(), pieces(after))
	}
	fmt.Fprintf(s.Out, "its rows are those of generation %d: %s\n", a.sales.Generation(), pieces(after))
	return nil
}
