//go:build wowsched

package executor

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	schedules = flag.Int("schedules", 20_000, "how many schedules TestSchedules explores")
	firstSeed = flag.Uint64("seed", 1, "seed of the first schedule")
	tell      = flag.Bool("tell", false, "print each step")
)

// A baton lets one goroutine of a bubble run at a time, from one yield to the
// next, in an order that a seed decides. The goroutines that yield park on a
// channel; when all of the bubble are blocked, one of them is picked.
//
// They are sorted before the pick, so that a seed gives one schedule. Two at the
// same place are in the order of their arrival, which on one P is a matter of
// the schedule too, unless the Go runtime preempts one or a select has a choice.
type baton struct {
	rng    *rand.Rand
	sticky int // per cent: how often the latest to yield goes on
	mu     sync.Mutex
	parked []parked
	steps  int
	seq    int
	trace  uint64
}

type parked struct {
	point string
	seq   int // of arrival
	go_   chan struct{}
}

func (b *baton) yield(point string) {
	b.mu.Lock()
	b.seq++
	p := parked{point, b.seq, make(chan struct{})}
	b.parked = append(b.parked, p)
	b.mu.Unlock()
	<-p.go_
}

// step lets one goroutine go on; false: none has yielded.
func (b *baton) step() bool {
	b.mu.Lock()
	if len(b.parked) == 0 {
		b.mu.Unlock()
		return false
	}
	slices.SortFunc(b.parked, func(x, y parked) int { return cmp.Or(cmp.Compare(x.point, y.point), x.seq-y.seq) })
	i := b.rng.IntN(len(b.parked))
	if b.rng.IntN(100) < b.sticky {
		for j, p := range b.parked {
			if p.seq == b.seq {
				i = j
			}
		}
	}
	p := b.parked[i]
	b.parked = slices.Delete(b.parked, i, i+1)
	b.mu.Unlock()
	b.steps++
	if *tell {
		fmt.Fprintf(os.Stderr, "%d: %s, %d of %d\n", b.steps, p.point, i, len(b.parked)+1)
	}
	for _, c := range p.point {
		b.trace = (b.trace ^ uint64(c)) * 1099511628211
	}
	b.trace = (b.trace ^ uint64(i)) * 1099511628211
	close(p.go_)
	return true
}

// TestSchedules runs small scenarios in as many orders as -schedules says. A
// lost wake-up shows as a bubble in which nothing happens any more.
func TestSchedules(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer func() { yieldHook = nil }()
	steps, began := 0, time.Now()
	for i := range uint64(*schedules) {
		steps += int(schedule(t, *firstSeed+i).steps)
		if t.Failed() {
			t.Fatalf("replay: go test -tags wowsched -run TestSchedules ./executor -seed %d -schedules 1", *firstSeed+i)
		}
	}
	t.Logf("%d schedules from seed %d, %d steps, %v", *schedules, *firstSeed, steps, time.Since(began).Round(time.Millisecond))
}

// A seed is of use only if it gives the same schedule again.
func TestScheduleOfASeedIsTheSameAgain(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer func() { yieldHook = nil }()
	same := 0
	const n = 200
	for i := range uint64(n) {
		if a, b := schedule(t, *firstSeed+i), schedule(t, *firstSeed+i); a.trace == b.trace {
			same++
		}
	}
	if same < n*3/4 { // the Go runtime, on a busy machine, disturbs some
		t.Errorf("%d of %d seeds gave the same schedule twice", same, n)
	}
}

