package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Which process runs which consumer. Each feed is leased: a process renews what
// it has every leaseEvery, and takes what nobody has, up to its share. A process
// that dies is silent, and leaseTime later others take over; one that was only
// slow finds that its epoch is old, and can store nothing any more.
//
//	Start:   claim -> place the feed at its checkpoint -> run
//	renewal: every 2 s, for 9 s
//	lost:    the feed's tenure ends: nothing is taken, what is queued is dropped
//	Stop:    last checkpoint -> release: others take over at their next renewal

const (
	leaseTime  = 9 * time.Second
	leaseEvery = 2 * time.Second
	// leaseMargin is how long before its end a lease that cannot be renewed is
	// given up.
	leaseMargin = time.Second
	// leasePatience is for how many rounds a process leaves a free segment to
	// others when it has its share. They may not have that consumer.
	leasePatience = 3
	// leaseDrain is for how many rounds a process finishes what it took of a
	// segment that it gives away.
	leaseDrain = 5
)

// errElsewhere ends the waits for a feed that another process runs now.
var errElsewhere = errors.New("runtime: the consumer moved to another process")

// leases are the segments of all consumers, as one process sees them.
type leases struct {
	cs      *consumers
	feeds   []*feed
	names   []store.Segment // of the feeds
	mu      sync.Mutex      // held by one round at a time
	owners  int             // processes, at the last answer
	renewed time.Time       // when the last claim that was answered began
	free    []int           // for how many rounds nobody had a feed
}

func newLeases(cs *consumers) *leases {
	ls := &leases{cs: cs}
	for _, c := range cs.all {
		for _, f := range c.feeds {
			ls.feeds = append(ls.feeds, f)
			ls.names = append(ls.names, store.Segment{Consumer: c.name, Shard: f.tail.shard})
		}
	}
	ls.free = make([]int, len(ls.feeds))
	return ls
}

// first claims the feeds that this process begins with. Its error holds all that
// is wrong with them.
func (ls *leases) first(ctx context.Context) error {
	if _, err := ls.claim(ctx, 0); err != nil { // who else is there?
		return fmt.Errorf("consumers: claiming them: %w", err)
	}
	answer, err := ls.claim(ctx, ls.share())
	if err != nil {
		return fmt.Errorf("consumers: claiming them: %w", err)
	}
	var errs []error
	for i, l := range answer.Leases {
		if l.Owner == ls.cs.env.owner {
			errs = append(errs, ls.feeds[i].place(ctx, l))
		}
		ls.feeds[i].note(l)
	}
	return errors.Join(errs...)
}

// share is how many feeds a process has when all have the same.
func (ls *leases) share() int { return (len(ls.feeds) + ls.owners - 1) / ls.owners }

func (ls *leases) claim(ctx context.Context, take int) (store.Claimed, error) {
	begun := time.Now()
	answer, err := ls.cs.env.store.Claim(ctx, ls.cs.env.owner, leaseTime, ls.names, take)
	if err == nil && len(answer.Leases) != len(ls.names) {
		err = fmt.Errorf("the store answers for %d segments of %d", len(answer.Leases), len(ls.names))
	}
	if err == nil {
		ls.renewed, ls.owners = begun, max(1, answer.Owners)
	}
	return answer, err
}

// keep renews leases until ctx ends.
func (ls *leases) keep(ctx context.Context) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for ctx.Err() == nil {
		pause.Reset(leaseEvery)
		await(ctx, pause.C, ls.cs.env.lost)
		if ctx.Err() == nil {
			ls.round(ctx)
		}
	}
}

