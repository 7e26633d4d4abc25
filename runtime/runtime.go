// Package runtime runs what wowgen generated.
package runtime

import (
	"context"

	"github.com/wowgen/wow"
)

// Runtime decides commands and runs consumers.
type Runtime struct {
	aggregates  []Aggregate
	processors  []Processor
	projections []Projection
	sagas       []Saga
}

// AddAggregate is called by generated Register functions.
func (r *Runtime) AddAggregate(a Aggregate) { r.aggregates = append(r.aggregates, a) }

// AddProcessor is called by generated Register functions.
func (r *Runtime) AddProcessor(p Processor) { r.processors = append(r.processors, p) }

// AddProjection is called by generated Register functions.
func (r *Runtime) AddProjection(p Projection) { r.projections = append(r.projections, p) }

// AddSaga is called by generated Register functions.
func (r *Runtime) AddSaga(s Saga) { r.sagas = append(r.sagas, s) }

// Gateway sends commands.
type Gateway struct{ r *Runtime }

// Receipt is the answer to a command.
type Receipt struct {
	Target   wow.Target
	Version  int64
	Position wow.Position
}

// SendOption changes how a command is sent.
type SendOption func(*wow.CommandMeta)

// LoadOption says which state to load.
type LoadOption func(*loading)

type loading struct{ version int64 }

// Send sends a command.
func (g *Gateway) Send(ctx context.Context, cmd wow.Sendable, opts ...SendOption) (Receipt, error) {
	panic("unfinished")
}

// Load loads a state.
func (g *Gateway) Load(ctx context.Context, t wow.Target, s *wow.StateType, opts ...LoadOption) (wow.State, int64, error) {
	panic("unfinished")
}
