package runtime

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

const (
	// tailRing is how many commits a tail keeps for consumers that are up to
	// date, and tailBytes how much they may weigh; the commit that was read
	// last is always kept. Who falls behind it reads the store itself.
	tailRing  = 4096
	tailBytes = 16 << 20

	// tailBatch is how many commits are read, or handed on, at once.
	tailBatch = 256

	// tailLinger is how long a tail waits after a commit before it looks for
	// the next. Under load it finds many then, and wakes its consumers once
	// for all of them; somebody who waits for a consumer ends the pause.
	tailLinger = 200 * time.Microsecond

	// A read that fails is tried again after readRetry, doubled each time up
	// to readRetryMax, for as long as the runtime runs.
	readRetry    = 10 * time.Millisecond
	readRetryMax = time.Second
)

// tail reads the end of one shard once for all consumers that are up to date.
//
// It keeps the last commits in a ring. A consumer asks for what lies behind
// its own position; when the ring no longer has that, the consumer reads the
// store until it meets the ring again. So a slow consumer holds nobody up, and
// costs the store no more than its own reads.
type tail struct {
	log    store.Log
	shard  int32
	out    *slog.Logger
	kicked chan struct{} // holds a token when somebody cannot wait

	mu    sync.Mutex
	ring  []*store.Commit // the commit at seq is ring[seq%len]
	first int64           // Invariant: the ring holds first..next-1, all in order
	next  int64
	bytes int
	feeds []chan<- struct{} // told when there is more; each holds one token
	fault error             // of the last read; nil when it went well
}

func newTail(log store.Log, shard int32, out *slog.Logger) *tail {
	return &tail{log: log, shard: shard, out: out, kicked: make(chan struct{}, 1), ring: make([]*store.Commit, tailRing)}
}

// start puts the empty ring behind the head.
func (t *tail) start(head int64) { t.first, t.next = head+1, head+1 }

// attach has wake told about new commits. It must have room for a token.
func (t *tail) attach(wake chan<- struct{}) {
	t.mu.Lock()
	t.feeds = append(t.feeds, wake)
	t.mu.Unlock()
}

// copyTo fills into with the commits behind after. It reports false when the
// ring has lost the first of them.
//
// A consumer that found nothing waits for its token, and misses nothing:
//
//	consumer: looks, finds nothing
//	tail:     puts a commit, then leaves a token   <- also when nobody waits
//	consumer: takes the token, looks again
func (t *tail) copyTo(into []*store.Commit, after int64) (n int, kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if after+1 < t.first {
		return 0, false
	}
	for seq := after + 1; seq < t.next && n < len(into); seq++ {
		into[n] = t.ring[seq%tailRing]
		n++
	}
	return n, true
}

// put appends commits and lets go of old ones that there is no room for.
func (t *tail) put(commits []*store.Commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range commits {
		if t.next-t.first == tailRing {
			t.drop()
		}
		t.ring[t.next%tailRing] = c
		t.bytes += weight(c)
		t.next++
		for t.bytes > tailBytes && t.next-t.first > 1 {
			t.drop()
		}
	}
	for _, wake := range t.feeds {
		nudge(wake)
	}
}

// drop forgets the oldest commit; t.mu is held.
func (t *tail) drop() {
	c := &t.ring[t.first%tailRing]
	t.bytes -= weight(*c)
	*c = nil
	t.first++
}

func weight(c *store.Commit) int {
	n := 256 // the commit itself, roughly
	for i := range c.Events {
		n += len(c.Events[i].Data)
	}
	return n
}

// head returns the position of the last commit that the tail has seen.
func (t *tail) head() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next - 1
}

// kick ends a pause: somebody waits for what comes next.
func (t *tail) kick() { nudge(t.kicked) }

// nudge leaves a token in a channel of one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run reads until ctx ends.
func (t *tail) run(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for tries := 0; ctx.Err() == nil; {
		after := wow.Position{Shard: t.shard, Seq: t.head()}
		commits, err := t.log.Read(ctx, after, tailBatch)
		if err == nil && len(commits) == 0 {
			err = t.log.Wait(ctx, after)
		}
		if t.report(ctx, err); err != nil {
			tries++
			pause.Reset(pauseBefore(tries, readRetry, readRetryMax))
			await(ctx, pause.C, nil)
			continue
		}
		tries = 0
		if len(commits) == 0 {
			continue
		}
		if t.put(commits); len(commits) < tailBatch/4 {
			pause.Reset(tailLinger)
			await(ctx, pause.C, t.kicked)
		}
	}
}

// report keeps the fault, and logs when it comes and when it goes.
func (t *tail) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	before := t.fault
	t.fault = err
	t.mu.Unlock()
	switch {
	case err != nil && before == nil:
		t.out.Error("consumers wait: reading the store fails, trying again", "shard", t.shard, "error", err)
	case err == nil && before != nil:
		t.out.Info("reading the store works again", "shard", t.shard)
	}
}

// await returns when there is something in either channel, or ctx ends.
func await(ctx context.Context, timer <-chan time.Time, token <-chan struct{}) {
	select {
	case <-timer:
	case <-token:
	case <-ctx.Done():
	}
}

// pauseBefore returns how long to wait before the n-th retry: it doubles from
// first up to most, and is drawn from the upper half of that, so that those who
// failed together do not come back together.
func pauseBefore(n int, first, most time.Duration) time.Duration {
	d := most
	if n = max(n, 1); n < 32 && first<<(n-1) > 0 {
		d = min(first<<(n-1), most)
	}
	return d/2 + rand.N(d/2+1)
}
