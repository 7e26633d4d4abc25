package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func openShards[K comparable, M any](t *testing.T, n int, cfg Config, lc LaneConfig[K, M], h Handler[K, M]) (*Executor, *Shards[K, M]) {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenShards(e, n, lc, h)
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

func TestShardsKeepTheOrderOfAKeyUnderManySenders(t *testing.T) {
	const senders, each = 8, 2000
	var next [senders]int // plain: of one key each
	e, s := openShards(t, 4, Config{Workers: 3}, LaneConfig[int, int]{MaxInFlight: 64}, func(_ context.Context, k, m int) Outcome {
		if next[k] != m {
			t.Errorf("key %d: message %d came, want %d", k, m, next[k])
		}
		next[k]++
		return Done(nil)
	})
	var wg sync.WaitGroup
	for k := range senders {
		wg.Go(func() {
			for m := range each {
				if err := s.Submit(t.Context(), k, m); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for k, n := range next {
		if n != each {
			t.Errorf("key %d: %d messages ran, want %d", k, n, each)
		}
	}
	if lanes := e.Stats().Lanes; len(lanes) != 0 {
		t.Errorf("%d lanes are left", len(lanes))
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestShardsDivideTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		e, s := openShards(t, 3, Config{Workers: 1, StallAfter: -1}, LaneConfig[int, int]{Name: "orders", MaxInFlight: 10}, func(context.Context, int, int) Outcome {
			<-hold
			return Done(nil)
		})
		var admitted int
		for k := range 1000 {
			switch err := s.TrySubmit(k, 0); {
			case err == nil:
				admitted++
			case !errors.Is(err, ErrFull):
				t.Fatal(err)
			}
		}
		if admitted != 10 {
			t.Errorf("%d admitted, want 10", admitted)
		}
		var names []string
		windows := 0
		for _, l := range e.Stats().Lanes {
			names = append(names, l.Name)
			windows += l.Window
		}
		if got := strings.Join(names, " "); got != "orders/0 orders/1 orders/2" || windows != 10 {
			t.Errorf("lanes %q with windows of %d in all", got, windows)
		}
		close(hold)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestClosedShardsAdmitNothingAndSayWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var ran atomic.Int32
		e, s := openShards(t, 4, Config{Workers: 2}, LaneConfig[int, int]{MaxInFlight: 64}, func(context.Context, int, int) Outcome {
			<-hold
			ran.Add(1)
			return Done(nil)
		})
		for k := range 16 {
			if err := s.Submit(t.Context(), k, 0); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var left *LeftError
		if err := s.Close(ctx); !errors.As(err, &left) || left.Total != 16 {
			t.Errorf("Close: %v, want 16 left", err)
		}
		for k := range 100 {
			if err := s.TrySubmit(k, 1); !errors.Is(err, ErrStopped) {
				t.Fatalf("a closed shard: %v", err)
			}
		}
		close(hold)
		if err := s.Close(t.Context()); err != nil || ran.Load() != 16 {
			t.Errorf("the second Close: %v, and %d ran", err, ran.Load())
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestShardsRefuseWhatMakesNoSense(t *testing.T) {
	e, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	h := func(context.Context, int, int) Outcome { return Done(nil) }
	for _, c := range []struct {
		n    int
		cfg  LaneConfig[int, int]
		want string
	}{
		{0, LaneConfig[int, int]{}, "shards"},
		{4, LaneConfig[int, int]{MaxInFlight: 3}, "max-in-flight"},
		{2, LaneConfig[int, int]{SingleSender: true}, "single-sender"},
		{2, LaneConfig[int, int]{MaxInFlight: 8, PerKey: 8}, "per-key"},
	} {
		if _, err := OpenShards(e, c.n, c.cfg, h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d shards of %+v: %v", c.n, c.cfg, err)
		}
	}
	if lanes := e.Stats().Lanes; len(lanes) != 0 {
		t.Errorf("%d lanes are left open", len(lanes))
	}
}
