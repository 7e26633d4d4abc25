package executor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Rule 8: Await.
func TestAwaitHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		var waiting, most int
		var mu sync.Mutex
		l := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[int, int]{}, func(ctx context.Context, k, _ int) Outcome {
			got, err := Await(ctx, func(context.Context) (int, error) {
				mu.Lock()
				waiting++
				most = max(most, waiting)
				mu.Unlock()
				time.Sleep(time.Minute)
				mu.Lock()
				waiting--
				mu.Unlock()
				return k, errTest
			})
			if got != k || err != errTest {
				t.Errorf("Await returned %d, %v", got, err)
			}
			return Done(nil)
		})
		began := time.Now()
		for k := range n {
			submit(t, l, k, 0)
		}
		drain(t, l)
		if d := time.Since(began); most != n || d != time.Minute {
			t.Errorf("%d waited at once, %v in all; want %d and a minute", most, d, n)
		}
	})
}

var errTest = errors.New("test")

func TestAwaitResumesInLineBehindWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		gate, over := make(chan struct{}), make(chan struct{})
		l := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[string, int]{}, func(ctx context.Context, k string, _ int) Outcome {
			switch k {
			case "waiter":
				Await(ctx, func(context.Context) (int, error) { <-over; return 0, nil })
			case "gate":
				<-gate
			}
			order = append(order, k)
			return Done(nil)
		})
		submit(t, l, "waiter", 0)
		synctest.Wait()
		submit(t, l, "gate", 0)
		submit(t, l, "before", 0)
		synctest.Wait() // the gate holds the worker
		close(over)
		synctest.Wait()
		submit(t, l, "after", 0)
		close(gate)
		drain(t, l)
		// before was queued when the wait ended, but nobody had read it: what
		// ends a wait and what is submitted meanwhile are read together.
		if want := []string{"gate", "before", "after", "waiter"}; !slices.Equal(order, want) && !slices.Equal(order, []string{"gate", "before", "waiter", "after"}) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestAwaitOutsideAHandlerJustRuns(t *testing.T) {
	got, err := Await(t.Context(), func(context.Context) (int, error) { return 7, errTest })
	if got != 7 || err != errTest {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestAwaitWithAContextWhoseHandlerReturnedJustRuns(t *testing.T) {
	ctxs := make(chan context.Context, 1)
	l := open(t, Config{Workers: 1}, LaneConfig[int, int]{}, func(ctx context.Context, k, m int) Outcome {
		if m == 0 {
			ctxs <- ctx
		}
		return Done(nil)
	})
	submit(t, l, 0, 0)
	stale := <-ctxs
	for l.unfinished() > 0 {
		runtime.Gosched()
	}
	if got, err := Await(stale, func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	submit(t, l, 0, 1, 2)
	drain(t, l)
}

func TestHandlerMayReturnBeforeItsGoroutinesStopWaiting(t *testing.T) {
	var helpers sync.WaitGroup
	var done atomic.Int32
	l := open(t, Config{Workers: 2}, LaneConfig[int, int]{Done: func(int, int, error) { done.Add(1) }}, func(ctx context.Context, k, m int) Outcome {
		started := make(chan struct{})
		helpers.Go(func() {
			Await(ctx, func(context.Context) (int, error) {
				close(started)
				for range m % 5 {
					runtime.Gosched()
				}
				return 0, nil
			})
		})
		<-started
		return Done(nil)
	})
	for i := range 3000 {
		submit(t, l, i%20, i)
	}
	drain(t, l)
	helpers.Wait()
	if done.Load() != 3000 {
		t.Errorf("%d done, want 3000", done.Load())
	}
}

// Rule 8: asynchronous completion.
func TestCompletionCountsOnceBeforeOrAfterTheHandlerReturned(t *testing.T) {
	var ends []error
	completions := make(chan Completion, 1)
	l := open(t, Config{Workers: 1}, LaneConfig[int, string]{Done: func(_ int, _ string, err error) { ends = append(ends, err) }},
		func(ctx context.Context, _ int, m string) Outcome {
			o, c := Later(ctx)
			if again, same := Later(ctx); again.n != o.n || same != c {
				t.Error("a second Later is another one")
			}
			switch m {
			case "before":
				if !c.Complete(Done(errTest)) || c.Complete(Done(nil)) {
					t.Error("the first completion must count, and no other")
				}
			case "after":
				completions <- c
			case "changed":
				completions <- c
				return Done(errTest)
			case "foreign":
				return outcome(kindLater, 1<<40)
			}
			return o
		})
	submit(t, l, 0, "before", "after")
	c := <-completions
	for !c.Complete(Done(errTest)) {
		t.Error("a completion after the return did not count")
	}
	submit(t, l, 0, "changed", "foreign")
	c = <-completions
	drain(t, l)
	if c.Complete(Done(nil)) {
		t.Error("a completion counted though the handler had changed its mind")
	}
	if want := []error{errTest, errTest, errTest, errForeign}; !slices.Equal(ends, want) {
		t.Errorf("ends %v, want %v", ends, want)
	}
}

func TestLaterNeedsAHandlersContext(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Later(t.Context())
}

// Rule 8: delay.
func TestAgainHoldsATimerAndNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		tries := make([]int, n)
		began := time.Now()
		l := open(t, Config{Workers: 2, StallAfter: -1}, LaneConfig[int, int]{}, func(_ context.Context, k, _ int) Outcome {
			if tries[k]++; tries[k] <= 3 {
				return Again(time.Hour)
			}
			return Done(nil)
		})
		before := runtime.NumGoroutine()
		for k := range n {
			submit(t, l, k, 0)
		}
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 2*keepSpares+2 {
			t.Errorf("%d goroutines for %d messages that wait", more, n)
		}
		drain(t, l)
		if d := time.Since(began); d != 3*time.Hour {
			t.Errorf("three delays of an hour took %v", d)
		}
	})
}