// round renews what this process has, takes what it may, and gives away what is
// too much.
func (ls *leases) round(ctx context.Context) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	out := ls.cs.env.out
	for _, f := range ls.feeds {
		if f.lost.Load() { // a checkpoint was refused
			f.leave()
		}
	}
	have, take := 0, 0
	for i, f := range ls.feeds {
		if f.mark() != nil {
			have++
		} else if ls.free[i] >= leasePatience {
			take++
		}
	}
	if take = max(take, ls.share()-have); ls.cs.stopped() {
		take = 0
	}
	bounded, cancel := context.WithTimeout(ctx, leaseTime-leaseMargin)
	defer cancel()
	answer, err := ls.claim(bounded, max(0, take))
	if err == nil && take < ls.share()-have && !ls.cs.stopped() && slices.ContainsFunc(answer.Leases, store.Lease.Free) {
		answer, err = ls.claim(bounded, ls.share()-have) // somebody is gone: do not wait for the next round
	}
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		out.Error("renewing the leases of consumers failed, trying again", "error", err)
		if time.Since(ls.renewed) > leaseTime-leaseMargin {
			for _, f := range ls.feeds {
				f.leave()
			}
		}
		return
	}
	for i, l := range answer.Leases {
		f := ls.feeds[i]
		ls.free[i]++
		if !l.Free() {
			ls.free[i] = 0
		}
		f.note(l)
		switch mine := l.Owner == ls.cs.env.owner; {
		case !mine || f.mark() != nil && l.Epoch != f.epoch.Load():
			f.leave()
		case f.mark() == nil && !ls.cs.stopped():
			if err := f.placeSoon(ctx, l); err != nil {
				out.Error("a consumer cannot begin here, trying again", "consumer", f.c.name, "error", err)
				ls.release(ctx, i)
				continue
			}
			ls.cs.begin(f)
		}
	}
	ls.giveAway(ctx)
	for _, f := range ls.feeds {
		if f.mark() != nil && f.tail.shard == 0 {
			f.c.carryOutWishes(ctx)
		}
	}
}

// giveAway lets go of what is more than this process's share: a feed takes
// nothing more, finishes what it has, and is released then.
func (ls *leases) giveAway(ctx context.Context) {
	much := -ls.share()
	for _, f := range ls.feeds {
		if f.mark() != nil {
			much++
		}
	}
	for i, f := range slices.Backward(ls.feeds) {
		if f.mark() == nil || ls.cs.stopped() {
			continue
		}
		if much <= 0 { // the others left, or have enough
			if f.leaving = 0; f.paused.Swap(false) {
				nudge(f.wake)
			}
			continue
		}
		much--
		f.paused.Store(true)
		f.leaving++
		if at, taken := f.mark().progress(); at < taken && f.leaving <= leaseDrain {
			continue
		}
		if err := f.save(ctx); err != nil {
			ls.cs.env.out.Error("storing the checkpoint of a consumer that moves failed", "consumer", f.c.name, "error", err)
		}
		f.leave()
		ls.release(ctx, i)
	}
}

func (ls *leases) release(ctx context.Context, i int) {
	if err := ls.cs.env.store.Release(ctx, ls.cs.env.owner, ls.names[i]); err != nil {
		ls.cs.env.out.Error("releasing a consumer failed: others take it when its lease ends", "consumer", ls.names[i].Consumer, "error", err)
	}
	ls.feeds[i].note(store.Lease{})
}

// end releases everything.
func (ls *leases) end(ctx context.Context) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.renewed.IsZero() {
		return nil
	}
	if err := ls.cs.env.store.Release(ctx, ls.cs.env.owner); err != nil && !errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("consumers: releasing them: %w", err)
	}
	return nil
}

// note keeps who has the feed.
func (f *feed) note(l store.Lease) { f.owner.Store(&l.Owner) }

