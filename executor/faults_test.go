package executor

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Rule 9.
func TestNeighboursOfAStalledHandlerStartWithinThreeMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := make(chan Stall, 10)
		var worst time.Duration
		var ends []int
		began := time.Now()
		l := open(t, Config{Workers: 1, OnStall: func(s Stall) { stalls <- s }}, LaneConfig[int, int]{Name: "orders"}, func(_ context.Context, k, m int) Outcome {
			if k == 0 {
				if m == 0 {
					time.Sleep(20 * time.Millisecond)
				}
				ends = append(ends, m) // plain: only one at a time
				return Done(nil)
			}
			worst = max(worst, time.Since(began))
			return Done(nil)
		})
		submit(t, l, 0, 0, 1)
		for k := range 49 {
			submit(t, l, k+1, 0)
		}
		drain(t, l)
		if worst > 3*time.Millisecond {
			t.Errorf("the slowest neighbour started after %v", worst)
		}
		if len(ends) != 2 || ends[0] != 0 {
			t.Errorf("the stalled key's messages ended as %v", ends)
		}
		synctest.Wait()
		if len(stalls) != 1 {
			t.Fatalf("%d reports, want 1", len(stalls))
		}
		if s := <-stalls; s.Lane != "orders" || s.Key != 0 || !bytes.Contains(s.Stack, []byte("TestNeighboursOfAStalledHandler")) {
			t.Errorf("reported lane %q, key %v, stack\n%s", s.Lane, s.Key, s.Stack)
		}
		if all, own := l.e.Stats().Stalls, l.stalls.Load(); all != 1 || own != 1 {
			t.Errorf("%d stalls counted, %d of the lane, want 1", all, own)
		}
	})
}

// A stall with nothing behind it costs nothing, and what comes then does not
// wait at all.
func TestWorkBehindAStallThatWasSeenStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		l := open(t, Config{Workers: 1}, LaneConfig[int, int]{}, func(_ context.Context, k, m int) Outcome {
			if k == 0 {
				time.Sleep(time.Second)
			} else {
				at = time.Now()
			}
			return Done(nil)
		})
		submit(t, l, 0, 0)
		time.Sleep(100 * time.Millisecond)
		if n := l.e.Stats().Stalls; n != 0 {
			t.Errorf("%d stalls counted with nothing behind, want 0", n)
		}
		began := time.Now()
		submit(t, l, 1, 0)
		synctest.Wait()
		if at != began {
			t.Errorf("started at %v, submitted at %v", at, began)
		}
		if n := l.e.Stats().Stalls; n != 1 {
			t.Errorf("%d stalls counted, want 1", n)
		}
		drain(t, l)
	})
}

func TestNoMonitorTicksWhenAllWorkersAreParked(t *testing.T) {
	l := open(t, Config{Workers: 2, StallAfter: 100 * time.Microsecond, Spin: -1}, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome { return Done(nil) })
	for range 20 {
		submit(t, l, 0, 0)
		for l.e.watching.Load() != 0 { // it must leave by itself
			runtime.Gosched()
		}
	}
	drain(t, l)
}

// Rule 10.
func TestPanicInDoneIsCountedAndHarmless(t *testing.T) {
	var n atomic.Int32
	l := open(t, Config{Workers: 1}, LaneConfig[int, int]{Done: func(_, m int, _ error) {
		n.Add(1)
		switch m % 10 {
		case 3:
			panic("boom")
		case 5:
			runtime.Goexit()
		}
	}}, func(context.Context, int, int) Outcome { return Done(nil) })
	for m := range 200 {
		submit(t, l, m%3, m)
	}
	drain(t, l)
	if n.Load() != 200 || l.e.Stats().DonePanics != 40 {
		t.Errorf("Done called %d times with %d panics, want 200 and 40", n.Load(), l.e.Stats().DonePanics)
	}
}

func TestPanicErrorTellsKeyValueAndStack(t *testing.T) {
	ends := make(chan error, 1)
	l := open(t, Config{}, LaneConfig[string, int]{Done: func(_ string, _ int, err error) { ends <- err }},
		func(context.Context, string, int) Outcome { panic(errTest) })
	submit(t, l, "k1", 0)
	err := <-ends
	var p *PanicError
	if !errors.As(err, &p) || p.Key != "k1" || !errors.Is(err, errTest) || !bytes.Contains(p.Stack, []byte("TestPanicErrorTells")) {
		t.Errorf("got %v", err)
	}
	drain(t, l)
}

