package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/internal/cli"
	"github.com/wowgen/wow/example/internal/data"
	"github.com/wowgen/wow/example/internal/idle"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
)

// plan is what the load is.
type plan struct {
	n          int // commands
	aggregates int // carts; orders come on top
	senders    int // that send at the same time
	seed       uint64
}

// prepareLoad is the command load.
func prepareLoad(flags *flag.FlagSet) func(context.Context, cli.Streams) error {
	var p plan
	where := data.Flag(flags)
	flags.IntVar(&p.n, "n", 200_000, "how many commands are sent")
	flags.IntVar(&p.aggregates, "aggregates", 1000, "how many carts they go to")
	flags.IntVar(&p.senders, "senders", 256, "how many senders send at the same time")
	flags.Uint64Var(&p.seed, "seed", 1, "which commands: the same seed, the same commands")
	return func(ctx context.Context, s cli.Streams) error {
		if err := p.check(); err != nil {
			return err
		}
		set := settings{data: *where, isNew: true, inFlight: p.senders, logger: warnings(s)}
		return with(ctx, set, func(ctx context.Context, a *app) error { return a.load(ctx, p, s) })
	}
}

// check reports everything that is wrong with the plan at once.
func (p plan) check() error {
	var errs []error
	for _, v := range []struct {
		name       string
		value, max int
	}{{"n", p.n, 1 << 30}, {"aggregates", p.aggregates, 1 << 20}, {"senders", p.senders, 1 << 16}} {
		if v.value < 1 || v.value > v.max {
			errs = append(errs, fmt.Errorf("-%s is %d: it must be between 1 and %d", v.name, v.value, v.max))
		}
	}
	return cli.Usage(errs...)
}

// tally counts what became of the commands.
type tally struct {
	next      atomic.Int64 // index of the next command
	inFlight  atomic.Int64
	peak      atomic.Int64
	acked     atomic.Int64 // commits
	noops     atomic.Int64
	refused   atomic.Int64
	conflicts atomic.Int64
	failed    atomic.Int64
	first     atomic.Pointer[error] // of the failures
	latency   histogram
}

func (t *tally) done() int64 {
	return t.acked.Load() + t.noops.Load() + t.refused.Load() + t.conflicts.Load() + t.failed.Load()
}

// load sends the commands of the plan, tells how it went, and checks the books.
// When ctx ends it sends no more, and checks what was sent.
func (a *app) load(ctx context.Context, p plan, s cli.Streams) error {
	t := new(tally)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	stopProgress := progress(s.Err, t, p.n, start)
	var senders sync.WaitGroup
	carts := make([]string, p.aggregates)
	for i := range carts {
		carts[i] = fmt.Sprintf("c%06d", i)
	}
	for range p.senders {
		s := &sender{app: a, plan: p, ids: carts}
		s.rng = rand.New(&s.source)
		senders.Go(func() { s.work(ctx, t) })
	}
	senders.Wait()
	took := time.Since(start)
	stopProgress()

	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := idle.Wait(settling, a.runtime); err != nil {
		return err
	}
	caughtUp := time.Since(start)
	runtime.ReadMemStats(&after)
	t.report(s.Out, p, took, caughtUp, &before, &after)

	b, err := a.audit(settling)
	if err != nil {
		return err
	}
	if err := a.verify(settling, b, t.acked.Load()); err != nil {
		return err
	}
	if err := t.first.Load(); err != nil {
		return fmt.Errorf("%d commands failed, the first with: %w", t.failed.Load(), *err)
	}
	fmt.Fprintf(s.Out, "  check        %d commits = versions of %d aggregates summed; %d events = counted by the projections\n",
		b.commits, len(b.versions), b.events())
	fmt.Fprintln(s.Out, "nothing was lost")
	return nil
}

// settleTime bounds how long the consumers may take after the last command.
const settleTime = 5 * time.Minute

// sender sends one command after the other. It allocates little itself, so that
// what is measured is the shop.
type sender struct {
	*app
	plan   plan
	ids    []string // of the carts
	source rand.PCG
	rng    *rand.Rand // of source
}

