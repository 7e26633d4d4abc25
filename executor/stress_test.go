package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An oracle checks, from inside handlers, what the executor promises: messages
// of a key one at a time and in the order of admission, nothing lost or done
// twice, no more unfinished messages than the window has room for.
type oracle struct {
	t        *testing.T
	room     int64
	keys     []oracleKey
	inFlight atomic.Int64
	done     atomic.Int64
	panics   atomic.Int64
	helpers  sync.WaitGroup // goroutines of handlers
}

type oracleKey struct {
	busy atomic.Int32
	next int // plain: the race detector proves that handlers do not overlap
	mu   sync.Mutex
	sent int
	last int // of Done
	_    [64]byte
}

type job struct {
	seq   int
	tries *int // runs of the handler
}

func newOracle(t *testing.T, keys, room int) *oracle {
	return &oracle{t: t, keys: make([]oracleKey, keys), room: int64(room)}
}

// enter is called when a handler starts a message for the first time.
func (o *oracle) enter(k int, j job) {
	key := &o.keys[k]
	if !key.busy.CompareAndSwap(0, 1) {
		o.t.Errorf("key %d: message %d started while another runs", k, j.seq)
	}
	if key.next != j.seq {
		o.t.Errorf("key %d: message %d started, want %d", k, j.seq, key.next)
	}
	key.next++
}

// leave is called when nothing of the message runs any more.
func (o *oracle) leave(k int) { o.keys[k].busy.Store(0) }

// finished is a lane's Done.
func (o *oracle) finished(k int, j job, err error) {
	key := &o.keys[k]
	if key.last != j.seq {
		o.t.Errorf("key %d: Done for message %d, want %d", k, j.seq, key.last)
	}
	key.last++
	var p *PanicError
	if errors.As(err, &p) {
		o.panics.Add(1)
	} else if err != nil {
		o.t.Errorf("key %d message %d: %v", k, j.seq, err)
	}
	o.inFlight.Add(-1)
	o.done.Add(1)
}

// submit admits the next message of a key, in order.
func (o *oracle) submit(k int, send func(k int, j job) error) error {
	key := &o.keys[k]
	key.mu.Lock()
	defer key.mu.Unlock()
	tries := new(int)
	err := send(k, job{key.sent, tries})
	if err == nil {
		key.sent++
		// Counted after admission: by then the message may have finished.
		if n := o.inFlight.Add(1); n > o.room {
			o.t.Errorf("%d messages unfinished, room for %d", n, o.room)
		}
	}
	return err
}

func (o *oracle) sent() (n int64) {
	for i := range o.keys {
		o.keys[i].mu.Lock()
		n += int64(o.keys[i].sent)
		o.keys[i].mu.Unlock()
	}
	return n
}

