package load

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/wowgen/wow/executor"
)

// Waiting is one way for a handler to wait for something in its middle.
type Waiting struct {
	Name string
	Ours bool // else it is done without an executor
	run  func(n int, op func()) error
}

// WaitFor is what is waited for.
type WaitFor string

// The things to wait for.
const (
	Nothing   WaitFor = "wait for a no-op"
	RoundTrip WaitFor = "wait for a goroutine"
	Blocking  WaitFor = "blocking call"
)

// Waitings lists the ways to wait for what.
func Waitings(what WaitFor) []Waiting {
	if what == Blocking {
		return []Waiting{
			{"goroutine per message, 20 at once", false, goBounded},
			{"Offload", true, offload},
		}
	}
	return []Waiting{
		{"go f() and a channel", false, goAndChannel},
		{"Await, nothing else queued", true, await(1)},
		{"Await, one key queued", true, await(2)},
		{"Await, 8 keys that all wait", true, await(8)},
	}
}

// Measure times one wait.
func (w Waiting) Measure(what WaitFor, atLeast time.Duration) (Result, error) {
	op := func() { sink.Add(1) }
	if what == RoundTrip {
		ask, answer := make(chan struct{}), make(chan struct{})
		defer close(ask)
		go func() {
			for range ask {
				answer <- struct{}{}
			}
		}()
		op = func() { ask <- struct{}{}; <-answer }
	}
	n := 100
	for {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, cpu := time.Now(), cpuTime()
		err := w.run(n, op)
		wall := time.Since(start)
		cpu = cpuTime() - cpu
		runtime.ReadMemStats(&after)
		if wall >= atLeast/2 || err != nil {
			per := float64(n)
			return Result{N: n, Wall: float64(wall) / per, CPU: float64(cpu) / per,
				Allocs: float64(after.Mallocs-before.Mallocs) / per, Bytes: float64(after.TotalAlloc-before.TotalAlloc) / per}, err
		}
		n *= int(max(2, min(10, atLeast/max(wall, 1))))
	}
}

func goAndChannel(n int, op func()) error {
	for range n {
		done := make(chan struct{})
		go func() { op(); close(done) }()
		<-done
	}
	return nil
}

// await lets one message of each of so many keys call Await again and again.
func await(keys int) func(int, func()) error {
	return func(n int, op func()) error {
		return onExecutor(keys, keys, func(ctx context.Context, _ uint64, _ int) executor.Outcome {
			for range n / keys {
				if _, err := executor.Await(ctx, func(context.Context) (struct{}, error) { op(); return struct{}{}, nil }); err != nil {
					return executor.Done(err)
				}
			}
			return executor.Done(nil)
		})
	}
}

// goBounded is the usual way: a goroutine per message, at most 20 at once.
func goBounded(n int, op func()) error {
	room := make(chan struct{}, 20)
	var wg sync.WaitGroup
	for range n {
		room <- struct{}{}
		wg.Go(func() { op(); <-room })
	}
	wg.Wait()
	return nil
}

// offload declares each message blocking.
func offload(n int, op func()) error {
	f := func(context.Context) executor.Outcome { op(); return executor.Done(nil) }
	return onExecutor(n, 1000, func(context.Context, uint64, int) executor.Outcome { return executor.Offload(f) })
}

// onExecutor handles n messages of so many keys in turn on one worker.
func onExecutor(n, keys int, h executor.Handler[uint64, int]) error {
	e, err := executor.New(executor.Config{Workers: 1})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var failed []error
	l, err := executor.Open(e, executor.LaneConfig[uint64, int]{Done: func(_ uint64, _ int, err error) {
		if err != nil {
			mu.Lock()
			failed = append(failed, err)
			mu.Unlock()
		}
	}}, h)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range n {
		if err := l.Submit(ctx, keyOf(uint32(i%keys)), i); err != nil {
			return err
		}
	}
	err = e.Close(ctx)
	return errors.Join(append(failed, err)...)
}
