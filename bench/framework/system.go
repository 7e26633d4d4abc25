package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// system is one way to run a bank: commands that are acknowledged once their
// event is stored, and a projection that must see every event.
type system interface {
	deposit(ctx context.Context, account int, amount int64) error
	projected() (events, sum int64)
	close() error
}

// contender is a system to be compared.
type contender struct {
	name  string
	floor bool // hand-written: what a framework's promises cost is the distance to it
	ours  bool
	open  func() (system, error)
	scale int // it gets a share of 1/scale of the commands, as it is slower
}

// contenders lists them.
func contenders() []contender {
	return []contender{
		{name: "keyed workers and JSON by hand", floor: true, open: openByHand, scale: 1},
		{name: "protoactor-go persistence (no version check)", open: openProtoactor, scale: 2},
		{name: "watermill CQRS, gochannel, acknowledged", open: openWatermill, scale: 8},
		{name: "wow", ours: true, open: openWow, scale: 1},
	}
}

const accounts = 1000

// sample is what one run found, per command.
type sample struct{ rate, cpu, allocs, lag float64 }

// measure sends n deposits from so many clients and waits until the projection
// has seen them all; it fails if one is lost or counted twice.
func measure(c contender, clients, n int) (sample, error) {
	s, err := c.open()
	if err != nil {
		return sample{}, fmt.Errorf("opening %s: %w", c.name, err)
	}
	var next, sum atomic.Int64
	errs := make(chan error, clients)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				x := uint64(i) * 0x9E3779B97F4A7C15 // a fixed mix spreads commands over accounts
				amount := int64(x>>40)%100 + 1
				if err := s.deposit(context.Background(), int(x>>33)%accounts, amount); err != nil {
					errs <- err
					return
				}
				sum.Add(amount)
			}
		})
	}
	wg.Wait()
	wall := time.Since(start)
	lag := time.Now()
	got, total := s.projected()
	for len(errs) == 0 && got < int64(n) && time.Since(lag) < 10*time.Second {
		runtime.Gosched()
		got, total = s.projected()
	}
	late := time.Since(lag)
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	if err := s.close(); err != nil {
		return sample{}, fmt.Errorf("closing %s: %w", c.name, err)
	}
	if len(errs) > 0 {
		return sample{}, fmt.Errorf("%s: a deposit failed: %w", c.name, <-errs)
	}
	if got != int64(n) || total != sum.Load() {
		return sample{}, fmt.Errorf("%s: the projection saw %d events of %d, a sum of %d and not %d", c.name, got, n, total, sum.Load())
	}
	per := float64(n)
	return sample{per / wall.Seconds(), float64(cpu) / per, float64(after.Mallocs-before.Mallocs) / per, float64(late)}, nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot happen: the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
