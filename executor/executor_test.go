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

// open opens a lane on an executor of its own, which must be empty in the end.
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