// schedule runs one scenario under one seed.
func schedule(t *testing.T, seed uint64) *baton {
	b := &baton{rng: rand.New(rand.NewPCG(seed, 1))}
	b.sticky = b.rng.IntN(4) * 30
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("seed %d: %v", seed, v)
			}
		}()
		s := newScenario(t, b, seed)
		yieldHook = b.yield
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.run()
		}()
		for idle := 0; ; {
			synctest.Wait()
			if b.step() {
				idle = 0
				if b.steps > 20_000 {
					fmt.Fprintf(os.Stderr, "seed %d: 20,000 steps and no end\n", seed)
					panic("livelock")
				}
				continue
			}
			select {
			case <-over:
			default:
				if idle++; idle > 200 { // 200 ms; the longest wait of a scenario is 3
					s.describe(seed)
					panic("a wake-up was lost")
				}
				time.Sleep(time.Millisecond)
				continue
			}
			break
		}
		yieldHook = nil
		for b.step() { // goroutines on their way out
			synctest.Wait()
		}
	})
	return b
}

// A scenario is a few senders, keys and lanes, and what each handler does.
type scenario struct {
	t           *testing.T
	b           *baton
	o           *oracle
	e           *Executor
	lanes       []*Lane[int, job]
	plan        []action // of the messages of a key, by key and number
	each        int
	giveUpAfter time.Duration // of Close; 0: never
	senders     int
}

type action uint8

const (
	actDone action = iota
	actAwait
	actAwaitTwice
	actAwaitMany
	actLater
	actLaterBefore
	actAgain
	actOffload
	actOffloadLater
	actStall
	actStallAwait
	actPanic
	actGoexit
	actSubmit
	actLeaveAwait
	actions
)

const schedKeys = 3

func newScenario(t *testing.T, b *baton, seed uint64) *scenario {
	r := b.rng
	s := &scenario{t: t, b: b, each: 1 + r.IntN(3), senders: 1 + r.IntN(2)}
	for range schedKeys * s.each {
		a := action(r.IntN(int(actions)))
		if r.IntN(2) == 0 {
			a = actDone
		}
		s.plan = append(s.plan, a)
	}
	if r.IntN(4) == 0 {
		s.giveUpAfter = time.Duration(1+r.IntN(3000)) * time.Microsecond
	}
	s.o = newOracle(t, schedKeys, 1<<30)
	cfg := Config{Workers: 1 + r.IntN(2), Spin: -1, OffloadWorkers: 1, OffloadQueue: 1}
	var err error
	if s.e, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	for range 1 + r.IntN(2) {
		lc := LaneConfig[int, job]{MaxInFlight: 1 + r.IntN(3), Throughput: 1 + r.IntN(2), Done: s.finished}
		switch r.IntN(3) {
		case 0:
			lc.PerKey, lc.Overflow = 1, r.IntN(3)
		case 1:
			lc.SingleSender = s.senders == 1 && s.giveUpAfter == 0
		}
		l, err := Open(s.e, lc, s.handle)
		if err != nil {
			t.Fatal(err)
		}
		s.lanes = append(s.lanes, l)
	}
	return s
}

