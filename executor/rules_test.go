package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// second opens another lane on the executor of one.
func second[K comparable, M, A any](t *testing.T, of *Lane[K, A], lc LaneConfig[K, M], h Handler[K, M]) *Lane[K, M] {
	t.Helper()
	l, err := Open(of.e, lc, h)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func submit[K comparable, M any](t *testing.T, l *Lane[K, M], key K, msgs ...M) {
	t.Helper()
	for _, m := range msgs {
		if err := l.Submit(t.Context(), key, m); err != nil {
			t.Fatal(err)
		}
	}
}

func drain[K comparable, M any](t *testing.T, l *Lane[K, M]) {
	t.Helper()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Rule 2.
func TestDifferentKeysRunInParallelOnAtMostWorkersWorkers(t *testing.T) {
	const workers, lanes = 3, 5
	var running, most atomic.Int32
	all := make(chan struct{})
	h := func(context.Context, int, int) Outcome {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == workers {
			select {
			case <-all:
			default:
				close(all)
			}
		}
		<-all // until as many run as there are workers
		running.Add(-1)
		return Done(nil)
	}
	first := open(t, Config{Workers: workers, StallAfter: -1}, LaneConfig[int, int]{}, h)
	ls := []*Lane[int, int]{first}
	for range lanes - 1 {
		ls = append(ls, second(t, first, LaneConfig[int, int]{}, h))
	}
	for k := range 200 {
		submit(t, ls[k%lanes], k, 0)
	}
	for _, l := range ls {
		drain(t, l)
	}
	if most.Load() != workers {
		t.Errorf("%d handlers at once, want %d", most.Load(), workers)
	}
}

// Rule 3: affinity.
func TestMailboxKeepsItsWorkerUntilItIsEmpty(t *testing.T) {
	const keys, batch = 20, 10
	var worker [keys]int
	var done [keys]chan struct{}
	for k := range done {
		done[k] = make(chan struct{}, 1)
		done[k] <- struct{}{}
	}
	l := open(t, Config{Workers: 4}, LaneConfig[int, int]{}, func(ctx context.Context, k, m int) Outcome {
		id := turnOf(ctx).c.s.id
		if m == 0 {
			worker[k] = id
		} else if worker[k] != id {
			t.Errorf("key %d went from worker %d to %d with messages queued", k, worker[k], id)
		}
		switch m % 5 {
		case 2:
			Await(ctx, func(context.Context) (int, error) { return 0, nil })
			if now := turnOf(ctx).c.s.id; now != id {
				t.Errorf("key %d: Await resumed on worker %d, not %d", k, now, id)
			}
		case 3:
			o, c := Later(ctx)
			go c.Complete(Done(nil))
			return o
		}
		if m == batch-1 {
			done[k] <- struct{}{}
		}
		return Done(nil)
	})
	for i := range 2000 {
		k := i % keys
		<-done[k]
		var msgs []Entry[int, int]
		for m := range batch {
			msgs = append(msgs, Entry[int, int]{k, m})
		}
		if _, err := l.SubmitBatch(t.Context(), msgs); err != nil { // at once: there is room
			t.Fatal(err)
		}
	}
	drain(t, l)
}

// Rule 3: placement.
func TestNewMailboxGoesToTheShortestWait(t *testing.T) {
	type slots struct {
		state  uint32
		length uint32
	}
	const cost = 1000 // ns a message
	for name, c := range map[string]struct {
		slots []slots
		want  int
	}{
		"a running one with nothing queued before a parked one": {[]slots{{slotParked, 0}, {slotHeld, 0}}, 1},
		"a short wait before a wake":                            {[]slots{{slotHeld, 10}, {slotParked, 0}}, 0},
		"a wake before a long wait":                             {[]slots{{slotHeld, 100}, {slotParked, 0}}, 1},
		"the least loaded":                                      {[]slots{{slotHeld, 100}, {slotHeld, 60}, {slotHeld, 70}}, 1},
		"not behind a handler that waits, if one is free":       {[]slots{{slotVacant, 0}, {slotHeld, 0}}, 1},
	} {
		e, err := New(Config{Workers: len(c.slots)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(e, LaneConfig[int, int]{}, func(context.Context, int, int) Outcome { return Done(nil) })
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range c.slots {
			e.slots[i].state.Store(s.state)
			e.slots[i].length.Store(s.length)
			e.slots[i].cost.Store(cost)
		}
		l.prepare()
		if got := l.place().slot.id; got != c.want {
			t.Errorf("%s: placed on %d, want %d", name, got, c.want)
		}
		for _, s := range e.slots {
			s.state.Store(slotParked)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Rule 4.
func TestHotKeyCannotStarveItsNeighbours(t *testing.T) {
	const throughput = 4
	var order []string
	gate := make(chan struct{})
	l := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[string, int]{Throughput: throughput}, func(_ context.Context, k string, _ int) Outcome {
		if k == "gate" {
			gate <- struct{}{}
			<-gate
		} else {
			order = append(order, k)
		}
		return Done(nil)
	})
	submit(t, l, "gate", 0)
	<-gate
	submit(t, l, "hot", make([]int, 100)...)
	submit(t, l, "cold", 1)
	submit(t, l, "cool", 1, 2)
	close(gate)
	drain(t, l)
	// One mailbox is queued ahead of cold and two ahead of cool.
	if i := slices.Index(order, "cold"); i != throughput {
		t.Errorf("cold started after %d others, want %d", i, throughput)
	}
	if i := slices.Index(order, "cool"); i != throughput+1 {
		t.Errorf("cool started after %d others, want %d", i, throughput+1)
	}
}

// Rule 5.
func TestBusyWorkerTakesTheNextMailboxWithoutBeingWoken(t *testing.T) {
	gate := make(chan struct{})
	l := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[int, int]{}, func(_ context.Context, k, _ int) Outcome {
		if k == 0 {
			<-gate
		}
		return Done(nil)
	})
	for k := range 100 {
		submit(t, l, k, 0)
	}
	close(gate)
	drain(t, l)
	if n := l.e.Stats().Workers[0].Wakes; n != 1 {
		t.Errorf("%d wakes, want 1", n)
	}
}

// Rule 6: the origin's lane stops for good at 241 unfinished messages of 256.
func TestFewFreeCreditsKeepALaneGoing(t *testing.T) {
	const window = 256
	e, err := New(Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(e, LaneConfig[int, int]{MaxInFlight: window}, func(_ context.Context, k, _ int) Outcome {
		if k == 0 {
			return Again(time.Hour) // as good as never, in this test
		}
		return Done(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, l, 0, make([]int, window-1)...)
	submit(t, l, 1, make([]int, 1000)...) // each has the one credit
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var left *LeftError
	if err := e.Close(ctx); !errors.As(err, &left) || left.Total < window-1 || left.Total > window {
		t.Errorf("Close: %v, want %d left", err, window-1)
	}
}

// Rule 6: the bound per key, and its overflow.
func TestStuckKeyLeavesTheWindowToOthers(t *testing.T) {
	const perKey, overflow = 2, 3
	release := make(chan Completion, 1)
	var order []int
	l := open(t, Config{Workers: 2}, LaneConfig[string, int]{MaxInFlight: 8, PerKey: perKey, Overflow: overflow},
		func(ctx context.Context, k string, m int) Outcome {
			if k == "stuck" {
				order = append(order, m)
				if m == 0 {
					o, c := Later(ctx)
					release <- c
					return o
				}
			}
			return Done(nil)
		})
	submit(t, l, "stuck", 0, 1, 2, 3, 4)
	if err := l.TrySubmit("stuck", 9); err != ErrFull {
		t.Errorf("beyond bound and overflow: %v, want ErrFull", err)
	}
	if st := l.e.Stats().Lanes[0]; st.Overflow != overflow || st.InFlight < perKey {
		t.Errorf("%d in the overflow and %d in flight, want %d and %d or more", st.Overflow, st.InFlight, overflow, perKey)
	}
	submit(t, l, "free", make([]int, 500)...)
	blocked := make(chan error, 1)
	go func() { blocked <- l.Submit(context.Background(), "stuck", 5) }()
	submit(t, l, "free", make([]int, 500)...)
	(<-release).Complete(Done(nil))
	if err := <-blocked; err != nil {
		t.Error(err)
	}
	drain(t, l)
	if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
		t.Errorf("the stuck key's order is %v, want %v", order, want)
	}
}

// Rule 7.
func TestAdmissionHonoursItsContextAndRefusedMessagesNeverRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []int
		gate := make(chan struct{})
		l := open(t, Config{Workers: 1}, LaneConfig[int, int]{Name: "orders", MaxInFlight: 2}, func(_ context.Context, _, m int) Outcome {
			<-gate
			ran = append(ran, m)
			return Done(nil)
		})
		submit(t, l, 0, 1, 2)
		if err := l.TrySubmit(0, 3); err != ErrFull {
			t.Errorf("TrySubmit on a full window: %v, want ErrFull", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := l.Submit(ctx, 0, 4)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"orders"`) || time.Since(began) != time.Minute {
			t.Errorf("Submit returned %v after %v, want the deadline's error after a minute", err, time.Since(began))
		}
		n, err := l.SubmitBatch(ctx, []Entry[int, int]{{0, 5}, {0, 6}})
		if n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("SubmitBatch: %d, %v, want 0 and the deadline's error", n, err)
		}
		close(gate)
		drain(t, l)
		if err := l.Submit(t.Context(), 0, 7); err != ErrStopped {
			t.Errorf("Submit to a closed lane: %v, want ErrStopped", err)
		}
		if want := []int{1, 2}; !slices.Equal(ran, want) {
			t.Errorf("%v ran, want %v", ran, want)
		}
	})
}

func TestCloseRefusesSendersThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		l := open(t, Config{Workers: 1}, LaneConfig[int, int]{MaxInFlight: 1}, func(context.Context, int, int) Outcome {
			<-gate
			return Done(nil)
		})
		submit(t, l, 0, 1)
		errs := make(chan error)
		for range 3 {
			go func() { errs <- l.Submit(t.Context(), 0, 2) }()
		}
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- l.e.Close(t.Context()) }()
		for range 3 {
			if err := <-errs; err != ErrStopped {
				t.Errorf("Submit: %v, want ErrStopped", err)
			}
		}
		close(gate)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A sender that waits is not overtaken for ever by others.
func TestWaitingSenderGetsTheNextCredit(t *testing.T) {
	var done atomic.Int32
	l := open(t, Config{Workers: 2}, LaneConfig[int, int]{MaxInFlight: 2, Done: func(int, int, error) { done.Add(1) }},
		func(context.Context, int, int) Outcome { return Done(nil) })
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for k := range 4 { // overtakers
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					l.TrySubmit(k, 0)
				}
			}
		})
	}
	submit(t, l, 9, make([]int, 200)...)
	close(stop)
	wg.Wait()
	drain(t, l)
}

func TestSubmitFromAHandlerGivesItsWorkerAway(t *testing.T) {
	var seen atomic.Int64
	inner := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[int, int]{Name: "inner", MaxInFlight: 1},
		func(context.Context, int, int) Outcome { seen.Add(1); return Done(nil) })
	outer := second(t, inner, LaneConfig[int, int]{Name: "outer"}, func(ctx context.Context, k, m int) Outcome {
		for i := range 3 {
			if err := inner.Submit(ctx, i, m); err != nil {
				t.Error(err)
			}
		}
		return Done(nil)
	})
	for i := range 50 {
		submit(t, outer, i, i)
	}
	drain(t, outer)
	drain(t, inner)
	if seen.Load() != 150 {
		t.Errorf("%d messages seen, want 150", seen.Load())
	}
}

func TestHandlersThatFillTheirOwnWindowGetAnErrorInsteadOfADeadlock(t *testing.T) {
	var own, fine atomic.Int32
	var l *Lane[int, int]
	l = open(t, Config{Workers: 2}, LaneConfig[int, int]{MaxInFlight: 2}, func(ctx context.Context, k, m int) Outcome {
		if m == 0 {
			switch err := l.Submit(ctx, k, 1); {
			case err == nil:
				fine.Add(1)
			case errors.Is(err, ErrOwnKey):
				own.Add(1)
			default:
				t.Error(err)
			}
		}
		return Done(nil)
	})
	for i := range 100 {
		submit(t, l, i%2, 0)
	}
	for l.unfinished() > 0 { // handlers may still be submitting
		time.Sleep(0)
	}
	drain(t, l)
	if own.Load()+fine.Load() != 100 {
		t.Errorf("%d errors and %d messages, want 100 in all", own.Load(), fine.Load())
	}
}