// Rule 8: offload.
func TestOffloadRunsOnABoundedPoolWhoseGoroutinesLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, pool = 50, 4
		var running, most atomic.Int32
		began := time.Now()
		l := open(t, Config{Workers: 1, StallAfter: -1, OffloadWorkers: pool, OffloadQueue: 5}, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome {
			return Offload(func(context.Context) Outcome {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
				return Done(nil)
			})
		})
		for k := range n {
			submit(t, l, k, 0)
		}
		synctest.Wait()
		if st := l.e.Stats().Offload; st.Goroutines != pool || st.Queued != 5 || st.Waiting != n-pool-5 {
			t.Errorf("the pool is %+v, want %d goroutines, 5 queued, %d waiting", st, pool, n-pool-5)
		}
		time.Sleep(time.Hour)
		if st := l.e.Stats().Offload; st.Goroutines != 0 || st.Ran != n {
			t.Errorf("an hour later the pool is %+v, want no goroutine and %d run", st, n)
		}
		submit(t, l, 0, 0)
		drain(t, l)
		if most.Load() != pool || time.Since(began) != time.Hour+time.Second {
			t.Errorf("%d at once until %v, want %d", most.Load(), time.Since(began), pool)
		}
	})
}

// All ways in the life of one message.
func TestOneMessageWaitsInEveryWayInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := 0
		var end error
		l := open(t, Config{Workers: 1}, LaneConfig[string, int]{Done: func(_ string, _ int, err error) { end = err }}, func(ctx context.Context, _ string, m int) Outcome {
			if m == 1 {
				if step != 5 {
					t.Errorf("the next message started at step %d", step)
				}
				return Done(nil)
			}
			switch step++; step {
			case 1:
				Await(ctx, func(context.Context) (int, error) { time.Sleep(time.Second); return 0, nil })
				return Again(time.Second)
			case 2:
				o, c := Later(ctx)
				time.AfterFunc(time.Second, func() { c.Complete(Again(time.Second)) })
				return o
			case 3:
				return Offload(func(ctx context.Context) Outcome {
					time.Sleep(time.Second)
					o, c := Later(ctx)
					time.AfterFunc(time.Second, func() { c.Complete(Offload(func(context.Context) Outcome { return Again(0) })) })
					return o
				})
			case 4:
				time.Sleep(time.Minute) // a stall, then a wait
				o, c := Later(ctx)
				go c.Complete(Again(0))
				time.Sleep(time.Minute) // completed long before the return
				return o
			}
			return Done(errTest)
		})
		submit(t, l, "k", 0)
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if end != errTest {
			t.Errorf("the message ended with %v at step %d", end, step)
		}
		submit(t, l, "k", 1)
		drain(t, l)
	})
}

// Beyond the origin: a wait for one's own key is an error, not a deadlock.
func TestAwaitKeyFindsCyclesAcrossLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[string]error{}
		var a, b *Lane[string, string]
		wait := func(context.Context) (int, error) { time.Sleep(time.Second); return 0, nil }
		note := func(k string, err error) {
			mu.Lock()
			defer mu.Unlock()
			got[k] = err
		}
		a = open(t, Config{Workers: 2}, LaneConfig[string, string]{Name: "a"}, func(ctx context.Context, k, m string) Outcome {
			_, err := AwaitKey(ctx, b, m, wait)
			note("a/"+k, err)
			return Done(nil)
		})
		b = second(t, a, LaneConfig[string, string]{Name: "b"}, func(ctx context.Context, k, m string) Outcome {
			time.Sleep(time.Millisecond)
			_, err := AwaitKey(ctx, a, m, wait)
			note("b/"+k, err)
			_, err = AwaitKey(ctx, b, k, wait)
			note("own", err)
			return Done(nil)
		})
		submit(t, a, "x", "y") // a/x waits for b/y
		synctest.Wait()
		submit(t, b, "y", "x") // b/y would wait for a/x
		submit(t, b, "z", "x") // b/z may: nobody waits for it
		drain(t, a)
		drain(t, b)
		for k, want := range map[string]error{"a/x": nil, "b/y": ErrOwnKey, "b/z": nil, "own": ErrOwnKey} {
			if got[k] != want {
				t.Errorf("%s: %v, want %v", k, got[k], want)
			}
		}
		if n := len(a.e.waits.edges); n != 0 {
			t.Errorf("%d edges left", n)
		}
	})
}