// handler waits in the ways of the mode.
func (o *oracle) handler(mode string) Handler[int, job] {
	return func(ctx context.Context, k int, j job) Outcome {
		*j.tries++
		if *j.tries == 1 {
			o.enter(k, j)
		}
		x := rand.IntN(100)
		if *j.tries > 3 {
			x = 100
		}
		is := func(m string) bool { return mode == m || mode == "all" && rand.IntN(4) == 0 }
		switch {
		case is("panic") && x < 7:
			o.leave(k)
			if x < 5 {
				panic("boom")
			}
			runtime.Goexit()
		case is("later") && x < 20:
			out, c := Later(ctx)
			var next Outcome
			switch x {
			case 0:
				next = Again(time.Duration(x) * time.Microsecond)
			case 1:
				next = Offload(func(context.Context) Outcome { o.leave(k); return Done(nil) })
			case 2: // changes its mind
				o.leave(k)
				return Done(nil)
			case 3: // is faster than its handler
				o.leave(k)
				c.Complete(Done(nil))
				return out
			}
			o.helpers.Go(func() {
				if x < 10 {
					runtime.Gosched()
				}
				if next.kind() == kindDone {
					o.leave(k)
				}
				if !c.Complete(next) || c.Complete(Done(nil)) {
					o.t.Error("a completion did not count, or counted twice")
				}
			})
			return out
		case is("again") && x < 20:
			return Again(time.Duration(x-10) * 10 * time.Microsecond)
		case is("offload") && x < 20:
			return Offload(func(ctx context.Context) Outcome {
				switch x {
				case 0:
					o.leave(k)
					panic("boom")
				case 1:
					o.leave(k)
					runtime.Goexit()
				case 2, 3:
					out, c := Later(ctx)
					o.helpers.Go(func() { o.leave(k); c.Complete(Done(nil)) })
					return out
				case 4:
					return Again(0)
				}
				o.leave(k)
				return Done(nil)
			})
		case is("await") && x < 20:
			wait := func(context.Context) (int, error) {
				if x < 10 {
					time.Sleep(time.Duration(x) * 5 * time.Microsecond)
				}
				return x, nil
			}
			switch {
			case x < 14:
				if got, err := Await(ctx, wait); got != x || err != nil {
					o.t.Errorf("Await returned %d, %v", got, err)
				}
			case x < 16: // several goroutines
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() { Await(ctx, wait) })
				}
				wg.Wait()
			case x < 18: // and one more in a derived context, after another
				Await(ctx, wait)
				ctx, cancel := context.WithTimeout(ctx, time.Hour)
				Await(ctx, wait)
				cancel()
			}
		case is("stall") && x < 2:
			time.Sleep(3 * time.Millisecond)
			if x == 0 {
				Await(ctx, func(context.Context) (int, error) { return 0, nil })
			}
		}
		o.leave(k)
		return Done(nil)
	}
}

func TestStress(t *testing.T) {
	n := 4_000
	if testing.Short() {
		n = 800
	}
	for _, mode := range []string{"plain", "panic", "later", "again", "offload", "await", "stall", "all"} {
		for _, window := range []int{1, 3, 16, 256} {
			for _, senders := range []string{"one", "batch", "four", "bound"} {
				t.Run(fmt.Sprintf("%s/window=%d/%s", mode, window, senders), func(t *testing.T) {
					t.Parallel()
					n := n
					if mode == "stall" || mode == "all" {
						n /= 10
					}
					stress(t, mode, window, senders, n)
				})
			}
		}
	}
}

func stress(t *testing.T, mode string, window int, senders string, n int) {
	const keys = 50
	room := window
	cfg := LaneConfig[int, job]{Name: mode, MaxInFlight: window, Throughput: 1 + rand.IntN(20)}
	producers := 1
	switch senders {
	case "one", "batch":
		cfg.SingleSender = true
	case "four":
		producers = 4
	case "bound":
		producers = 4
		cfg.PerKey, cfg.Overflow = 1+rand.IntN(window), rand.IntN(20)
		room += cfg.Overflow
	}
	o := newOracle(t, keys, room+producers) // see submit
	cfg.Done = o.finished
	e, err := New(Config{Workers: 3, StallAfter: time.Millisecond, OffloadWorkers: 3, OffloadQueue: 2})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(e, cfg, o.handler(mode))
	if err != nil {
		t.Fatal(err)
	}
	pick := func() int {
		if rand.IntN(3) == 0 {
			return 0
		}
		return rand.IntN(keys)
	}
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for range n / producers {
				err := o.submit(pick(), func(k int, j job) error {
					switch {
					case senders == "batch":
						_, err := l.SubmitBatch(t.Context(), []Entry[int, job]{{k, j}})
						return err
					case rand.IntN(10) == 0:
						for {
							if err := l.TrySubmit(k, j); err != ErrFull {
								return err
							}
							runtime.Gosched()
						}
					}
					return l.Submit(t.Context(), k, j)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	o.helpers.Wait()
	if o.done.Load() != o.sent() {
		t.Errorf("%d messages done, %d sent", o.done.Load(), o.sent())
	}
	if rest := retained(l); rest != 0 {
		t.Errorf("an idle lane retains %d messages", rest)
	}
}

// retained counts the cells that still hold a message.
func retained(l *Lane[int, job]) (n int) {
	for _, c := range l.cells {
		if c.Msg.tries != nil {
			n++
		}
	}
	return n
}
