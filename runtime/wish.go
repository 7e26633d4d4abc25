package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// An operator who is not in the process that runs a consumer leaves a wish in
// the store. The process looks every leaseEvery, and when it takes the consumer
// over; one that is alone with its store looks at its start, as nobody else can
// have written since.

// Wish is what an operator wants done about parked messages of an aggregate.
type Wish struct {
	Do       WishKind     `json:"do"`
	Target   wow.Target   `json:"target"`
	Position wow.Position `json:"position"` // of the parked commit, for skip and edit
	Event    int          `json:"event"`    // of it, for edit
	Data     []byte       `json:"data"`     // what the event is to be read from instead
}

// WishKind says what is to be done: see Consumer's methods of these names.
type WishKind string

const (
	WishRetry WishKind = "retry"
	WishSkip  WishKind = "skip"
	WishEdit  WishKind = "edit"
)

// wishesOf is the name under which the wishes for a consumer are kept.
func wishesOf(consumer string) string { return "wow.wish." + consumer }

// name is that of a wish: one that is asked again replaces the one before.
func (w *Wish) name() string {
	name := string(w.Do) + " " + w.Target.String()
	if len(name) > store.MaxName/2 {
		name = string(w.Do) + " " + derivedID(w.Target.Tenant, w.Target.Aggregate, w.Target.ID)
	}
	return name
}

// Ask leaves a wish for the process that runs a consumer. It returns at once;
// Asked tells whether the wish is still there.
func Ask(ctx context.Context, s store.Store, consumer string, w Wish) error {
	if !slices.Contains([]WishKind{WishRetry, WishSkip, WishEdit}, w.Do) || w.Event < 0 {
		return fmt.Errorf("runtime: asking consumer %s to %q event %d: %w", consumer, w.Do, w.Event, wow.ErrInvalid)
	}
	after := w.Position
	if after.Seq > 0 {
		after.Seq--
	}
	parked, err := s.Parked(ctx, consumer, w.Target, after, 1)
	if err != nil {
		return err
	}
	if len(parked) == 0 || w.Do != WishRetry && parked[0].Commit.Position != w.Position {
		return fmt.Errorf("runtime: asking consumer %s to %s: nothing is parked of %s there: %w", consumer, w.Do, w.Target, wow.ErrInvalid)
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return s.SetTimers(ctx, []store.Timer{{Consumer: wishesOf(consumer), Name: w.name(), Position: wow.Position{Shard: w.Position.Shard, Seq: 1},
		Index: time.Now().UnixMicro(), Due: 1, Data: data}})
}

// Asked reports whether a wish was not carried out yet.
func Asked(ctx context.Context, s store.Store, consumer string, w Wish) (bool, error) {
	t, err := s.Timer(ctx, wishesOf(consumer), w.name())
	return t != nil, err
}

// carryOutWishes does what operators have asked of a consumer. It does not hold
// the caller up; what fails is logged, and stands with the parked message.
func (c *consumer) carryOutWishes(ctx context.Context) {
	if c.stopping.Load() || c.wishing.Swap(true) {
		return // the last ones are not done yet
	}
	wishes, err := c.env.store.Timers(ctx, wishesOf(c.name), math.MaxInt64, parkedPage)
	if err != nil || len(wishes) == 0 {
		c.wishing.Store(false)
		return
	}
	c.env.wishes.Go(func() {
		defer c.wishing.Store(false)
		for _, t := range wishes {
			var w Wish
			err := json.Unmarshal(t.Data, &w)
			if err == nil {
				err = Consumer{c}.wish(ctx, w)
			}
			c.env.out.Info("an operator's wish", "consumer", c.name, "wish", t.Name, "position", w.Position, "error", err)
			if ctx.Err() != nil || c.stopping.Load() || c.here() != nil ||
				errors.Is(err, errElsewhere) || errors.Is(err, errNotYet) || errors.Is(err, store.ErrEpoch) || errors.Is(err, executor.ErrStopped) {
				return // for whoever runs the consumer next
			}
			t.Due, t.Data = 0, nil
			if err := c.env.store.SetTimers(ctx, []store.Timer{t}); err != nil {
				c.env.out.Error("an operator's wish stays", "consumer", c.name, "wish", t.Name, "error", err)
			}
		}
	})
}

func (c Consumer) wish(ctx context.Context, w Wish) error {
	switch w.Do {
	case WishRetry:
		return c.Retry(ctx, w.Target)
	case WishSkip:
		return c.Skip(ctx, w.Target, w.Position)
	case WishEdit:
		return c.Edit(ctx, w.Target, w.Position, w.Event, w.Data)
	}
	return fmt.Errorf("runtime: wish %q is unknown to this program", w.Do)
}

// Edit runs a parked commit with other bytes for one of its events, and forgets
// it when that works. The history stays as it is, and other consumers see it
// unchanged: this is for a message that this consumer can handle no other way.
// Those that wait behind it stay parked until they are retried.
func (c Consumer) Edit(ctx context.Context, t wow.Target, at wow.Position, event int, data []byte) error {
	return c.c.grant(ctx, t, editParked(at, event, data))
}

// editParked returns a wish to run one commit with another event.
func editParked(at wow.Position, event int, data []byte) func(context.Context, *consumer, wow.Target) error {
	return func(ctx context.Context, c *consumer, t wow.Target) error {
		page, err := c.env.store.Parked(ctx, c.name, t, wow.Position{Shard: at.Shard, Seq: at.Seq - 1}, 1)
		if err != nil {
			return err
		}
		if len(page) == 0 || page[0].Commit.Position != at || event < 0 || event >= len(page[0].Commit.Events) {
			return fmt.Errorf("runtime: editing event %d at position %v of %s: consumer %s has no such thing parked: %w", event, at, t, c.name, wow.ErrInvalid)
		}
		changed := *page[0].Commit
		changed.Events = slices.Clone(changed.Events)
		changed.Events[event].Data = data
		var faults []error
		for i := range page {
			if p := &page[i]; p.Commit.Position == at {
				p.Commit = &changed
				_, err := c.rerun(ctx, p)
				faults = append(faults, err)
			}
		}
		c.states.out(t) // what it was folded into is no state of the aggregate
		return errors.Join(faults...)
	}
}
