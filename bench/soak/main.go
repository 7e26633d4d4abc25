// Command soak runs an application for a while and fails if it grows: heap,
// goroutines or open files. The application is the bank of the framework
// benchmark on SQLite, with snapshots and a projection, under a steady load that
// goes to ever new aggregates beside some that stay.
//
//	go run ./soak                  # ten minutes
//	go run ./soak -for 1m -rate 5000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow/bench/framework/bank"
	"github.com/wowgen/wow/bench/report"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/sqlite"
)

func main() {
	long := flag.Duration("for", 10*time.Minute, "how long")
	rate := flag.Int("rate", 2000, "commands per second")
	flag.Parse()
	if err := soak(*long, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

const (
	clients  = 16
	accounts = 1000   // that stay
	samples  = 60     // taken of the run
	known    = 90_000 // aggregates that fill every cache: the store keeps the heads of 65,536
)

func soak(long time.Duration, rate int) (err error) {
	dir, err := os.MkdirTemp("", "wow-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(filepath.Join(dir, "history.db"), sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// The cache is small, so that it is full, as it is for good in a long life.
	r := wowrt.New(wowrt.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Cache: wowrt.CacheConfig{Entries: 2000, Idle: 10 * time.Second}})
	totals := new(bank.Totals)
	bank.RegisterAccount(r)
	bank.RegisterTotals(r, totals)
	if err := r.Start(context.Background()); err != nil {
		return err
	}
	client := bank.NewAccountClient(r.Gateway())

	// One command in so many goes to an aggregate that is new, so that the caches
	// are full after a third of the time.
	every := max(1, int(float64(rate)*long.Seconds()/3)/known)
	var sent, failed atomic.Int64
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for c := range clients {
		senders.Go(func() {
			tick := time.NewTicker(time.Duration(clients) * time.Second / time.Duration(rate))
			defer tick.Stop()
			for i := c; ; i += clients {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				id := "stays-" + strconv.Itoa(i%accounts)
				if i%every == 0 {
					id = "new-" + strconv.Itoa(i)
				}
				if _, err := client.Deposit(context.Background(), bank.Deposit{AccountID: id, Amount: 1}); err != nil {
					if failed.Add(1) == 1 {
						fmt.Println("the first command that failed:", err)
					}
				}
				sent.Add(1)
			}
		})
	}
	taken := watch(long, &sent)
	close(stop)
	senders.Wait()
	if err := r.Stop(context.Background()); err != nil {
		return err
	}
	head, err := store.Head(context.Background(), 0)
	if err != nil {
		return err
	}
	fmt.Printf("%d commands, %d failed, %d commits, %d projected\n", sent.Load(), failed.Load(), head.Seq, totals.Count.Load())
	if failed.Load() > 0 || head.Seq != sent.Load() {
		return errors.New("something was lost")
	}
	return flat(taken)
}

// sample is what the process holds.
type sample struct{ heap, goroutines, files float64 }

func watch(long time.Duration, sent *atomic.Int64) []sample {
	var taken []sample
	began := time.Now()
	for i := range samples {
		time.Sleep(time.Until(began.Add(long * time.Duration(i+1) / samples)))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		files, _ := os.ReadDir("/proc/self/fd") // none where there is no /proc
		s := sample{float64(m.HeapAlloc), float64(runtime.NumGoroutine()), float64(len(files))}
		taken = append(taken, s)
		fmt.Printf("%6s  %9d commands  %6.1f MiB  %4.0f goroutines  %3.0f files\n",
			time.Since(began).Round(time.Second), sent.Load(), s.heap/(1<<20), s.goroutines, s.files)
	}
	return taken
}

// flat compares the last third of the samples with the second: in the first,
// caches fill.
func flat(taken []sample) error {
	third := len(taken) / 3
	var errs []error
	for _, f := range []struct {
		name  string
		of    func(sample) float64
		slack float64
	}{
		{"bytes of heap", func(s sample) float64 { return s.heap }, 2 << 20},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 4},
		{"open files", func(s sample) float64 { return s.files }, 2},
	} {
		var early, late []float64
		for i := range third {
			early = append(early, f.of(taken[third+i]))
			late = append(late, f.of(taken[2*third+i]))
		}
		a, b := report.Median(early), report.Median(late)
		fmt.Printf("%s: %.0f in the second third, %.0f in the last\n", f.name, a, b)
		if b > a*1.1+f.slack {
			errs = append(errs, fmt.Errorf("%s grow: %.0f, then %.0f", f.name, a, b))
		}
	}
	return errors.Join(errs...)
}
