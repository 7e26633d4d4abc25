package runtime

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// ConsumerStatus is a picture of a consumer, taken while it works.
type ConsumerStatus struct {
	Name   string        `json:"name"`
	Kind   Kind          `json:"kind"`
	Shards []ShardStatus `json:"shards"`
	Lag    int64         `json:"lag"`    // commits that it has not finished, over all shards
	Rate   float64       `json:"rate"`   // commits a second that it finishes here; 0 when it is idle
	Left   time.Duration `json:"left"`   // how long the lag will take at that rate; 0 when that is unknown
	Parked int64         `json:"parked"` // messages set aside
	Paused bool          `json:"paused"` // by an operator
	// Unhealthy says why the consumer does not go on though nobody paused it,
	// and what to do; it is "" while all is well.
	Unhealthy string `json:"unhealthy,omitempty"`
}

// ShardStatus is how far a consumer is in one shard.
type ShardStatus struct {
	Position wow.Position `json:"position"` // everything up to here is finished
	Taken    int64        `json:"taken"`    // the last commit that it has begun with, as far as is known here
	Head     int64        `json:"head"`     // the last commit that there is
	Owner    string       `json:"owner"`    // the life of a process that runs it; "" is nobody right now
	Here     bool         `json:"here"`     // that is this one
}

// Consumer is a handle on a consumer at work, for operators. It is valid from
// Start to Stop.
type Consumer struct{ c *consumer }

// Consumers returns all consumers of the runtime, projections first, each kind
// in the order of registration. There are none before Start.
func (r *Runtime) Consumers() []Consumer {
	all := make([]Consumer, len(r.consumers.all))
	for i, c := range r.consumers.all {
		all[i] = Consumer{c}
	}
	return all
}

// Consumer returns the consumer with a name, such as
// "shop.projection.cart_view".
func (r *Runtime) Consumer(name string) (Consumer, error) {
	var names []string
	for _, c := range r.consumers.all {
		if c.name == name {
			return Consumer{c}, nil
		}
		names = append(names, c.name)
	}
	they := "they are " + strings.Join(names, ", ")
	if len(names) == 0 {
		they = "none is registered, or the runtime is not started"
	}
	return Consumer{}, fmt.Errorf("runtime: there is no consumer %q: %s: %w", name, they, wow.ErrInvalid)
}

// Name returns the consumer's frozen name.
func (c Consumer) Name() string { return c.c.name }

// Status returns how the consumer stands. It asks the store for its head.
func (c Consumer) Status(ctx context.Context) (ConsumerStatus, error) {
	s := ConsumerStatus{Name: c.c.name, Kind: c.c.kind, Parked: c.c.blocks.count.Load(), Paused: c.c.paused.Load()}
	if err := c.c.unwell(); err != nil {
		s.Unhealthy = err.Error()
	}
	for _, f := range c.c.feeds {
		if err := f.hangs(); err != nil && s.Unhealthy == "" {
			s.Unhealthy = err.Error()
		}
		head, err := c.c.env.store.Head(ctx, f.tail.shard)
		if err != nil {
			return s, fmt.Errorf("runtime: asking for the head of shard %d: %w", f.tail.shard, err)
		}
		at, taken, err := f.progress(ctx)
		if err != nil {
			return s, err
		}
		s.Shards = append(s.Shards, ShardStatus{Position: wow.Position{Shard: f.tail.shard, Seq: at}, Taken: taken, Head: head.Seq,
			Owner: *f.owner.Load(), Here: f.mark() != nil})
		lag := max(0, head.Seq-at)
		rate, left := f.meter.left(lag)
		s.Lag, s.Rate, s.Left = s.Lag+lag, s.Rate+rate, max(s.Left, left)
	}
	return s, nil
}

// Pause has the consumer take no more commits until Resume. What it has taken
// it finishes. A restart resumes it.
func (c Consumer) Pause() { c.c.paused.Store(true) }

// Resume undoes Pause.
func (c Consumer) Resume() {
	c.c.paused.Store(false)
	c.c.rouse()
}

// Parked lists messages that the consumer has set aside, oldest first, limit of
// them or a few more, behind a position of its shard. An empty target is every
// aggregate. A message without a function waits behind an earlier one of its
// aggregate.
func (c Consumer) Parked(ctx context.Context, t wow.Target, after wow.Position, limit int) ([]store.Parked, error) {
	return c.c.env.store.Parked(ctx, c.c.name, t, after, limit)
}

// Retry runs the parked messages of an aggregate again, in order, before the
// next live one. It returns when it has come to the end, or to one that fails:
// those behind it stay parked, and the error says why.
func (c Consumer) Retry(ctx context.Context, t wow.Target) error {
	return c.c.grant(ctx, t, retryParked)
}

// Skip forgets what is parked of one commit: the consumer will never handle it.
// Those that wait behind it stay parked until they are retried.
func (c Consumer) Skip(ctx context.Context, t wow.Target, at wow.Position) error {
	return c.c.grant(ctx, t, skipParked(at))
}

// progress is how far the consumer is in a shard, wherever it runs.
func (f *feed) progress(ctx context.Context) (at, taken int64, err error) {
	if m := f.mark(); m != nil {
		at, taken = m.progress()
		return at, taken, nil
	}
	c, err := f.c.env.store.Checkpoint(ctx, f.c.name, f.tail.shard, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("runtime: asking how far %s is: %w", f.c.name, err)
	}
	return c.Position.Seq, c.Position.Seq, nil
}
