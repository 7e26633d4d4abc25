package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/bus"
)

// receivers takes commands from the bus: one receiver for each bounded context,
// which is a member of the context's group.
//
//	Fetch (as many as the window has room for) -> lane, by key -> mailbox -> Finish
//
// A record is finished when its command has an outcome, so what a process dies
// with comes again, and is a repeat then. Each key has a mailbox in the
// receiver's lane, where it waits for its command, holding no worker: records of
// one key keep their order also when the first is tried again.
type receivers struct {
	r     *Runtime
	all   []*receiver
	ended chan struct{} // closed when the runtime has stopped
}

// receiver is one bounded context's.
type receiver struct {
	r     *Runtime
	name  string
	sub   bus.Subscription
	lane  mailboxes[string, *delivery]
	open  atomic.Int64  // deliveries that are not finished
	freed chan struct{} // holds a token when there may be room

	stopping atomic.Bool // what fails now is left for others
	aside    aside

	until   context.Context // of run
	halt    context.CancelFunc
	running sync.WaitGroup
}

// delivery is one record on its way.
type delivery struct {
	bus.Delivery
	command *Command // nil: not read yet
	chain   int
	tries   int
	parks   int       // of tries: to park it
	first   time.Time // when it failed first
	placed  bool      // set aside, it keeps its place in the window
	knock   bool      // no record: those set aside of its key are to be tried again
}

const (
	// A record that fails is tried again after retryBackoff, doubled each time
	// up to retryBackoffMax: for unknownTypeGrace, as another version may know
	// it or a store come back, but only receivePanics times when it panics. Then
	// it is published to the topic with parkedSuffix.
	receivePanics = 3
	// unknownTypePause is how far apart it is seen whether the partition of a
	// command of an unknown type has gone to another process.
	unknownTypePause = 5 * time.Second
	// parkedSuffix is for the name of the topic of records that were given up.
	parkedSuffix = ".parked"
	// parkedReason bounds the error that a parked record carries, in bytes.
	parkedReason = 1024
)

func (rs *receivers) prepare(ctx context.Context) error {
	rs.ended = make(chan struct{})
	if rs.r.cfg.Bus == nil {
		return nil
	}
	topics := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(rs.r.types.aggregates)) {
		of := wow.Target{Aggregate: name}.Context()
		topics[of] = append(topics[of], name)
	}
	var errs []error
	for _, of := range slices.Sorted(maps.Keys(topics)) {
		rc := &receiver{r: rs.r, name: of, freed: make(chan struct{}, 1)}
		var err error
		rc.lane, err = executor.Open(rs.r.executor, executor.LaneConfig[string, *delivery]{
			Name: "receiver of " + of, MaxInFlight: rs.r.cfg.Dispatch.MaxInFlight, Done: rc.done,
		}, rc.handle)
		if err == nil {
			rc.sub, err = rs.r.cfg.Bus.Subscribe(ctx, "wow."+of+".commands", topics[of]...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("receiver of %s: %w", of, err))
			continue
		}
		rs.all = append(rs.all, rc)
	}
	return errors.Join(errs...)
}

func (rs *receivers) start(context.Context) error {
	for _, rc := range rs.all {
		rc.until, rc.halt = context.WithCancel(context.Background())
		rc.running.Go(func() { rc.run(rc.until) })
	}
	return nil
}

// quiesce takes no more records, and finishes those in hand. Before, it waits for
// what senders of this process have published, which may be its own to decide;
// nobody can send any more.
func (rs *receivers) quiesce(ctx context.Context) error {
	var errs []error
	rs.r.replies.answered(ctx)
	for _, rc := range rs.all {
		if rc.halt == nil {
			continue
		}
		rc.stopping.Store(true)
		rc.halt()
		rc.running.Wait()
		if err := rc.lane.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("receiver of %s: %w", rc.name, err))
		}
	}
	return errors.Join(errs...)
}

func (rs *receivers) stop(ctx context.Context) error {
	errs := []error{rs.quiesce(ctx)}
	for _, rc := range rs.all {
		errs = append(errs, rc.sub.Close(ctx))
	}
	close(rs.ended)
	return errors.Join(errs...)
}

// run fetches until ctx ends.
func (rc *receiver) run(ctx context.Context) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for tries := 0; ctx.Err() == nil; {
		room := rc.r.cfg.Dispatch.MaxInFlight - int(rc.open.Load())
		if room <= 0 {
			await(ctx, nil, rc.freed)
			continue
		}
		list, err := rc.sub.Fetch(ctx, room)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, bus.ErrClosed) {
				return
			}
			tries++
			rc.r.log.Error("commands wait: fetching them from the bus fails, trying again", "context", rc.name, "error", err)
			pause.Reset(pauseBefore(tries, readRetry, readRetryMax))
			await(ctx, pause.C, nil)
			continue
		}
		tries = 0
		rc.open.Add(int64(len(list)))
		batch := make([]executor.Entry[string, *delivery], len(list))
		for i := range list {
			batch[i] = executor.Entry[string, *delivery]{Key: list[i].Key, Msg: &delivery{Delivery: list[i]}}
		}
		// What a stopped lane refuses stays unfinished: it comes again elsewhere.
		_, _ = rc.lane.SubmitBatch(ctx, batch)
	}
}

