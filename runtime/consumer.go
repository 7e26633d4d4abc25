package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// Everything that happens after an append happens here. A consumer is one
// projection, processor, saga or snapshot writer. It reads the store from its
// own checkpoint on; nothing is handed to it that it could not read again, so a
// process that dies after an append loses nothing.
//
//	store -> tail -> feed (takes, in order) -> lane -> task (runs the functions) -> watermark -> checkpoint
//	     \______________/ a feed that lags reads for itself
//
// A feed takes commits in order and passes those that no function is for. The
// others go through the mailbox of their aggregate, or through the only one of
// a serial consumer. What is finished is noted in any order; the checkpoint is
// the position below which nothing is missing.

// consumer is one of them at work, over all shards.
type consumer struct {
	env    *consumerEnv
	name   string // keys its checkpoints and parked messages
	kind   Kind
	serial bool
	table  *table

	onEvent func(ctx context.Context, in *Recorded, out *Outbox) error
	onState func(ctx context.Context, in *StateRecorded, out *Outbox) error
	saga    *saga                    // delivers the commands; nil for all but sagas
	tx      *Transaction             // of a projection that keeps its own progress
	due     func(*store.Commit) bool // says which commits matter; nil for all

	lane    mailboxes[wow.Target, *task]
	feeds   []*feed
	blocks  blocks
	hanging hanging
	states  *stateFolder

	start    Start                 // where it begins when it is new
	beside   bool                  // a later generation of a projection: it may be rebuilt beside the live one
	retired  atomic.Pointer[error] // why it will never go on
	paused   atomic.Bool           // by an operator
	wishing  atomic.Bool           // wishes of operators are being carried out
	stopping atomic.Bool           // what fails now is left for the next start
	left     leftover
}

// feed is a consumer's place in one shard. It works while this process holds
// its lease: a tenure, which has a mark of its own, so that what is left of an
// earlier one changes nothing.
type feed struct {
	c     *consumer
	tail  *tail
	wake  chan struct{} // holds a token when there may be something to take
	taken int64         // the last position taken; run's own
	batch [tailBatch]*store.Commit
	queue []executor.Entry[wow.Target, *task]

	tasks   [markWindow]atomic.Pointer[task] // those that are not finished, by position
	tenure  atomic.Pointer[watermark]        // nil: another process runs it, or nobody
	owner   atomic.Pointer[string]           // the process that has the lease
	lost    atomic.Bool                      // a checkpoint was refused: the tenure is to end
	paused  atomic.Bool                      // it is being given away
	halt    context.CancelFunc               // of run; nil before
	running sync.WaitGroup                   // run
	ran     []wow.Target                     // aggregates of what was left as running
	leaving int                              // for how many rounds it is being given away
	knew    int64                            // the head when the tenure began

	meter   meter
	since   atomic.Int64 // microseconds: when the mark was seen to move, or had somewhere to go again
	dirty   atomic.Bool  // the mark has moved since the keeper looked
	keeping sync.Mutex   // guards saved
	saved   int64        // the last checkpoint stored
	epoch   atomic.Int64 // of the lease
}

// mark is the watermark of the tenure, or nil when this process has none.
func (f *feed) mark() *watermark { return f.tenure.Load() }

// run takes commits until ctx ends, for the tenure with this mark.
func (f *feed) run(ctx context.Context, m *watermark) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for tries := 0; ctx.Err() == nil; {
		n, err := f.fetch(ctx, m)
		switch {
		case err != nil:
			tries++
			pause.Reset(pauseBefore(tries, readRetry, readRetryMax))
			await(ctx, pause.C, nil)
			continue
		case n == 0:
			await(ctx, nil, f.wake)
		case f.c.tx != nil:
			f.admitTransacted(ctx, m, f.batch[:n])
		default:
			f.admit(ctx, m, f.batch[:n])
		}
		tries = 0
	}
}

// fetch fills the batch with the commits to take next. None means: wait for a
// token.
func (f *feed) fetch(ctx context.Context, m *watermark) (int, error) {
	if f.c.held() || f.paused.Load() {
		return 0, nil
	}
	room := m.room(tailBatch)
	if room == 0 {
		return 0, nil
	}
	n, kept := f.tail.copyTo(f.batch[:room], f.taken)
	if kept {
		return n, nil
	}
	commits, err := f.c.env.store.Read(ctx, wow.Position{Shard: f.tail.shard, Seq: f.taken}, room)
	f.tail.report(ctx, err)
	return copy(f.batch[:], commits), err
}

