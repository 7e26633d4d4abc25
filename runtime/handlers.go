package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/wowgen/wow"
)

// What package wowtest needs: the registered handlers, and a way to call one
// without a mailbox, a pool or a store.

// Handlers is everything that Register functions have added to a runtime.
type Handlers struct {
	Aggregates  []Aggregate
	Processors  []Processor
	Projections []Projection
	Sagas       []Saga
}

// Handlers returns what was registered so far.
func (r *Runtime) Handlers() Handlers {
	return Handlers{
		Aggregates:  slices.Clone(r.aggregates),
		Processors:  slices.Clone(r.processors),
		Projections: slices.Clone(r.projections),
		Sagas:       slices.Clone(r.sagas),
	}
}

// AsGeneration is register, with projections of another generation than they
// declare: to rebuild a view that did not change its code, beside the live one.
func AsGeneration(generation int, register func(*Runtime)) func(*Runtime) {
	return func(r *Runtime) {
		apart := New(Config{})
		register(apart)
		h := apart.Handlers()
		for _, p := range h.Projections {
			p.Generation = generation
			r.AddProjection(p)
		}
		for _, a := range h.Aggregates {
			r.AddAggregate(a)
		}
		for _, p := range h.Processors {
			r.AddProcessor(p)
		}
		for _, s := range h.Sagas {
			r.AddSaga(s)
		}
	}
}

// Missing lists the components that were registered with nil: "processor
// shop.processor.desk". Their first message would panic, where nobody sees who
// forgot what.
func (h Handlers) Missing() (names []string) {
	for _, a := range h.Aggregates {
		if a.Missing && a.State != nil {
			names = append(names, "aggregate "+a.State.Aggregate)
		}
	}
	for _, p := range h.Processors {
		if p.Missing {
			names = append(names, "processor "+p.Name)
		}
	}
	for _, p := range h.Projections {
		if p.Missing {
			names = append(names, "projection "+p.Name)
		}
	}
	for _, s := range h.Sagas {
		if s.Missing {
			names = append(names, "saga "+s.Name)
		}
	}
	return names
}

// Decided calls f, then what f offloaded, on the calling goroutine, and
// returns the events that were added.
func Decided(ctx context.Context, f func(*Decision) error) (wow.Events, error) {
	var d Decision
	err := finish(ctx, f(&d), &d.work)
	return d.events, err
}

// Reacted calls f, then what f offloaded, on the calling goroutine, and
// returns the commands that are to be sent. Only a saga sends any.
func Reacted(ctx context.Context, f func(*Outbox) error) (wow.Commands, error) {
	var o Outbox
	err := finish(ctx, f(&o), &o.work)
	return o.commands, err
}

// IsRefusal reports whether an error that a command handler returned is the
// aggregate's decision, rather than a failure that a retry or a mended program
// may overcome.
func IsRefusal(err error) bool {
	return err != nil && !errors.Is(err, wow.Retryable) && !technical(err)
}

// finish runs offloaded work, if there is any and nothing went wrong before.
func finish(ctx context.Context, err error, work *offload) error {
	if err != nil || work.run == nil {
		return err
	}
	return work.run(ctx)
}
