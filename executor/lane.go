package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Handler handles one message. ctx is the mailbox's own and void once the
// handler has returned: see [Await] and [Later].
type Handler[K comparable, M any] func(ctx context.Context, key K, msg M) Outcome

// Entry is a message with its key, for [Lane.SubmitBatch].
type Entry[K comparable, M any] struct {
	Key K
	Msg M
}

// LaneConfig is how a lane is set up. The zero value works.
type LaneConfig[K comparable, M any] struct {
	// Name appears in errors, stalls and statistics.
	Name string
	// MaxInFlight and Throughput replace the executor's defaults if not zero.
	MaxInFlight int
	Throughput  int
	// PerKey bounds the unfinished messages of one key, so that a hot or stuck
	// key does not fill the window; 0: no bound. What a key has beyond it
	// takes no credit but waits in an overflow of at most Overflow messages
	// for the whole lane; when that is full too, admission waits.
	PerKey   int
	Overflow int
	// Done is called once per admitted message when it has finished, on the
	// goroutine that finished it.
	Done func(key K, msg M, err error)
}

// Lane is one receiver's door into an executor. It is safe for concurrent use.
type Lane[K comparable, M any] struct {
	e   *Executor
	cfg LaneConfig[K, M]
	h   Handler[K, M]

	// guarded by e.mu
	boxes     map[K]*mailbox[K, M]
	inFlight  int
	waiters   []chan struct{}
	stopped   bool
	idle      []chan struct{} // closed when the lane has nothing left
	admitted  uint64
	completed uint64
}

// mailbox holds the unfinished messages of one key, the oldest first.
type mailbox[K comparable, M any] struct {
	l    *Lane[K, M]
	key  K
	msgs []M // msgs[0] is the one being handled; guarded by e.mu
	seq  atomic.Uint64
}

// Open opens a lane on e.
func Open[K comparable, M any](e *Executor, cfg LaneConfig[K, M], h Handler[K, M]) (*Lane[K, M], error) {
	orDefault(&cfg.MaxInFlight, e.cfg.MaxInFlight)
	orDefault(&cfg.Throughput, e.cfg.Throughput)
	errs := check(
		option{"max-in-flight", cfg.MaxInFlight, 1, maxWindow},
		option{"throughput", cfg.Throughput, 1, maxThroughput},
		option{"per-key", cfg.PerKey, 0, cfg.MaxInFlight},
		option{"overflow", cfg.Overflow, 0, maxWindow},
	)
	if h == nil {
		errs = append(errs, errors.New("handler is nil: pass the function that handles a message"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("executor: opening lane %q: %w", cfg.Name, errors.Join(errs...))
	}
	l := &Lane[K, M]{e: e, cfg: cfg, h: h, boxes: map[K]*mailbox[K, M]{}}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return nil, fmt.Errorf("executor: opening lane %q: %w", cfg.Name, ErrStopped)
	}
	e.lanes = append(e.lanes, l)
	return l, nil
}

// TrySubmit admits a message or returns [ErrFull] or [ErrStopped] at once.
func (l *Lane[K, M]) TrySubmit(key K, msg M) error {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	return l.admit(key, msg)
}

// admit puts a message in its mailbox; e.mu is held.
func (l *Lane[K, M]) admit(key K, msg M) error {
	if l.stopped {
		return ErrStopped
	}
	if l.inFlight >= l.cfg.MaxInFlight {
		return ErrFull
	}
	b := l.boxes[key]
	if b != nil && l.cfg.PerKey > 0 && len(b.msgs) >= l.cfg.PerKey {
		return ErrFull
	}
	l.inFlight++
	l.admitted++
	l.e.left++
	if b == nil {
		b = &mailbox[K, M]{l: l, key: key}
		l.boxes[key] = b
	}
	if b.msgs = append(b.msgs, msg); len(b.msgs) == 1 {
		l.e.push(b)
	}
	return nil
}

// Submit admits a message, waiting for room as long as ctx lasts. In a handler
// (with its ctx) it gives the worker away while it waits.
func (l *Lane[K, M]) Submit(ctx context.Context, key K, msg M) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.e.mu.Lock()
		err := l.admit(key, msg)
		if err != ErrFull {
			l.e.mu.Unlock()
			return err
		}
		room := make(chan struct{})
		l.waiters = append(l.waiters, room)
		l.e.mu.Unlock()
		wait := func(ctx context.Context) (struct{}, error) {
			select {
			case <-room:
				return struct{}{}, nil
			case <-ctx.Done():
				return struct{}{}, ctx.Err()
			}
		}
		if _, err := Await(ctx, wait); err != nil {
			l.e.mu.Lock()
			l.waiters = slices.DeleteFunc(l.waiters, func(c chan struct{}) bool { return c == room })
			l.e.mu.Unlock()
			return err
		}
	}
}