// asked is what a sender waits for.
func (d *delivery) asked() replyKey { return replyKey{targetOf(&d.Record), d.Headers[headRequest]} }

// handle takes one record, or the first of those that were set aside, further.
func (rc *receiver) handle(ctx context.Context, key string, d *delivery) executor.Outcome {
	if d.knock {
		return rc.retry(ctx, key)
	}
	if rc.aside.behind(d) {
		rc.yield(d)
		return executor.Done(errAside)
	}
	pause, err := rc.attempt(ctx, d)
	if err == errAside {
		rc.aside.put(d)
		rc.yield(d)
		rc.again(pause, key)
	}
	return executor.Done(err)
}

// attempt carries one record to its outcome, or as far as it gets: errAside says
// that it is to be tried again after a pause, errLeft that others will.
func (rc *receiver) attempt(ctx context.Context, d *delivery) (pause time.Duration, err error) {
	if !rc.sub.Holds(d.Delivery) {
		return 0, errLeft
	}
	receipt, err := rc.decide(ctx, d)
	switch {
	case err == nil || d.command != nil && (isRefusal(err) || errors.Is(err, wow.ErrConflict) && d.command.Expected != 0):
		told := rc.r.replies.tell(d.asked(), receipt, err)
		if !told && err != nil && !isRefusal(err) { // a refusal is kept in the store
			rc.failed("a command from the bus came to nothing", d, err)
		}
		return 0, nil
	case rc.stopping.Load() || ctx.Err() != nil:
		return 0, errLeft // another process, or the next start, takes it again
	}
	if d.tries++; d.tries == 1 {
		d.first = time.Now()
	}
	pause = pauseBefore(d.tries, retryBackoff, retryBackoffMax)
	if errors.Is(err, wow.ErrUnknownType) {
		pause = unknownTypePause // it is another process that may know it
	}
	hopeless := errors.Is(err, wow.ErrInvalid) || errors.Is(err, errPanicked) && d.tries >= receivePanics
	if !hopeless && time.Since(d.first) < unknownTypeGrace {
		if d.tries&(d.tries-1) == 0 { // there may be thousands, and they come back each second
			rc.failed("a command from the bus failed, trying again", d, err)
		}
		return pause, errAside
	}
	if fault := rc.park(ctx, d, err); fault != nil {
		rc.failed("parking a command failed, trying again", d, fault)
		return pause, errAside
	}
	rc.r.replies.tell(d.asked(), Receipt{}, fmt.Errorf("%w: %w", wow.ErrFailed, err))
	return 0, nil
}

func (rc *receiver) failed(what string, d *delivery, err error) {
	rc.r.log.Warn(what, "context", rc.name, "topic", d.Topic, "partition", d.Partition, "offset", d.Offset, "attempt", d.tries, "error", err)
}

// decide puts the command into the mailbox of its aggregate and waits for the
// answer. The handler's context knows the chain that the command is part of.
func (rc *receiver) decide(ctx context.Context, d *delivery) (Receipt, error) {
	if d.command == nil {
		c, chain, err := rc.r.commandOf(&d.Record)
		if err != nil {
			return Receipt{}, err
		}
		d.command, d.chain = &c, chain
	}
	c := d.command
	ctx = context.WithValue(ctx, causeKey{}, &cause{
		correlation: c.Correlation, causation: c.Causation,
		metadata: map[string]string{chainKey: strconv.Itoa(d.chain)}, target: wow.Target{Tenant: c.Target.Tenant},
	})
	f := rc.r.flights.get()
	f.Command = *c
	return rc.r.send(ctx, f)
}

// park publishes a record that was given up where somebody can look at it, and
// send it again. One that is as large as the bus takes has no room for the
// reason: every second time it goes as it came.
func (rc *receiver) park(ctx context.Context, d *delivery, cause error) error {
	p := d.Record
	p.Topic += parkedSuffix
	if d.parks++; d.parks%2 == 1 {
		reason := cause.Error()
		p.Headers = map[string]string{
			"wow-error":    strings.ToValidUTF8(reason[:min(len(reason), parkedReason)], ""),
			"wow-attempts": strconv.Itoa(d.tries),
			"wow-from":     fmt.Sprintf("%d/%d", d.Partition, d.Offset),
		}
		for k, v := range d.Headers {
			if _, ours := p.Headers[k]; !ours {
				p.Headers[k] = v
			}
		}
	}
	_, err := executor.Await(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, rc.r.cfg.Bus.Publish(ctx, p)
	})
	if err == nil {
		rc.r.log.Error("a command is parked", "context", rc.name, "topic", p.Topic, "partition", d.Partition, "offset", d.Offset,
			"attempts", d.tries, "error", cause)
	}
	return err
}

// done is called by the lane when a delivery has left its mailbox.
func (rc *receiver) done(_ string, d *delivery, err error) {
	switch {
	case d.knock || err == errAside:
		return
	case err == nil:
		rc.sub.Finish(d.Delivery)
	case err != errLeft:
		rc.failed("a command from the bus was given up until the next start", d, err)
	}
	rc.release()
}

// release gives a place in the window back.
func (rc *receiver) release() {
	rc.open.Add(-1)
	nudge(rc.freed)
}