// Rule 11.
func TestCloseReportsWhatIsLeftByLaneAndKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		var ran atomic.Int32
		stuck, err := Open(e, LaneConfig[string, int]{Name: "orders", MaxInFlight: 10, PerKey: 5, Overflow: 5}, func(ctx context.Context, k string, _ int) Outcome {
			ran.Add(1)
			switch k {
			case "later":
				o, _ := Later(ctx)
				return o
			case "again":
				return Again(time.Hour)
			case "await":
				_, err := Await(ctx, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
				return Done(err)
			}
			<-ctx.Done() // says nothing, but listens
			return Done(ctx.Err())
		})
		if err != nil {
			t.Fatal(err)
		}
		free, err := Open(e, LaneConfig[string, int]{Name: "free"}, func(context.Context, string, int) Outcome { return Done(nil) })
		if err != nil {
			t.Fatal(err)
		}
		submit(t, free, "x", 1, 2, 3)
		submit(t, stuck, "later", 0, 0, 0, 0, 0, 0, 0)
		submit(t, stuck, "again", 0, 0)
		submit(t, stuck, "await", 0)
		submit(t, stuck, "block", 0, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err = e.Close(ctx)
		var left *LeftError
		if !errors.As(err, &left) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Close: %v, want a LeftError with the deadline's", err)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("Close took %v", d)
		}
		got := map[string]int{}
		for _, k := range left.Keys {
			got[k.Lane+"/"+k.Key.(string)] = k.Count
		}
		for k, want := range map[string]int{"orders/later": 7, "orders/again": 2, "orders/await": 1, "orders/block": 2} {
			if got[k] != want {
				t.Errorf("%s: %d left, want %d", k, got[k], want)
			}
		}
		if left.Total != 12 || len(got) != 4 {
			t.Errorf("%v", err)
		}
		if again := e.Close(t.Context()); again != nil {
			t.Errorf("a second Close: %v", again)
		}
		n := ran.Load()
		time.Sleep(2 * time.Hour)
		if ran.Load() != n {
			t.Errorf("%d handlers were started after Close", ran.Load()-n)
		}
		if err := free.Submit(t.Context(), "x", 1); err != ErrStopped {
			t.Errorf("Submit after Close: %v, want ErrStopped", err)
		}
		if _, err := Open(e, LaneConfig[int, int]{Name: "late"}, func(context.Context, int, int) Outcome { return Done(nil) }); !errors.Is(err, ErrStopped) {
			t.Errorf("Open after Close: %v, want ErrStopped", err)
		}
	})
}

func TestLaneCloseLeavesTheExecutorOpen(t *testing.T) {
	l := open(t, Config{Workers: 2}, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome { return Done(nil) })
	for i := range 100 {
		n := second(t, l, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome { return Done(nil) })
		submit(t, n, i, 1, 2, 3)
		drain(t, n)
	}
	submit(t, l, 1, 1)
	if n := len(l.e.Stats().Lanes); n != 1 {
		t.Errorf("%d lanes are known, want 1", n)
	}
	drain(t, l)
}

// Rule 11: whatever the moment of Close, each message is done, refused or
// reported, and no goroutine is left (see TestMain).
func TestStartStopStorm(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		stopAtRandom(t)
	}
}

func stopAtRandom(t *testing.T) {
	o := newOracle(t, 10, 1<<30)
	e, err := New(Config{Workers: 1 + rand.IntN(4), MaxInFlight: 1 + rand.IntN(20), StallAfter: time.Duration(rand.IntN(2)*100) * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	var lanes []*Lane[int, job]
	for range 1 + rand.IntN(3) {
		l, err := Open(e, LaneConfig[int, job]{Done: o.finished}, o.handler("all"))
		if err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, l)
	}
	var senders, closers sync.WaitGroup
	for p := range 3 {
		senders.Go(func() {
			for k := p; ; k = (k + 3) % 10 { // p and k mod 3: not one sender a key, so submit has a lock
				l := lanes[k%len(lanes)]
				if err := o.submit(k, func(k int, j job) error { return l.Submit(context.Background(), k, j) }); err != nil {
					if err != ErrStopped {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	for range rand.IntN(2000) {
		runtime.Gosched()
	}
	var left atomic.Int64
	for range 1 + rand.IntN(2) {
		closers.Go(func() {
			ctx := context.Background()
			if rand.IntN(2) == 0 {
				var cancel func()
				ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(3))*time.Millisecond)
				defer cancel()
			}
			var le *LeftError
			switch err := e.Close(ctx); {
			case errors.As(err, &le):
				left.Store(int64(le.Total))
				var n int
				for _, k := range le.Keys {
					n += k.Count
				}
				// What ran while the report was made may be in one figure only.
				if over := o.inFlight.Load(); n > le.Total+int(over)+100 {
					t.Errorf("%d by key, %d in all", n, le.Total)
				}
			case err != nil && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("Close: %v", err)
			}
		})
	}
	senders.Wait()
	closers.Wait()
	e.leave()
	o.helpers.Wait()
	done, sent := o.done.Load(), o.sent()
	if done > sent || done+left.Load() < sent {
		t.Errorf("%d sent, %d done, %d reported left", sent, done, left.Load())
	}
	if left.Load() == 0 && done != sent {
		t.Errorf("%d sent, %d done, and Close reported nothing left", sent, done)
	}
}

// Rule 12.
func TestSharedKeepsNoGoroutine(t *testing.T) {
	l, err := Open(Shared(), LaneConfig[int, int]{}, func(ctx context.Context, k, _ int) Outcome {
		if k%3 == 0 {
			Await(ctx, func(context.Context) (int, error) { runtime.Gosched(); return 0, nil })
		}
		return Done(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 1000 {
		submit(t, l, k, 0)
	}
	drain(t, l) // goleak, in TestMain, knows nothing of Shared
}
