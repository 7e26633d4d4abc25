package ctl

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
)

// What an operator wants done about parked messages is asked for through the
// store, and done by the process that runs the consumer.

var retry = command{
	name: "retry", args: "CONSUMER AGGREGATE/ID", takes: [2]int{2, 2},
	summary: "Has the parked messages of an aggregate run again, in order.",
	help: `The process that runs the consumer does it within seconds, or at its next start.
It stops at the first that fails again.

Example:
  wowctl retry shop.processor.receipts shop.order/o1
`,
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		return wish(flags, func(j *job, w *wowrt.Wish) error {
			w.Do = wowrt.WishRetry
			return nil
		})
	},
}

var skip = command{
	name: "skip", args: "CONSUMER AGGREGATE/ID POSITION", takes: [2]int{3, 3},
	summary: "Has a consumer forget a parked commit: it will never handle it.",
	help:    "Those that wait behind it stay parked until they are retried.\n\nExample:\n  wowctl skip shop.processor.receipts shop.order/o1 0/17\n",
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		return wish(flags, func(j *job, w *wowrt.Wish) error {
			w.Do = wowrt.WishSkip
			return nil
		})
	},
}

var edit = command{
	name: "edit", args: "CONSUMER AGGREGATE/ID POSITION EVENT FILE", takes: [2]int{5, 5},
	summary: "Has a parked commit run with other bytes for one of its events, counted from 0.",
	help: `The history stays as it is; other consumers see the event unchanged. FILE - is the
standard input. show prints what is stored.

Example:
  echo '{"Cents":500}' | wowctl edit shop.processor.receipts shop.order/o1 0/17 0 -
`,
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		return wish(flags, func(j *job, w *wowrt.Wish) (err error) {
			w.Do = wowrt.WishEdit
			if w.Event, err = strconv.Atoi(j.args[3]); err != nil || w.Event < 0 {
				return misused("EVENT is %q: it is a number from 0 on", j.args[3])
			}
			if j.args[4] == "-" {
				w.Data, err = io.ReadAll(io.LimitReader(j.in, maxEdit+1))
			} else {
				w.Data, err = os.ReadFile(j.args[4])
			}
			if err == nil && len(w.Data) > maxEdit {
				err = fmt.Errorf("the event has more than %d bytes", maxEdit)
			}
			return err
		})
	},
}

// maxEdit is the most bytes that an event may be edited to.
const maxEdit = 512 << 10

// wish asks for what fill says, and waits until it is done.
func wish(flags *flag.FlagSet, fill func(*job, *wowrt.Wish) error) func(context.Context, *job) error {
	tenant := flags.String("tenant", "", "whose aggregate it is")
	wait := flags.Duration("wait", 10*time.Second, "how long to wait until it is done; 0 asks only")
	return func(ctx context.Context, j *job) error {
		var w wowrt.Wish
		var err error
		if w.Target, err = target(*tenant, j.args[1]); err != nil {
			return err
		}
		if len(j.args) > 2 {
			if w.Position, err = position(j.args[2]); err != nil {
				return err
			}
		}
		if err := fill(j, &w); err != nil {
			return err
		}
		consumer := j.args[0]
		if err := wowrt.Ask(ctx, j.Store, consumer, w); err != nil {
			return err
		}
		for end := time.Now().Add(*wait); time.Now().Before(end); {
			asked, err := wowrt.Asked(ctx, j.Store, consumer, w)
			if err != nil {
				return err
			}
			if !asked {
				return told(ctx, j, consumer, w)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		fmt.Fprintf(j.out, "asked: the process that runs %s does it, or the next that starts\n", consumer)
		return nil
	}
}

// told says what has become of a wish.
func told(ctx context.Context, j *job, consumer string, w wowrt.Wish) error {
	left, err := j.Store.Parked(ctx, consumer, w.Target, wow.Position{Shard: w.Position.Shard}, page)
	if err != nil {
		return err
	}
	for _, p := range left {
		if p.Function != "" && (w.Do == wowrt.WishRetry || p.Commit.Position == w.Position) {
			return fmt.Errorf("done, and it failed: position %v: %s", p.Commit.Position, p.Error)
		}
	}
	fmt.Fprintf(j.out, "done: %d messages of %s are parked now\n", len(left), w.Target)
	return nil
}

// position reads "0/17".
func position(text string) (p wow.Position, err error) {
	shard, seq, ok := strings.Cut(text, "/")
	n, err1 := strconv.ParseInt(shard, 10, 32)
	m, err2 := strconv.ParseInt(seq, 10, 64)
	if err := errors.Join(err1, err2); !ok || err != nil || m < 1 {
		return p, misused("POSITION is %q: it is SHARD/SEQUENCE, such as 0/17, as parked prints it", text)
	}
	return wow.Position{Shard: int32(n), Seq: m}, nil
}