func (s *scenario) run() {
	var senders sync.WaitGroup
	for n := range s.senders {
		senders.Go(func() {
			for i := range s.each {
				for k := n; k < schedKeys; k += s.senders { // a key has one sender
					err := s.o.submit(k, func(k int, j job) error {
						return s.lanes[k%len(s.lanes)].Submit(context.Background(), k, j)
					})
					if err != nil && (err != ErrStopped || s.giveUpAfter == 0) {
						s.t.Errorf("key %d message %d: %v", k, i, err)
					}
				}
			}
		})
	}
	if s.giveUpAfter == 0 {
		senders.Wait()
		if err := s.e.Close(context.Background()); err != nil {
			s.t.Errorf("Close: %v", err)
		}
		s.o.helpers.Wait()
		if done, sent := s.o.done.Load(), s.o.sent(); done != sent || sent != int64(schedKeys*s.each) {
			s.t.Errorf("%d sent, %d done, want %d", sent, done, schedKeys*s.each)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.giveUpAfter)
	defer cancel()
	var left *LeftError
	err := s.e.Close(ctx)
	if err != nil && !errors.As(err, &left) {
		s.t.Errorf("Close: %v", err)
	}
	senders.Wait()
	if err := s.e.Close(context.Background()); err != nil {
		s.t.Errorf("a second Close: %v", err)
	}
	s.o.helpers.Wait()
	done, sent := s.o.done.Load(), s.o.sent()
	switch {
	case err == nil && done != sent:
		s.t.Errorf("%d sent, %d done, and nothing reported", sent, done)
	case err != nil && (done > sent || done+int64(left.Total) < sent):
		s.t.Errorf("%d sent, %d done, and %d reported left", sent, done, left.Total)
	}
}

func (s *scenario) handle(ctx context.Context, k int, j job) Outcome {
	o := s.o
	if j.tries == nil { // from a handler
		return Done(nil)
	}
	if *j.tries++; *j.tries > 1 {
		o.leave(k)
		return Done(nil)
	}
	o.enter(k, j)
	wait := func(context.Context) (int, error) { yield("f"); return 0, nil }
	switch s.plan[k*s.each+j.seq] {
	case actAwait:
		Await(ctx, wait)
	case actAwaitTwice:
		Await(ctx, wait)
		Await(ctx, wait)
	case actAwaitMany:
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { Await(ctx, wait) })
		}
		wg.Wait()
	case actLater:
		out, c := Later(ctx)
		o.helpers.Go(func() { yield("later"); o.leave(k); c.Complete(Done(nil)) })
		return out
	case actLaterBefore:
		out, c := Later(ctx)
		c.Complete(Again(0))
		return out
	case actAgain:
		return Again(time.Duration(s.each-1) * time.Millisecond)
	case actOffload:
		return Offload(func(context.Context) Outcome { yield("offload"); o.leave(k); return Done(nil) })
	case actOffloadLater:
		return Offload(func(ctx context.Context) Outcome {
			out, c := Later(ctx)
			o.helpers.Go(func() { yield("later"); c.Complete(Again(0)) })
			yield("offload")
			return out
		})
	case actStall:
		time.Sleep(3 * time.Millisecond)
		yield("stalled")
	case actStallAwait:
		time.Sleep(3 * time.Millisecond)
		Await(ctx, wait)
	case actPanic:
		o.leave(k)
		panic("boom")
	case actGoexit:
		o.leave(k)
		runtime.Goexit()
	case actSubmit: // to the last lane, which is its own or another
		l := s.lanes[len(s.lanes)-1]
		if l.single {
			break
		}
		switch err := l.Submit(ctx, schedKeys+1, job{}); {
		case err == nil, errors.Is(err, ErrOwnKey), errors.Is(err, ErrStopped), errors.Is(err, context.Canceled):
		default:
			s.t.Errorf("Submit in a handler: %v", err)
		}
	case actLeaveAwait:
		started := make(chan struct{})
		o.helpers.Go(func() {
			Await(ctx, func(context.Context) (int, error) { close(started); yield("left"); return 0, nil })
		})
		<-started
	}
	o.leave(k)
	return Done(nil)
}

func (s *scenario) finished(k int, j job, err error) {
	if j.tries != nil {
		s.o.finished(k, j, err)
	}
}

// describe prints what a stuck executor looks like.
func (s *scenario) describe(seed uint64) {
	fmt.Fprintf(os.Stderr, "seed %d: %d senders, plan %v, %d each, close after %v\n%+v\n", seed, s.senders, s.plan, s.each, s.giveUpAfter, s.e.Stats())
	for _, sl := range s.e.slots {
		fmt.Fprintf(os.Stderr, "slot %d: state %d epoch %d inq %v done %v resume %v queued %d\n", sl.id, sl.state.Load(), sl.epoch.Load(), sl.inq.Load() != nil, sl.done.Load() != nil, sl.resume.Load() != nil, sl.queued)
	}
	for _, l := range s.lanes {
		fmt.Fprintf(os.Stderr, "lane: unfinished %d spilt %d flags %d avail %d waiters %d perKey %d overflow %d window %d token %d\n", l.unfinished(), l.spilt.Load(), l.flags.Load(), l.avail, l.waiters, l.perKey, l.overflow, l.window, len(l.wake))
	}
}
