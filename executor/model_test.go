package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// The model of a lane: per key, a queue of messages. The first runs; it waits
// until it is told how to go on.
type model struct {
	window, perKey, overflow int
	queue                    map[int][]int
	done                     map[int][]int
}

func (m *model) total() (credits, over int) {
	for _, q := range m.queue {
		n := len(q)
		if m.perKey > 0 {
			n = min(n, m.perKey)
		}
		credits += n
		over += len(q) - n
	}
	return credits, over
}

// admits: a key below its bound needs a credit, another room in the overflow.
// What is in the overflow though its key is below the bound, for want of
// credits, cannot be: then no credit is free.
func (m *model) admits(k int) bool {
	credits, over := m.total()
	if m.perKey > 0 && len(m.queue[k]) >= m.perKey {
		return over < m.overflow
	}
	return credits < m.window
}

// TestLaneFollowsItsModel drives a lane step by step, in a bubble where every
// step comes to rest, and compares it with the model.
func TestLaneFollowsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) { followModel(rt) })
	})
}

func followModel(t *rapid.T) {
	m := &model{window: rapid.IntRange(1, 5).Draw(t, "window"), queue: map[int][]int{}, done: map[int][]int{}}
	if rapid.Bool().Draw(t, "bounded") {
		m.perKey, m.overflow = rapid.IntRange(1, m.window).Draw(t, "per key"), rapid.IntRange(0, 3).Draw(t, "overflow")
	}
	var mu sync.Mutex
	running := map[int]chan Outcome{} // handlers that wait, by key
	started := map[int]int{}
	done := map[int][]int{}
	e, err := New(Config{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Spin: -1, StallAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := LaneConfig[int, int]{MaxInFlight: m.window, PerKey: m.perKey, Overflow: m.overflow, Throughput: rapid.IntRange(1, 3).Draw(t, "throughput"),
		Done: func(k, msg int, err error) {
			mu.Lock()
			defer mu.Unlock()
			done[k] = append(done[k], msg)
		}}
	l, err := Open(e, cfg, func(ctx context.Context, k, msg int) Outcome {
		mu.Lock()
		c := make(chan Outcome, 1)
		running[k], started[k] = c, msg
		mu.Unlock()
		o, _ := Await(ctx, func(context.Context) (Outcome, error) { return <-c, nil })
		return o
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for { // let everything finish
			synctest.Wait()
			mu.Lock()
			n := len(running)
			for k, c := range running {
				c <- Done(nil)
				delete(running, k)
			}
			mu.Unlock()
			if n == 0 {
				break
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	next := 0
	key := rapid.IntRange(0, 2)
	t.Repeat(map[string]func(*rapid.T){
		"submit": func(t *rapid.T) {
			k := key.Draw(t, "key")
			next++
			var want error
			if !m.admits(k) {
				want = ErrFull
			}
			if got := l.TrySubmit(k, next); got != want {
				t.Fatalf("TrySubmit of key %d: %v, want %v; %v", k, got, want, m.queue)
			}
			if want == nil {
				m.queue[k] = append(m.queue[k], next)
			}
		},
		"finish": func(t *rapid.T) {
			k := key.Draw(t, "key")
			if len(m.queue[k]) == 0 {
				t.Skip("nothing to finish")
			}
			o := Done(nil)
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				o = Again(0)
			case 1:
				o = Offload(func(context.Context) Outcome { return Again(0) })
			}
			mu.Lock()
			c := running[k]
			delete(running, k)
			mu.Unlock()
			c <- o
			if o.kind() == kindDone {
				m.done[k] = append(m.done[k], m.queue[k][0])
				m.queue[k] = m.queue[k][1:]
			}
		},
		"": func(t *rapid.T) {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			total := 0
			for k := range 3 {
				q := m.queue[k]
				total += len(q)
				if (running[k] != nil) != (len(q) > 0) {
					t.Fatalf("key %d runs: %t, queue %v", k, running[k] != nil, q)
				}
				if len(q) > 0 && started[k] != q[0] {
					t.Fatalf("key %d: message %d runs, want %d", k, started[k], q[0])
				}
				if !slices.Equal(done[k], m.done[k]) {
					t.Fatalf("key %d: done %v, want %v", k, done[k], m.done[k])
				}
			}
			if n := l.unfinished(); n != total {
				t.Fatalf("%d unfinished, want %d", n, total)
			}
		},
	})
}

// A key's mailbox is a FIFO queue to those who send and those who handle.
// Porcupine looks for an order of the operations that explains what they saw.
func TestMailboxIsALinearizableQueue(t *testing.T) {
	type op struct {
		put bool
		v   int
	}
	queue := porcupine.Model{
		Init: func() any { return []int(nil) },
		Step: func(state, in, out any) (bool, any) {
			q := state.([]int)
			if o := in.(op); o.put {
				return true, append(slices.Clip(q), o.v)
			}
			v := out.(int)
			return len(q) > 0 && q[0] == v, slices.Clip(q[min(1, len(q)):])
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
	}
	histories := 2000
	if testing.Short() {
		histories = 200
	}
	for range histories {
		var mu sync.Mutex
		var ops []porcupine.Operation
		record := func(id int, in op, call int64, out int) {
			mu.Lock()
			defer mu.Unlock()
			ops = append(ops, porcupine.Operation{ClientId: id, Input: in, Call: call, Output: out, Return: nanotime()})
		}
		window := 1 + rand.IntN(8)
		e, err := New(Config{Workers: 2, Spin: -1})
		if err != nil {
			t.Fatal(err)
		}
		// A handler's start takes its message: the operation began when the
		// handler before it returned.
		last := nanotime()
		l, err := Open(e, LaneConfig[int, int]{MaxInFlight: window, Throughput: 1 + rand.IntN(3)}, func(_ context.Context, _, v int) Outcome {
			record(9, op{}, last, v)
			last = nanotime()
			if v%5 == 0 {
				return Outcome{}
			}
			return Done(nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for s := range 4 {
			wg.Go(func() {
				for i := range 3 { // the search of a longer history may take for ever
					v, call := s*10+i, nanotime()
					if err := l.Submit(context.Background(), 1, v); err != nil {
						t.Error(err)
					}
					record(s, op{true, v}, call, 0)
				}
			})
		}
		wg.Wait()
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, _ := porcupine.CheckOperationsVerbose(queue, ops, time.Minute); r != porcupine.Ok {
			t.Fatalf("%s: not a queue: %+v", r, ops)
		}
	}
}

// Each value is seen once, and each sender's in its order.
func TestEveryValueIsSeenOnce(t *testing.T) {
	n := 2_000_000
	if testing.Short() || raceEnabled {
		n = 50_000
	}
	const senders, keys = 10, 64
	var seen [senders][keys]int // next value of each sender, by key; a key's handlers do not overlap
	l := open(t, Config{Workers: 4}, LaneConfig[int, int]{}, func(_ context.Context, k, v int) Outcome {
		s, i := v%senders, v/senders
		if i != seen[s][k] {
			t.Errorf("key %d: sender %d's value %d, want %d", k, s, i, seen[s][k])
		}
		seen[s][k] = i + 1
		return Done(nil)
	})
	var sent [senders][keys]int
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(s), 7))
			for range n / senders {
				k := r.IntN(keys)
				if err := l.Submit(context.Background(), k, sent[s][k]*senders+s); err != nil {
					t.Error(err)
				}
				sent[s][k]++
			}
		})
	}
	wg.Wait()
	drain(t, l)
	if seen != sent {
		t.Error("values were lost")
	}
}

// New and Open check options; whatever they are given, they take it or say what
// is wrong, and what they take works.
func FuzzOptions(f *testing.F) {
	f.Add(0, 0, 0, 0, 0, 0)
	f.Add(1, 1, 1, 1, 0, 1)
	f.Add(1024, 1<<20, 1<<16, 1<<16, 5, 5)
	f.Add(-1, 1<<20+1, 1<<16+1, -7, -1, 3)
	f.Fuzz(func(t *testing.T, workers, window, throughput, offload, perKey, overflow int) {
		if window > 1<<12 && window <= maxWindow || overflow > 1<<12 && overflow <= maxWindow {
			t.Skip("valid, and too much memory for a fuzz worker")
		}
		ok := func(v, min, max int) bool { return v >= min && v <= max }
		e, err := New(Config{Workers: workers, MaxInFlight: window, Throughput: throughput, OffloadWorkers: offload})
		good := ok(workers, 0, 1024) && ok(window, 0, 1<<20) && ok(throughput, 0, 1<<16) && ok(offload, 0, 1<<16)
		if (err == nil) != good {
			t.Fatalf("New: %v", err)
		}
		if err != nil {
			return
		}
		l, err := Open(e, LaneConfig[int, int]{PerKey: perKey, Overflow: overflow}, func(context.Context, int, int) Outcome { return Done(nil) })
		good = ok(perKey, 0, e.cfg.MaxInFlight) && ok(overflow, 0, 1<<20) && (overflow == 0 || perKey > 0)
		if (err == nil) != good {
			t.Fatalf("Open: %v", err)
		}
		if err == nil {
			for m := range 3 {
				if err := l.Submit(context.Background(), m%2, m); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOptionsAreCheckedAllAtOnce(t *testing.T) {
	_, err := New(Config{Workers: -1, MaxInFlight: 1 << 21, Throughput: 1 << 17})
	const want = `executor: checking the options: wow.dispatch.workers = -1: must be between 1 and 1024
wow.dispatch.max-in-flight = 2097152: must be between 1 and 1048576
wow.dispatch.throughput = 131072: must be between 1 and 65536`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
	e, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open[int, int](e, LaneConfig[int, int]{Name: "orders", PerKey: 300, Overflow: -1}, nil)
	const wantOpen = `executor: opening lane "orders": per-key = 300: must be between 0 and 256
overflow = -1: must be between 0 and 1048576
handler is nil: pass the function that handles a message`
	if err == nil || err.Error() != wantOpen {
		t.Errorf("got  %v\nwant %v", err, wantOpen)
	}
	if err := errors.Join(e.Close(t.Context()), e.Close(t.Context())); err != nil {
		t.Error(err)
	}
}
