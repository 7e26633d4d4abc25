package executor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Handler handles one message. Its context is void once it has returned: it
// ends when the executor's Close gives up, and it is what [Await], [Later] and
// [Lane.Submit] know the handler by.
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

	// MaxInFlight is the lane's window, the messages it holds unfinished, and
	// Throughput how many of one key run in one turn. Default: the executor's.
	MaxInFlight int
	Throughput  int

	// PerKey bounds the unfinished messages of one key, so that a hot or stuck
	// key cannot fill the window; 0 is no bound. What a key has beyond it
	// takes no credit: it waits in an overflow, which holds at most Overflow
	// messages of all keys together. When that is full too, admission waits.
	// So such a lane holds at most MaxInFlight + Overflow messages.
	PerKey   int
	Overflow int

	// SingleSender declares that one goroutine at a time calls Submit,
	// TrySubmit and SubmitBatch, and has stopped before Close is called. It
	// saves a lock per call. It has no effect with PerKey.
	SingleSender bool

	// Done, if set, is called once per admitted message when it has finished
	// and before its credit goes back, on the goroutine that finished it. It
	// must be quick. The error is the outcome's, or a [*PanicError].
	Done func(key K, msg M, err error)
}

// Lane is one receiver's door into an executor.
type Lane[K comparable, M any] struct {
	lane
	hash  func(K) uint64
	h     Handler[K, M]
	done  func(key K, msg M, err error)
	cells []Entry[K, M] // the messages; belong to whoever has their cell
}