// place puts the feed where its consumer stands in the shard. It is not run yet.
func (f *feed) place(ctx context.Context, l store.Lease) error {
	c, t := f.c, f.tail
	at, err := c.resume(ctx, t.shard)
	if err != nil {
		return fmt.Errorf("consumer %s: reading its checkpoint: %w", c.name, err)
	}
	if at.Position.Seq == 0 {
		if at.Position, err = c.begins(ctx, f, l.Epoch); err != nil {
			return fmt.Errorf("consumer %s: deciding where it begins: %w", c.name, err)
		}
	}
	head := t.head()
	if at.Position.Seq > head { // another process may have gone on since the tail looked
		now, err := c.env.store.Head(ctx, t.shard)
		if err != nil {
			return fmt.Errorf("consumer %s: reading the head of shard %d: %w", c.name, t.shard, err)
		}
		head = now.Seq
	}
	if at.Position.Seq > head {
		return fmt.Errorf("consumer %s: its checkpoint %v is above the last commit %d: %w", c.name, at.Position, head, store.ErrAhead)
	}
	if t.shard == 0 {
		c.newFunctions(ctx, at.Position)
	}
	c.blocks.drop(t.shard)
	c.hanging.forget()
	c.left.clear()
	if f.ran, err = c.loadBlocks(ctx, t.shard); err != nil {
		return fmt.Errorf("consumer %s: reading what is parked: %w", c.name, err)
	}
	f.keeping.Lock()
	f.knew = head
	f.taken, f.saved, f.leaving = at.Position.Seq, at.Position.Seq, 0
	f.epoch.Store(l.Epoch)
	f.lost.Store(false)
	f.dirty.Store(false)
	f.paused.Store(false)
	f.keeping.Unlock()
	m := new(watermark)
	m.start(at.Position.Seq)
	f.tenure.Store(m)
	c.env.out.Debug("consumer starts", "consumer", c.name, "after", at.Position, "lag", head-at.Position.Seq,
		"parked", c.blocks.count.Load(), "epoch", l.Epoch)
	return nil
}

// placeSoon is place, within the time that a round has.
func (f *feed) placeSoon(ctx context.Context, l store.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, leaseEvery)
	defer cancel()
	return f.place(ctx, l)
}

// leave ends the feed's tenure: somebody else runs it, or may soon. What is in
// mailboxes is dropped; a function that runs now finishes in vain.
func (f *feed) leave() {
	m := f.tenure.Swap(nil)
	if m == nil {
		return
	}
	if f.halt != nil {
		f.halt()
		f.running.Wait()
	}
	m.abandon(errElsewhere)
	f.c.env.out.Warn("consumer is left to other processes", "consumer", f.c.name, "shard", f.tail.shard)
}

// begin runs a feed that was placed, until it leaves or the consumers halt.
func (cs *consumers) begin(f *feed) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.pull == nil || cs.pull.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, f.halt = context.WithCancel(cs.pull)
	m := f.mark()
	cs.pulling.Add(1)
	f.running.Go(func() {
		defer cs.pulling.Done()
		f.run(ctx, m)
	})
	f.c.runAgain(f.ran)
	f.ran = nil
	if f.tail.shard == 0 {
		f.c.carryOutWishes(ctx)
	}
	if f.c.saga != nil && f.tail.shard == 0 {
		cs.pulling.Add(1)
		f.running.Go(func() {
			defer cs.pulling.Done()
			f.c.sendDelayed(ctx, f, m)
		})
	}
}

// stopped reports whether the consumers are to begin nothing any more.
func (cs *consumers) stopped() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.pull != nil && cs.pull.Err() != nil
}

// fence is what is stored with what a consumer parks: nothing is, when the commit
// is for another process by now.
func (c *consumer) fence(of *store.Commit) *store.Checkpoint {
	shard := of.Position.Shard
	return &store.Checkpoint{Consumer: c.name, Epoch: c.feeds[shard].epoch.Load(), Position: wow.Position{Shard: shard}}
}

// here reports whether this process runs all of the consumer; its error says who
// does, for an operator who asked for something only they can do.
func (c *consumer) here() error {
	for _, f := range c.feeds {
		if f.mark() != nil {
			continue
		}
		if owner := *f.owner.Load(); owner != "" && owner != c.env.owner {
			return fmt.Errorf("runtime: consumer %s runs in another process, %s: ask there", c.name, owner)
		}
		return fmt.Errorf("runtime: consumer %s is between two processes: try again", c.name)
	}
	return nil
}
