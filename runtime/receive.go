package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

	halt    context.CancelFunc
	running sync.WaitGroup
}

// delivery is one record on its way.
type delivery struct {
	bus.Delivery
	command *Command // nil: not read yet
	chain   int
	tries   int
	first   time.Time // when it failed first
}

const (
	// A record that fails is tried again after retryBackoff, doubled each time
	// up to retryBackoffMax: for unknownTypeGrace, as another version may know
	// it or a store come back, but only receivePanics times when it panics. Then
	// it is published to the topic with parkedSuffix.
	receivePanics = 3
	// parkedSuffix is for the name of the topic of records that were given up.
	parkedSuffix = ".parked"
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
		var ctx context.Context
		ctx, rc.halt = context.WithCancel(context.Background())
		rc.running.Go(func() { rc.run(ctx) })
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

// handle carries one record to its outcome, or as far as it gets.
func (rc *receiver) handle(ctx context.Context, _ string, d *delivery) executor.Outcome {
	receipt, err := rc.decide(ctx, d)
	switch {
	case err == nil || isRefusal(err) || errors.Is(err, wow.ErrConflict):
		if d.command != nil {
			rc.r.replies.tell(replyKey{d.command.Target, d.command.Request}, receipt, err)
		}
		return executor.Done(nil)
	case errors.Is(err, wow.ErrStopping) || ctx.Err() != nil:
		return executor.Done(errLeft)
	}
	if d.tries++; d.tries == 1 {
		d.first = time.Now()
	}
	if rc.stopping.Load() {
		return executor.Done(errLeft) // another process, or the next start, takes it again
	}
	hopeless := errors.Is(err, wow.ErrInvalid) || errors.Is(err, errPanicked) && d.tries >= receivePanics
	if !hopeless && time.Since(d.first) < unknownTypeGrace {
		rc.r.log.Warn("a command from the bus failed, trying again", "context", rc.name, "topic", d.Topic,
			"partition", d.Partition, "offset", d.Offset, "attempt", d.tries, "error", err)
		return executor.Again(pauseBefore(d.tries, retryBackoff, retryBackoffMax))
	}
	if fault := rc.park(ctx, d, err); fault != nil {
		rc.r.log.Error("parking a command failed, trying again", "context", rc.name, "topic", d.Topic, "error", fault)
		return executor.Again(pauseBefore(d.tries, retryBackoff, retryBackoffMax))
	}
	if d.command != nil {
		rc.r.replies.tell(replyKey{d.command.Target, d.command.Request}, Receipt{}, fmt.Errorf("%w: %w", wow.ErrFailed, err))
	}
	return executor.Done(nil)
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
// send it again.
func (rc *receiver) park(ctx context.Context, d *delivery, cause error) error {
	p := d.Record
	p.Topic += parkedSuffix
	if p.Headers = maps.Clone(d.Headers); p.Headers == nil {
		p.Headers = map[string]string{}
	}
	p.Headers["wow-error"], p.Headers["wow-attempts"] = cause.Error(), strconv.Itoa(d.tries)
	p.Headers["wow-from"] = fmt.Sprintf("%d/%d", d.Partition, d.Offset)
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
	if err == nil {
		rc.sub.Finish(d.Delivery)
	}
	rc.open.Add(-1)
	nudge(rc.freed)
}