// SubmitBatch admits messages in order, waiting for room as long as ctx lasts.
// It returns how many were admitted.
func (l *Lane[K, M]) SubmitBatch(ctx context.Context, batch []Entry[K, M]) (int, error) {
	for i := range batch {
		if err := l.Submit(ctx, batch[i].Key, batch[i].Msg); err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

// Close stops admission to the lane and waits until its messages have
// finished, or ctx ends.
func (l *Lane[K, M]) Close(ctx context.Context) error {
	l.close()
	l.e.mu.Lock()
	if l.inFlight == 0 {
		l.e.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	l.idle = append(l.idle, idle)
	l.e.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		err := &LeftError{Cause: ctx.Err(), Keys: l.leftovers()}
		for _, k := range err.Keys {
			err.Total += k.Count
		}
		return err
	}
}

func (l *Lane[K, M]) close() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.stopped = true
	l.wake()
}

// wake lets the waiting senders look again; e.mu is held.
func (l *Lane[K, M]) wake() {
	for _, c := range l.waiters {
		close(c)
	}
	l.waiters = nil
}

func (l *Lane[K, M]) leftovers() (left []Left) {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	for k, b := range l.boxes {
		left = append(left, Left{Lane: l.cfg.Name, Key: k, Count: len(b.msgs)})
	}
	return left
}

func (l *Lane[K, M]) stats() LaneStats {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	return LaneStats{Name: l.cfg.Name, Window: l.cfg.MaxInFlight, InFlight: l.inFlight, Admitted: l.admitted, Completed: l.completed}
}

// step runs one turn of the mailbox.
func (b *mailbox[K, M]) step(e *Executor) bool {
	more, pending, whole := false, false, false
	defer func() { // the handler ended the goroutine
		if !whole && more && !pending {
			e.mu.Lock()
			e.push(b)
			e.mu.Unlock()
		}
	}()
	for i := range b.l.cfg.Throughput {
		e.mu.Lock()
		msg := b.msgs[0]
		e.mu.Unlock()
		more, pending, whole = false, false, false
		b.run(msg, func(ctx context.Context) Outcome { return b.l.h(ctx, b.key, msg) }, func(o Outcome) {
			more, pending = b.settle(msg, o)
		})
		whole = true
		if pending || !more {
			return true
		}
		if i == b.l.cfg.Throughput-1 {
			e.mu.Lock()
			e.push(b)
			e.mu.Unlock()
		}
	}
	return true
}

// run calls f as a handler that holds a slot.
func (b *mailbox[K, M]) run(msg M, f func(context.Context) Outcome, set func(Outcome)) {
	t := &turn{Context: b.l.e.base, e: b.l.e, back: make(chan struct{}, 1)}
	var claim atomic.Bool
	ready := make(chan Outcome, 1)
	gaveUp := b.l.e.base.Done()
	t.later = func() (Outcome, Completion) {
		return Outcome{kind: kindLater, f: func(context.Context) Outcome {
				select {
				case o := <-ready:
					return o
				case <-gaveUp:
					return Done(ErrStopped)
				}
			}},
			Completion{func(o Outcome) bool {
				if !claim.CompareAndSwap(false, true) {
					return false
				}
				ready <- o
				return true
			}}
	}
	protect(b.key, func() Outcome { return f(t) }, func(o Outcome) {
		t.end()
		set(o)
	})
}

// settle acts on an outcome. It reports whether the mailbox has more messages
// that the caller should run, or the message is pending and the mailbox comes
// back by itself.
func (b *mailbox[K, M]) settle(msg M, o Outcome) (more, pending bool) {
	e := b.l.e
	again := func() {
		e.mu.Lock()
		e.push(b)
		e.mu.Unlock()
	}
	resume := func(o Outcome) {
		if more, pending := b.settle(msg, o); more && !pending {
			again()
		}
	}
	switch o.kind {
	case kindAgain:
		e.after(max(o.after, 0), again)
		return false, true
	case kindLater:
		wait := o.f
		e.wg.Go(func() { resume(wait(nil)) })
		return false, true
	case kindOffload:
		job := func() { protect(b.key, func() Outcome { return o.f(e.base) }, resume) }
		if !e.offload(job) {
			e.after(time.Millisecond, func() { resume(o) })
		}
		return false, true
	}
	if b.l.cfg.Done != nil {
		b.l.cfg.Done(b.key, msg, o.err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	b.msgs = slices.Delete(b.msgs, 0, 1)
	more = len(b.msgs) > 0
	if !more {
		delete(b.l.boxes, b.key)
	}
	b.l.inFlight--
	b.l.completed++
	b.l.wake()
	if b.l.inFlight == 0 {
		for _, c := range b.l.idle {
			close(c)
		}
		b.l.idle = nil
	}
	if e.left--; e.left == 0 {
		select {
		case e.drained <- struct{}{}:
		default:
		}
	}
	return more, false
}
