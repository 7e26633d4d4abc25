package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/wowgen/wow/bench/framework/bank"
	"github.com/wowgen/wow/bench/report"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/sqlite"
)

// flatness measures what a command costs an aggregate with a history, one
// client, and what aggregates cost that nobody asks for.
func flatness(rounds, n int) (report.Table, error) {
	t := report.Table{
		Title: "With a history",
		Note:  "One aggregate, one client, memory store: a command behind so many events.",
		Columns: []report.Column{
			{Name: "ns", Format: report.Integer, Plain: true}, {Name: "CPU ns", Format: report.Integer, Plain: true},
			{Name: "allocs", Format: report.Small, Plain: true},
		},
	}
	histories := []int{1, 100, 10_000}
	for _, h := range histories {
		t.Rows = append(t.Rows, report.Row{Name: report.Integer(float64(h)) + " events", Kind: report.Ours, Samples: make([][]float64, len(t.Columns))})
	}
	for range rounds {
		for i, h := range histories {
			s, err := openWow()
			if err != nil {
				return t, err
			}
			for range h {
				if err := s.deposit(context.Background(), 0, 1); err != nil {
					return t, err
				}
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			cpu, start := cpuTime(), time.Now()
			for range n {
				if err := s.deposit(context.Background(), 0, 1); err != nil {
					return t, err
				}
			}
			took, used := time.Since(start), cpuTime()-cpu
			runtime.ReadMemStats(&after)
			for j, v := range []float64{float64(took.Nanoseconds()), float64(used), float64(after.Mallocs - before.Mallocs)} {
				column := &t.Rows[i].Samples[j]
				*column = append(*column, v/float64(n))
			}
			if err := s.close(); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// idle measures the memory that aggregates hold when nobody asks for them, on a
// store that lasts, so that their history is not in memory: while the cache has
// them, and once it has let them go.
func idle(many int) (string, error) {
	dir, err := os.MkdirTemp("", "wow-idle-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(filepath.Join(dir, "history.db"), sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		return "", err
	}
	defer store.Close()
	r := wowrt.New(wowrt.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Cache: wowrt.CacheConfig{Idle: rest}})
	bank.RegisterAccount(r)
	if err := r.Start(context.Background()); err != nil {
		return "", err
	}
	accounts := bank.NewAccountClient(r.Gateway())
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	visit := func(from, to int) error {
		for i := from; i < to; i++ {
			if _, err := accounts.Deposit(context.Background(), bank.Deposit{AccountID: "idle-" + strconv.Itoa(i), Amount: 1}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(0, 1000); err != nil {
		return "", err
	}
	before := heap()
	if err := visit(1000, 1000+many); err != nil {
		return "", err
	}
	cached := (heap() - before) / float64(many)
	time.Sleep(3 * rest)
	gone := (heap() - before) / float64(many)
	return fmt.Sprintf("%.0f bytes each while the cache has them, %.0f once it has let them go", cached, gone), r.Stop(context.Background())
}

// rest is how long the cache keeps a state that nobody asks for; the default is
// five minutes.
const rest = 2 * time.Second
