package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
		var waits atomic.Bool
		came, finished := make(chan struct{}), make(chan struct{}, 2)
		l := open(t, Config{Workers: 1, Spin: -1}, LaneConfig[int, int]{Done: func(int, int, error) { finished <- struct{}{} }},
			func(ctx context.Context, key, _ int) Outcome {
				if key == 1 {
					came <- struct{}{}
					return Done(nil)
				}
				waits.Store(true)
				_, err := Await(ctx, func(context.Context) (struct{}, error) { return <-came, nil })
				return Done(err)
			})
		for range 20_000 {
			if err := l.Submit(t.Context(), 0, 0); err != nil {
				t.Fatal(err)
			}
			for i := 0; !waits.Load(); i++ { // a channel would start us when it is too late
				if i%1000 == 999 {
					runtime.Gosched()
				}
			}
			waits.Store(false)
			pause(rand.IntN(1000))
			if err := l.Submit(t.Context(), 1, 0); err != nil {
				t.Fatal(err)
			}
			<-finished
			<-finished
		}
	})
}

// TestSendersOfSeveralLanesGetTheirCredits: a slot that turns to another lane
// tells the senders of the one before.
func TestSendersOfSeveralLanesGetTheirCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := New(Config{Workers: 1, Spin: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		var senders sync.WaitGroup
		for range 3 {
			l, err := Open(e, LaneConfig[int, int]{MaxInFlight: 1}, func(context.Context, int, int) Outcome { return Done(nil) })
			if err != nil {
				t.Fatal(err)
			}
			senders.Go(func() {
				for i := range 20_000 {
					if err := l.Submit(t.Context(), i, 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		senders.Wait()
	})
}

// TestCreditOfASenderThatWaitsIsSetAside: a newcomer may overtake a sender that
// waits, but not with the last credit.
func TestCreditOfASenderThatWaitsIsSetAside(t *testing.T) {
	hold := make(chan struct{})
	l := open(t, Config{Workers: 1}, LaneConfig[int, int]{MaxInFlight: 3},
		func(context.Context, int, int) Outcome { <-hold; return Done(nil) })
	defer close(hold)
	if err := l.TrySubmit(0, 0); err != nil {
		t.Fatal(err)
	}
	l.lock()
	l.reserved++ // as a sender does that waits
	l.unlock()
	if err := l.TrySubmit(1, 0); err != nil {
		t.Errorf("with two credits and one set aside: %v", err)
	}
	if err := l.TrySubmit(2, 0); !errors.Is(err, ErrFull) {
		t.Errorf("with one credit, which is set aside: %v, want %v", err, ErrFull)
	}
	l.lock()
	l.reserved--
	l.unlock()
	if err := l.TrySubmit(2, 0); err != nil {
		t.Errorf("when nobody waits any more: %v", err)
	}
}

// TestOverflowKeepsTheOrder: messages beyond a key's bound come after those
// before it, in their order, whatever of the window other keys have.
func TestOverflowKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := map[int]int{}
		hold := make(chan struct{})
		l := open(t, Config{Workers: 1}, LaneConfig[int, int]{MaxInFlight: 6, PerKey: 2, Overflow: 30},
			func(_ context.Context, key, n int) Outcome {
				<-hold
				if n != next[key] {
					t.Errorf("key %d: message %d, want %d", key, n, next[key])
				}
				next[key]++
				return Done(nil)
			})
		sent := map[int]int{}
		for range 200 {
			for range 1 + rand.IntN(12) {
				key := rand.IntN(4)
				if l.TrySubmit(key, sent[key]) == nil {
					sent[key]++
				}
			}
			for range rand.IntN(12) {
				select {
				case hold <- struct{}{}:
					synctest.Wait()
				default:
				}
			}
		}
		close(hold)
		synctest.Wait()
		for key, n := range sent {
			if next[key] != n {
				t.Errorf("key %d: %d messages handled, want %d", key, next[key], n)
			}
		}
	})
}

// TestCreditsGoRoundBesideMessagesThatStay: most of the window waits for something
// that does not come; senders share what is left of it.
func TestCreditsGoRoundBesideMessagesThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, stay = 8, 7
		later := make(chan Completion, stay)
		l := open(t, Config{Workers: 1, Spin: -1}, LaneConfig[int, bool]{MaxInFlight: window},
			func(ctx context.Context, _ int, stays bool) Outcome {
				if !stays {
					return Done(nil)
				}
				o, c := Later(ctx)
				later <- c
				return o
			})
		for key := range stay {
			if err := l.Submit(t.Context(), key, true); err != nil {
				t.Fatal(err)
			}
		}
		var senders sync.WaitGroup
		for s := range 4 {
			senders.Go(func() {
				for i := range 10_000 {
					if err := l.Submit(t.Context(), window+s+4*i, false); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		senders.Wait()
		for range stay {
			(<-later).Complete(Done(nil))
		}
	})
}
