package executor

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// Rule 13.
func TestSynchronousMessagesAllocateNothing(t *testing.T) {
	for name, single := range map[string]bool{"single sender": true, "many senders": false} {
		done := make(chan struct{}, 1)
		l := open(t, Config{Workers: 1}, LaneConfig[uint64, *int]{SingleSender: single}, func(_ context.Context, _ uint64, m *int) Outcome {
			if m != nil {
				done <- struct{}{}
			}
			return Done(nil)
		})
		ctx, k := t.Context(), uint64(0)
		round := func() {
			for range 1000 {
				k += 0x9E3779B97F4A7C15
				if err := l.Submit(ctx, k, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Submit(ctx, k, new(int)); err != nil {
				t.Fatal(err)
			}
			<-done
		}
		round()
		// A few are the round's own, and goroutines that come and go.
		if n := testing.AllocsPerRun(20, round); n > 10 {
			t.Errorf("%s: %v allocations for 1,001 messages of as many keys", name, n)
		}
	}
}

func TestWaitingMessagesAllocateOncePerMailbox(t *testing.T) {
	done := make(chan struct{}, 1)
	tries := 0
	l := open(t, Config{Workers: 1}, LaneConfig[int, int]{}, func(ctx context.Context, k, m int) Outcome {
		switch {
		case m == 0:
			o, c := Later(ctx)
			c.Complete(Done(nil))
			return o
		case m == 1:
			if tries++; tries%2 == 1 {
				return Again(time.Nanosecond)
			}
		case m == 2:
			Await(ctx, func(context.Context) (int, error) { return 0, nil })
		default:
			done <- struct{}{}
		}
		return Done(nil)
	})
	round := func() {
		for m := range 4 {
			submit(t, l, 1, m)
		}
		<-done
	}
	round()
	if n := testing.AllocsPerRun(100, round); n > 6 { // the test's own, and a goroutine for the timer
		t.Errorf("%v allocations for four messages", n)
	}
}

func TestUnusedLaneIsSmallAndAnIdleOneHoldsNoMessage(t *testing.T) {
	l := open(t, Config{Workers: 2, MaxInFlight: 1 << 20}, LaneConfig[int, job]{}, func(context.Context, int, job) Outcome { return Done(nil) })
	if l.cells != nil || l.boxes != nil || l.ports[0].Load() != nil {
		t.Error("a lane that was never used has tables")
	}
	if n := unsafe.Sizeof(*l) + uintptr(len(l.ports))*unsafe.Sizeof(l.ports[0]); n > 1024 {
		t.Errorf("a lane that was never used takes %d bytes", n)
	}
}

// Rule 14.
func TestStatsAndKeysTellWhatIsWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := open(t, Config{Workers: 1, MaxInFlight: 100}, LaneConfig[string, int]{Name: "orders", PerKey: 10, Overflow: 10}, func(ctx context.Context, k string, _ int) Outcome {
			switch k {
			case "awaits":
				Await(ctx, func(context.Context) (int, error) { <-release; return 0, nil })
			case "later":
				o, c := Later(ctx)
				go func() { <-release; c.Complete(Done(nil)) }()
				return o
			case "blocks":
				<-release
			}
			return Done(nil)
		})
		submit(t, l, "awaits", 0)
		submit(t, l, "later", make([]int, 15)...)
		synctest.Wait()
		time.Sleep(time.Second)
		submit(t, l, "blocks", 0)
		synctest.Wait()
		submit(t, l, "queued", 0, 0, 0)
		st := l.e.Stats()
		if w := st.Workers[0]; w.State != "running" || w.Held != 15 {
			t.Errorf("worker %+v, want it running with 15 messages", w)
		}
		if ls := st.Lanes[0]; ls.Name != "orders" || ls.Window != 100 || ls.InFlight != 15 || ls.Overflow != 5 || ls.Admitted != 15 {
			t.Errorf("lane %+v", ls)
		}
		var got []string
		for _, k := range l.e.Keys(t.Context(), 10) {
			got = append(got, fmt.Sprintf("%s/%s %d %s %t", k.Lane, k.Key, k.Backlog, k.State, k.Age >= time.Second/2))
		}
		want := []string{"orders/later 15 waiting true", "orders/queued 3 queued false", "orders/awaits 1 running true", "orders/blocks 1 running false"}
		if !slices.Equal(got, want) {
			t.Errorf("keys\n%q, want\n%q", got, want)
		}
		if top := l.e.Keys(t.Context(), 1); len(top) != 2 || top[0].Key != "later" {
			t.Errorf("top 1: %+v", top)
		}
		close(release)
		drain(t, l)
	})
}
