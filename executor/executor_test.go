package executor

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open[K comparable, M any](t *testing.T, cfg Config, lc LaneConfig[K, M], h Handler[K, M]) *Lane[K, M] {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(e, lc, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestOneMessageOfAKeyAtATimeInOrder mixes every way of waiting.
func TestOneMessageOfAKeyAtATimeInOrder(t *testing.T) {
	const keys, perKey = 20, 200
	var busy [keys]atomic.Int32
	var next [keys]int // plain: the race detector proves that handlers of a key do not overlap
	var again sync.Map
	var done atomic.Int64
	finish := func(k, seq int) Outcome {
		if next[k] != seq {
			t.Errorf("key %d: message %d, want %d", k, seq, next[k])
		}
		next[k]++
		busy[k].Add(-1)
		return Done(nil)
	}
	l := open(t, Config{Workers: 3}, LaneConfig[int, int]{MaxInFlight: 64, Throughput: 4, Done: func(_, _ int, _ error) { done.Add(1) }},
		func(ctx context.Context, k, seq int) Outcome {
			id := k*perKey + seq
			if _, second := again.Load(id); second {
				return finish(k, seq)
			}
			if busy[k].Add(1) != 1 {
				t.Errorf("key %d: two at once", k)
			}
			switch id % 7 {
			case 1:
				_, err := Await(ctx, func(context.Context) (int, error) { runtime.Gosched(); return 0, nil })
				if err != nil {
					t.Error(err)
				}
			case 2:
				o, c := Later(ctx)
				go func() { runtime.Gosched(); c.Complete(finish(k, seq)) }()
				return o
			case 3:
				again.Store(id, true)
				return Again(10 * time.Microsecond)
			case 4:
				return Offload(func(context.Context) Outcome { return finish(k, seq) })
			case 5:
				o, c := Later(ctx)
				again.Store(id, true)
				c.Complete(Again(0))
				return o
			}
			return finish(k, seq)
		})
	var wg sync.WaitGroup
	for k := range keys {
		wg.Go(func() {
			for seq := range perKey {
				if err := l.Submit(t.Context(), k, seq); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done.Load() != keys*perKey {
		t.Errorf("%d messages done, want %d", done.Load(), keys*perKey)
	}
}

func TestPanicAndGoexitBecomeTheMessagesError(t *testing.T) {
	var errs sync.Map
	l := open(t, Config{Workers: 1}, LaneConfig[string, int]{Done: func(_ string, m int, err error) { errs.Store(m, err) }},
		func(_ context.Context, _ string, m int) Outcome {
			switch m {
			case 1:
				panic("boom")
			case 2:
				runtime.Goexit()
			}
			return Done(nil)
		})
	for m := range 4 {
		if err := l.Submit(t.Context(), "k", m); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for m, want := range []any{nil, "boom", ErrGoexit, nil} {
		got, _ := errs.Load(m)
		var p *PanicError
		err, _ := got.(error)
		if errors.As(err, &p) != (want != nil) || p != nil && p.Value != want {
			t.Errorf("message %d: error %v, want panic value %v", m, got, want)
		}
	}
}

func TestSubmitFromAHandlerGivesItsWorkerAway(t *testing.T) {
	var seen atomic.Int64
	inner := open(t, Config{Workers: 1}, LaneConfig[int, int]{Name: "inner", MaxInFlight: 1},
		func(context.Context, int, int) Outcome { seen.Add(1); return Done(nil) })
	outer, err := Open(inner.e, LaneConfig[int, int]{Name: "outer"}, func(ctx context.Context, k, m int) Outcome {
		for i := range 3 {
			if err := inner.Submit(ctx, i, m); err != nil {
				t.Error(err)
			}
		}
		return Done(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := outer.Submit(t.Context(), i, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(outer.Close(t.Context()), inner.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if seen.Load() != 150 {
		t.Errorf("%d messages seen, want 150", seen.Load())
	}
}

func TestCloseReportsWhatIsLeft(t *testing.T) {
	e, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(e, LaneConfig[string, int]{Name: "orders"}, func(ctx context.Context, _ string, _ int) Outcome {
		o, _ := Later(ctx)
		return o
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.TrySubmit("a", 1); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var left *LeftError
	if err := e.Close(ctx); !errors.As(err, &left) || left.Total != 3 || left.Keys[0] != (Left{"orders", "a", 3}) {
		t.Fatalf("Close: %v, want 3 left of key a", err)
	}
	if err := l.TrySubmit("a", 1); err != ErrStopped {
		t.Errorf("TrySubmit after Close: %v, want ErrStopped", err)
	}
}

func TestOptionsAreCheckedAllAtOnce(t *testing.T) {
	_, err := New(Config{Workers: -1, MaxInFlight: 1 << 21, Throughput: 1 << 17})
	const want = `executor: checking the options: wow.dispatch.workers = -1: must be between 1 and 1024
wow.dispatch.max-in-flight = 2097152: must be between 1 and 1048576
wow.dispatch.throughput = 131072: must be between 1 and 65536`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}
