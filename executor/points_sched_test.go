//go:build wowsched

package executor

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestMonitorThatLeavesFindsTheSlotThatIsHeldMeanwhile: a handler begins to block
// between the monitor's look at the slots and its note that it has left.
func TestMonitorThatLeavesFindsTheSlotThatIsHeldMeanwhile(t *testing.T) {
	defer func() { yieldHook = nil }()
	synctest.Test(t, func(t *testing.T) {
		blocked, release, finished := make(chan struct{}), make(chan struct{}), make(chan struct{}, 3)
		l := open(t, Config{Workers: 1, Spin: -1}, LaneConfig[int, string]{Done: func(int, string, error) { finished <- struct{}{} }},
			func(_ context.Context, _ int, msg string) Outcome {
				switch msg {
				case "block":
					close(blocked)
					<-release // without a word
				case "neighbour":
					close(release)
				}
				return Done(nil)
			})
		left := false
		yieldHook = func(point string) {
			if point == "monitor.idle" && !left {
				left = true
				if err := l.TrySubmit(1, "block"); err != nil {
					t.Error(err)
				}
				<-blocked
			}
		}
		if err := l.Submit(t.Context(), 0, "start the monitor"); err != nil {
			t.Fatal(err)
		}
		<-blocked
		if err := l.Submit(t.Context(), 2, "neighbour"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			<-finished
		}
	})
}

// TestCompletionThatIsPublishedWhileASenderParksIsFound: the slot publishes what
// it finished of a lane as it turns to another one, and a sender of the first
// parks at that moment.
func TestCompletionThatIsPublishedWhileASenderParksIsFound(t *testing.T) {
	defer func() { yieldHook = nil }()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Workers: 1, Spin: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		hold, sent := make(chan struct{}), make(chan error, 1)
		var lanes [2]*Lane[int, int]
		for i := range lanes {
			lanes[i], err = Open(e, LaneConfig[int, int]{MaxInFlight: 16}, func(_ context.Context, _, n int) Outcome {
				if n == 0 {
					<-hold
				}
				return Done(nil)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range lanes { // the window of the first is full, the second has one
			for n := range 16 - 15*i {
				if err := l.TrySubmit(0, n); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		came := false
		yieldHook = func(point string) {
			if point == "slot.flush" && !came {
				came = true
				go func() { sent <- lanes[0].Submit(t.Context(), 0, 1) }()
				synctest.Wait() // until it has been admitted, or has parked
			}
		}
		close(hold)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

// TestCompletionThatIsPublishedWhileASenderParksIsToldAtOnce: the sender parks
// just as the slot publishes, and what the slot runs next, of another lane, ends
// only when the sender has been admitted. A second look when that ends would
// come too late.
func TestCompletionThatIsPublishedWhileASenderParksIsToldAtOnce(t *testing.T) {
	defer func() { yieldHook = nil }()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Workers: 1, Spin: -1, StallAfter: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		hold, admitted := make(chan struct{}), make(chan struct{})
		first, err := Open(e, LaneConfig[int, int]{MaxInFlight: 1}, func(_ context.Context, _, n int) Outcome {
			if n == 0 {
				<-hold
			}
			return Done(nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		second, err := Open(e, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome {
			<-admitted
			return Done(nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := first.TrySubmit(0, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the handler holds the slot
		if err := second.TrySubmit(0, 0); err != nil {
			t.Fatal(err)
		}
		came := false
		yieldHook = func(point string) {
			if point == "slot.flush" && !came {
				came = true
				go func() {
					defer close(admitted)
					if err := first.Submit(t.Context(), 0, 1); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait() // until it has been admitted, or has parked
			}
		}
		close(hold)
		<-admitted
	})
}