// Open opens a lane on e.
func Open[K comparable, M any](e *Executor, cfg LaneConfig[K, M], h Handler[K, M]) (*Lane[K, M], error) {
	orDefault(&cfg.MaxInFlight, e.cfg.MaxInFlight)
	orDefault(&cfg.Throughput, e.cfg.Throughput)
	errs := check(
		option{"max-in-flight", cfg.MaxInFlight, 1, maxWindow},
		option{"throughput", cfg.Throughput, 1, maxThroughput},
		option{"per-key", cfg.PerKey, 0, max(cfg.MaxInFlight, 0)},
		option{"overflow", cfg.Overflow, 0, maxWindow},
	)
	if cfg.Overflow > 0 && cfg.PerKey == 0 {
		errs = append(errs, fmt.Errorf("overflow = %d: there is none without a bound: set per-key too", cfg.Overflow))
	}
	if h == nil {
		errs = append(errs, errors.New("handler is nil: pass the function that handles a message"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("executor: opening lane %q: %w", cfg.Name, errors.Join(errs...))
	}
	l := &Lane[K, M]{hash: hasher[K](), h: h, done: cfg.Done}
	l.lane = lane{
		e: e, name: cfg.Name, body: l,
		window: uint32(cfg.MaxInFlight), throughput: uint32(cfg.Throughput),
		every:  uint32(max(1, cfg.MaxInFlight/creditBatch/len(e.slots))),
		perKey: uint32(cfg.PerKey), overflow: uint32(cfg.Overflow),
		single: cfg.SingleSender && cfg.PerKey == 0,
		ports:  make([]atomic.Pointer[port], len(e.slots)),
		wake:   make(chan struct{}, 1), stop: make(chan struct{}), empty: make(chan struct{}),
	}
	switch any(*new(K)).(type) {
	case int, int64, int32, uint64, uint32:
		l.plain = true
	}
	l.chunk.Store(turnChunk)
	if l.perKey > 0 {
		l.herd = make(chan struct{})
	}
	if err := e.add(&l.lane); err != nil {
		return nil, fmt.Errorf("executor: opening lane %q: %w", cfg.Name, err)
	}
	return l, nil
}

// creditBatch is the part of a window that may be withheld: the slots together
// keep at most 1/16 of the credits of finished messages back.
const creditBatch = 16

// Submit admits a message. If the window is full it waits, as long as ctx
// lasts; when there is room it does not look at ctx. In a handler, pass the
// handler's context: then Submit gives the worker away while it waits. Handlers
// of a lane that all wait for room in it get [ErrOwnKey]; those of two lanes that
// wait for room in each other's are not found out, and wait as long as ctx lasts.
//
// A message that is refused has not run and never will; one that was admitted
// runs exactly once, or is reported by Close.
func (l *Lane[K, M]) Submit(ctx context.Context, key K, msg M) error {
	h := l.hash(key)
	l.lock()
	if !l.ample() && !l.room(h, l.reserved) {
		if err := l.await(ctx, h); err != nil {
			l.unlock()
			return l.refused(err)
		}
	}
	p := l.post(h, key, msg)
	if p != nil {
		p.publish()
	}
	l.unlock()
	if p != nil {
		p.notify()
	}
	return nil
}

// TrySubmit admits a message or returns [ErrFull] or [ErrStopped] at once.
func (l *Lane[K, M]) TrySubmit(key K, msg M) error {
	h := l.hash(key)
	l.lock()
	if !l.ample() && !l.room(h, l.reserved) {
		defer l.unlock()
		if l.closed.Load() {
			return ErrStopped
		}
		return ErrFull
	}
	p := l.post(h, key, msg)
	if p != nil {
		p.publish()
	}
	l.unlock()
	if p != nil {
		p.notify()
	}
	return nil
}

// SubmitBatch admits messages in order, as Submit would, for less: one lock
// and one hand-over per worker and not per message. It returns how many were
// admitted; with fewer than all, an error.
func (l *Lane[K, M]) SubmitBatch(ctx context.Context, batch []Entry[K, M]) (int, error) {
	l.lock()
	for i := range batch {
		m := &batch[i]
		h := l.hash(m.Key)
		if !l.ample() && !l.room(h, l.reserved) {
			l.dispatch()
			l.lock()
			if err := l.await(ctx, h); err != nil {
				l.unlock()
				return i, l.refused(err)
			}
		}
		if p := l.post(h, m.Key, m.Msg); p != nil && !p.dirty {
			p.dirty = true
			l.touched = append(l.touched, p)
		}
	}
	l.dispatch()
	return len(batch), nil
}

// dispatch publishes what a batch wrote, gives the lock away and notifies.
func (l *lane) dispatch() {
	var ports [8]*port
	n := 0
	for _, p := range l.touched {
		p.publish()
		if n < len(ports) {
			ports[n] = p
			n++
		} else {
			p.notify()
		}
	}
	clear(l.touched)
	l.touched = l.touched[:0]
	l.unlock()
	for _, p := range ports[:n] {
		p.notify()
	}
}

// post writes a message for which there is room.
func (l *Lane[K, M]) post(hash uint64, key K, msg M) *port {
	i := l.free
	l.free = l.links[i]
	l.cells[i] = Entry[K, M]{key, msg}
	p := l.send(hash, i)
	if l.inside != nil {
		l.unstick()
	}
	return p
}

func (l *lane) refused(err error) error {
	if err == ErrStopped {
		return err
	}
	return fmt.Errorf("executor: submitting to lane %q: %w", l.name, err)
}

// run handles the messages of the carrier's turn, until they are through, one
// waits (then its outcome is in c.out), or the slot is lost. It touches what
// the turn owns and nothing else.
func (l *Lane[K, M]) run(c *carrier) (waits bool) {
	var err error
	decided := c.decided
	if decided {
		err = c.verdict
		c.decided, c.verdict = false, nil
	}
	for {
		m := &l.cells[c.cur]
		if !decided {
			c.step = stepHandler
			o := l.h(&c.turn, m.Key, m.Msg)
			if o.n != 0 || c.later != 0 {
				c.step, c.out = stepNone, o
				return true
			}
			err = o.err
		}
		decided = false
		if l.done != nil {
			c.step = stepDone
			l.done(m.Key, m.Msg, err)
		}
		c.step = stepNone
		m.Msg = *new(M) // nobody reads it any more; the key may be, until the turn is finished
		c.last = c.cur
		if c.i++; c.i == c.k {
			return false
		}
		c.cur = l.links[c.cur]
		if c.lost() {
			return false
		}
	}
}

// clear forgets the keys of a chain, which may hold memory of a message.
func (l *Lane[K, M]) clear(first, n uint32) {
	for {
		l.cells[first].Key = *new(K)
		if n--; n == 0 {
			return
		}
		first = l.links[first]
	}
}

func (l *Lane[K, M]) forget(cell uint32) { l.cells[cell].Msg = *new(M) }

func (l *Lane[K, M]) allot(n uint32) { l.cells = make([]Entry[K, M], n) }

func (l *Lane[K, M]) key(cell uint32) any { return l.cells[cell].Key }

// Close stops admission to the lane and waits until its messages have
// finished. If ctx ends first it returns a [*LeftError]; the messages go on.
func (l *Lane[K, M]) Close(ctx context.Context) error {
	l.shut()
	if err := l.drained(ctx); err != nil {
		if left := l.e.report(err, []*lane{&l.lane}); left.Total > 0 {
			return left
		}
	}
	l.e.remove(&l.lane)
	return nil
}
