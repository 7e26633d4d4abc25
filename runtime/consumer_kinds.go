package runtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/wowgen/wow"
)

// Kind says what a consumer does.
type Kind string

const (
	KindProcessor  Kind = "processor"
	KindProjection Kind = "projection"
	KindSaga       Kind = "saga"
	KindSnapshot   Kind = "snapshot"
)

// build makes a consumer of each component that was registered, and a snapshot
// writer of each aggregate that wants one. Its error holds all faults.
func (cs *consumers) build(h Handlers) error {
	var errs []error
	add := func(c *consumer, err error) {
		if errs = append(errs, err); err == nil {
			cs.all = append(cs.all, c)
		}
	}
	for _, p := range h.Projections {
		add(newProjection(cs.env, p))
	}
	for _, p := range h.Processors {
		add(newProcessor(cs.env, p))
	}
	for _, s := range h.Sagas {
		add(newSaga(cs.env, s))
	}
	for _, a := range h.Aggregates {
		if a.State != nil && a.State.Snapshot > 0 {
			add(newSnapshotWriter(cs.env, a.State))
		}
	}
	seen := map[string]bool{}
	for _, c := range cs.all {
		if seen[c.name] {
			errs = append(errs, fmt.Errorf("two consumers are named %s: its Register function was called twice, or two types were given one name; the name keys a checkpoint, so each needs its own", c.name))
		}
		seen[c.name] = true
	}
	return errors.Join(errs...)
}

func newProcessor(env *consumerEnv, p Processor) (*consumer, error) {
	c, err := newConsumer(env, p.Name, KindProcessor, p.Functions)
	if err != nil {
		return nil, err
	}
	c.start = p.Start
	if p.OnEvent != nil {
		c.onEvent = func(ctx context.Context, in *Recorded, out *Outbox) error { return p.OnEvent(ctx, in, &out.Reaction) }
	}
	if p.OnState != nil {
		c.onState = func(ctx context.Context, in *StateRecorded, out *Outbox) error {
			return p.OnState(ctx, in, &out.Reaction)
		}
	}
	return c, c.complete()
}

// newProjection returns the consumer of a projection. A generation other than
// the first has a name, and so a checkpoint and parked messages, of its own: it
// begins with the first commit.
func newProjection(env *consumerEnv, p Projection) (*consumer, error) {
	name := p.Name
	if p.Generation > 1 {
		name += "@" + strconv.Itoa(p.Generation)
	}
	c, err := newConsumer(env, name, KindProjection, p.Functions)
	if err != nil {
		return nil, err
	}
	c.serial, c.tx, c.beside = p.Serial || p.Transaction != nil, p.Transaction, p.Generation > 1
	c.start = p.Start
	if t := p.Transaction; t != nil && (t.Resume == nil || t.Run == nil) {
		return nil, fmt.Errorf("consumer %s: its transaction needs both Resume and Run", name)
	}
	if p.OnEvent != nil {
		c.onEvent = func(ctx context.Context, in *Recorded, out *Outbox) error { return p.OnEvent(ctx, in, &out.Reaction) }
	}
	if p.OnState != nil {
		c.onState = func(ctx context.Context, in *StateRecorded, out *Outbox) error {
			return p.OnState(ctx, in, &out.Reaction)
		}
	}
	return c, c.complete()
}

func newSaga(env *consumerEnv, s Saga) (*consumer, error) {
	c, err := newConsumer(env, s.Name, KindSaga, s.Functions)
	if err != nil {
		return nil, err
	}
	c.onEvent, c.onState, c.start = s.OnEvent, s.OnState, s.Start
	c.saga = &saga{name: s.Name, table: c.table, onRefused: s.OnRefused, ignore: s.IgnoreRefused, send: env.send}
	c.saga.later = delays{store: env.store, command: env.command, wake: make(chan struct{}, 1)}
	return c, c.complete()
}

// complete reports functions that nothing would call.
func (c *consumer) complete() error {
	var errs []error
	for _, s := range c.table.byName {
		missing := ""
		switch {
		case s.Event != nil && c.onEvent == nil:
			missing = "OnEvent"
		case s.State != nil && c.onState == nil:
			missing = "OnState"
		case s.Refused != nil && (c.saga == nil || c.saga.onRefused == nil):
			missing = "OnRefused"
		}
		if missing != "" {
			errs = append(errs, fmt.Errorf("consumer %s: function %s needs %s, which is missing", c.name, s.Name, missing))
		}
	}
	return errors.Join(errs...)
}

// caused returns ctx for a function whose commands belong to the conversation
// of the commit. Projections and snapshots send none, and do without it.
func (c *consumer) caused(ctx context.Context, t *task) context.Context {
	if c.kind != KindProcessor && c.kind != KindSaga {
		return ctx
	}
	m := commitMeta(t.commit)
	return withCause(ctx, &m, wow.EventMeta{CommitMeta: m, Index: min(t.at, len(t.commit.Events)-1)}.ID(), 1)
}