// admit puts commits into their mailboxes and passes those that no function is
// for. The lane has room for all that the watermark lets in, so it never waits.
func (f *feed) admit(ctx context.Context, m *watermark, commits []*store.Commit) {
	f.took(m, len(commits))
	passed := f.taken // positions after taken, up to here, are passed together
	for _, c := range commits {
		seq := c.Position.Seq
		r := f.c.table.wants(c)
		if r == nil || f.c.due != nil && !f.c.due(c) {
			passed = seq
			continue
		}
		if passed > f.taken {
			f.moved(m.pass(f.taken+1, passed))
		}
		f.taken, passed = seq, seq
		t := newTask(f, m, c, r)
		f.tasks[seq%markWindow].Store(t)
		f.queue = append(f.queue, executor.Entry[wow.Target, *task]{Key: f.c.key(c.Target), Msg: t})
	}
	if passed > f.taken {
		f.moved(m.pass(f.taken+1, passed))
		f.taken = passed
	}
	// What a stopped lane refuses stays unfinished: the next start takes it again.
	_, _ = f.c.lane.SubmitBatch(ctx, f.queue)
	clear(f.queue)
	f.queue = f.queue[:0]
	clear(commits)
}

func (f *feed) moved(moved, wake bool) {
	if moved {
		f.soil()
	}
	if wake {
		nudge(f.wake)
	}
}

// soil tells the keeper that there is a checkpoint to store.
func (f *feed) soil() {
	if !f.dirty.Load() && f.dirty.CompareAndSwap(false, true) {
		nudge(f.c.env.keep)
	}
}

// took notes that commits were taken.
func (f *feed) took(m *watermark, n int) {
	if m.take(n) {
		f.since.Store(time.Now().UnixMicro())
	}
}

// stuckAfter is how long a commit may take before its consumer is reported as
// unhealthy. It goes on with other aggregates until its window is full.
const stuckAfter = 5 * time.Minute

// hangs returns an error when the oldest commit in hand has been there for too
// long: its function may never return.
func (f *feed) hangs() error {
	m := f.mark()
	if m == nil {
		return nil
	}
	at, taken := m.progress()
	waited := time.Since(time.UnixMicro(f.since.Load()))
	if at == taken || waited < stuckAfter {
		return nil
	}
	return fmt.Errorf("position %d/%d has not been finished for %v: a function hangs, or is tried again for long",
		f.tail.shard, at+1, waited.Round(time.Second))
}

// key returns the mailbox for an aggregate.
func (c *consumer) key(t wow.Target) wow.Target {
	if c.serial {
		return wow.Target{}
	}
	return t
}

// held reports whether the consumer takes nothing now.
func (c *consumer) held() bool { return c.paused.Load() || c.unwell() != nil }

// unwell returns why the consumer takes nothing though nobody paused it, or
// nil.
func (c *consumer) unwell() error {
	if err := c.retired.Load(); err != nil {
		return *err
	}
	return c.blocks.full()
}

// rouse has the feeds look again: what held them may be gone.
func (c *consumer) rouse() {
	for _, f := range c.feeds {
		nudge(f.wake)
	}
	if c.saga != nil {
		nudge(c.saga.later.wake)
	}
}

// errLeft is the error of a task that was not finished before the end. Its
// position stays unfinished, so the next start runs it again.
var errLeft = errors.New("runtime: left for the next start")

// leftover is the mailboxes in which something was left: all that comes later
// there is left too, or it would overtake.
type leftover struct {
	any  atomic.Bool
	mu   sync.Mutex
	keys map[wow.Target]bool
}

func (l *leftover) add(key wow.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[wow.Target]bool{}
	}
	l.keys[key] = true
	l.any.Store(true)
}

// clear forgets what an earlier tenure has left.
func (l *leftover) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = nil
	l.any.Store(false)
}

func (l *leftover) has(key wow.Target) bool {
	if !l.any.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key]
}
