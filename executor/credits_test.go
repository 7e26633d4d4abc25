package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryCreditComesBack: whatever turns and chains the messages were finished
// in, the window is whole afterwards: it admits as many as it should, no more.
func TestEveryCreditComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 40
		hold := make(chan struct{})
		close(hold)
		l := open(t, Config{Workers: 2}, LaneConfig[int, int]{MaxInFlight: window, Throughput: 7},
			func(context.Context, int, int) Outcome { <-hold; return Done(nil) })
		for range 300 {
			keys := 1 + rand.IntN(window)
			for range 1 + rand.IntN(3*window) {
				if err := l.Submit(t.Context(), rand.IntN(keys), 0); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			hold = make(chan struct{})
			for i := range window {
				if err := l.TrySubmit(i%keys, 0); err != nil {
					t.Fatalf("message %d of a window of %d: %v", i, window, err)
				}
			}
			if err := l.TrySubmit(0, 0); !errors.Is(err, ErrFull) {
				t.Fatalf("one more than the window: %v, want %v", err, ErrFull)
			}
			close(hold)
			synctest.Wait()
		}
	})
}

// TestPortThatIsNoLongerWatchedIsNotForgotten: a slot that runs dry watches a
// few lanes only. A message that comes to another one at that very moment is
// found, or it would be a deadlock in the bubble.
func TestPortThatIsNoLongerWatchedIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Workers: 1, Spin: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		finished := make(chan struct{}, 1)
		var lanes []*Lane[int, int]
		for range 3 * watchIdle {
			l, err := Open(e, LaneConfig[int, int]{Done: func(int, int, error) { finished <- struct{}{} }},
				func(context.Context, int, int) Outcome { return Done(nil) })
			if err != nil {
				t.Fatal(err)
			}
			lanes = append(lanes, l)
		}
		for i := range 40_000 {
			if err := lanes[i/8%len(lanes)].Submit(t.Context(), i, 0); err != nil {
				t.Fatal(err)
			}
			<-finished
		}
	})
}

// TestWorkForAVacantSlotIsNotForgotten: a handler waits for a message that comes
// while it gives its worker away.
func TestWorkForAVacantSlotIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits, came, finished := make(chan struct{}), make(chan struct{}), make(chan struct{}, 2)
		l := open(t, Config{Workers: 1, Spin: -1}, LaneConfig[int, int]{Done: func(int, int, error) { finished <- struct{}{} }},
			func(ctx context.Context, key, _ int) Outcome {
				if key == 1 {
					came <- struct{}{}
					return Done(nil)
				}
				waits <- struct{}{}
				_, err := Await(ctx, func(context.Context) (struct{}, error) { return <-came, nil })
				return Done(err)
			})
		for range 20_000 {
			if err := l.Submit(t.Context(), 0, 0); err != nil {
				t.Fatal(err)
			}
			<-waits
			if err := l.Submit(t.Context(), 1, 0); err != nil {
				t.Fatal(err)
			}
			<-finished
			<-finished
		}
	})
}

// TestMonitorThatLeavesIsReplaced: a handler begins to block at the tick at
// which the monitor finds nothing to watch.
func TestMonitorThatLeavesIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, finished := make(chan struct{}), make(chan struct{}, 2)
		l := open(t, Config{Workers: 1, Spin: -1, StallAfter: time.Millisecond},
			LaneConfig[int, int]{Done: func(int, int, error) { finished <- struct{}{} }},
			func(_ context.Context, key, _ int) Outcome {
				if key == 0 {
					<-release // without a word
				} else {
					release <- struct{}{}
				}
				return Done(nil)
			})
		for range 20_000 {
			time.Sleep(time.Millisecond)
			for key := range 2 {
				if err := l.Submit(t.Context(), key, 0); err != nil {
					t.Fatal(err)
				}
			}
			<-finished
			<-finished
		}
	})
}