// work sends until no command is left or ctx ends.
func (s *sender) work(ctx context.Context, t *tally) {
	begun := context.WithoutCancel(ctx) // a command that was begun is finished
	for ctx.Err() == nil {
		i := t.next.Add(1) - 1
		if i >= int64(s.plan.n) {
			return
		}
		peakOf(&t.peak, t.inFlight.Add(1))
		start := time.Now()
		receipt, err := s.send(begun, i)
		t.latency.add(time.Since(start))
		t.inFlight.Add(-1)
		t.count(receipt, err)
	}
}

func (t *tally) count(r wowrt.Receipt, err error) {
	switch {
	case err == nil && r.Commit != "":
		t.acked.Add(1)
	case err == nil:
		t.noops.Add(1)
	case errors.As(err, new(*wow.Refusal)):
		t.refused.Add(1)
	case errors.Is(err, wow.ErrConflict):
		t.conflicts.Add(1)
	default:
		t.failed.Add(1)
		first := err // so that the err of every success stays on the stack
		t.first.CompareAndSwap(nil, &first)
	}
}

// send sends command i of the plan. Of 100 commands 88 add to a cart (some to
// ten pieces, which makes two events) and 10 take something out; one places an
// order, which makes the saga clear the cart, and one pays an order that was
// placed before, which makes a processor write a file.
func (s *sender) send(ctx context.Context, i int64) (wowrt.Receipt, error) {
	s.source.Seed(s.plan.seed, uint64(i)) // whoever sends it, command i is the same
	cart, sku := s.ids[s.rng.IntN(len(s.ids))], products[s.rng.IntN(len(products))]
	switch {
	case i%10 == 5:
		return s.carts.RemoveItem(ctx, domain.RemoveItem{CartID: cart, SKU: sku})
	case i%100 == 0:
		line := domain.Line{Qty: 1, Price: prices[sku]}
		return s.orders.PlaceOrder(ctx, domain.PlaceOrder{OrderID: orderID(i), CartID: cart, Lines: map[string]domain.Line{sku: line}})
	case i%100 == 99:
		return s.orders.PayOrder(ctx, domain.PayOrder{OrderID: orderID(i - 99), Cents: 1000})
	}
	return s.carts.AddItem(ctx, domain.AddItem{CartID: cart, SKU: sku, Qty: 1 + s.rng.IntN(10)})
}

// products are those of the load.
var products = []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"}

func orderID(i int64) string { return fmt.Sprintf("o%09d", i) }

func peakOf(peak *atomic.Int64, n int64) {
	for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
	}
}

func (t *tally) report(w io.Writer, p plan, took, caughtUp time.Duration, before, after *runtime.MemStats) {
	done := float64(max(t.done(), 1))
	fmt.Fprintf(w, "%d commands to %d carts and their orders, %d senders\n", t.done(), p.aggregates, p.senders)
	fmt.Fprintf(w, "  throughput   %.0f commands/s, %v; the consumers were done after %v\n",
		done/took.Seconds(), took.Round(time.Millisecond), caughtUp.Round(time.Millisecond))
	fmt.Fprintf(w, "  latency      p50 %v, p99 %v\n", t.latency.quantile(0.5), t.latency.quantile(0.99))
	fmt.Fprintf(w, "  outcomes     %d commits, %d no-ops, %d refused, %d conflicts, %d failed\n",
		t.acked.Load(), t.noops.Load(), t.refused.Load(), t.conflicts.Load(), t.failed.Load())
	fmt.Fprintf(w, "  in flight    %d at most\n", t.peak.Load())
	fmt.Fprintf(w, "  allocations  %.1f per command, %.0f bytes, with all that follows from it\n",
		float64(after.Mallocs-before.Mallocs)/done, float64(after.TotalAlloc-before.TotalAlloc)/done)
}

// progress shows how far the load is: on one line of a terminal, else with a
// line each second. The returned function ends it.
func progress(w io.Writer, t *tally, n int, start time.Time) (stop func()) {
	every, end := time.Second, "\n"
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			every, end = 100*time.Millisecond, "\r"
		}
	}
	quit := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		lines := 0
		for {
			select {
			case <-tick.C:
				done := t.done()
				fmt.Fprintf(w, "%9d of %d, %.0f commands/s, %d in flight%s", done, n,
					float64(done)/time.Since(start).Seconds(), t.inFlight.Load(), end)
				lines++
			case <-quit:
				if lines > 0 && end == "\r" {
					fmt.Fprint(w, "\n")
				}
				return
			}
		}
	})
	return func() {
		close(quit)
		shown.Wait()
	}
}
