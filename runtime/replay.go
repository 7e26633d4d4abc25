package runtime

import (
	"context"
	"fmt"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Replay returns the state of an aggregate and its version as the events alone
// say, without a snapshot and without a runtime. It is for tools; an app loads
// through its client, which is faster.
//
// An event that s does not know is an error that wraps wow.ErrUnknownType. An
// aggregate that never was has version 0.
func Replay(ctx context.Context, log store.Log, s *wow.StateType, t wow.Target, opts ...LoadOption) (wow.State, int64, error) {
	var want loading
	for _, o := range opts {
		o(&want)
	}
	known := map[string]*wow.EventType{}
	for _, e := range s.Events {
		known[e.Name] = e
	}
	state, version := s.New(t), int64(0)
	for {
		commits, err := log.Stream(ctx, t, version, page)
		if err != nil {
			return nil, 0, fmt.Errorf("reading the history of %s after version %d: %w", t, version, err)
		}
		for _, c := range commits {
			if want.after(c) {
				return state, version, nil
			}
			if err := applyAll(s, state, c, known); err != nil {
				return nil, 0, err
			}
			version = c.Version
		}
		if len(commits) < page {
			return state, version, nil
		}
	}
}

func applyAll(s *wow.StateType, state wow.State, c *store.Commit, known map[string]*wow.EventType) error {
	m := eventMeta(c)
	for i := range c.Events {
		e := &c.Events[i]
		fail := func(err error) error {
			return fmt.Errorf("reading %s, version %d, event %d: %w", c.Target, c.Version, i, err)
		}
		if known[e.Name] == nil {
			return fail(fmt.Errorf("event %q is not known to this program: %w", e.Name, wow.ErrUnknownType))
		}
		event, err := readEvent(known[e.Name], e)
		if err != nil {
			return fail(err)
		}
		m.Index = i
		if !s.Apply(state, event, &m) {
			return fail(fmt.Errorf("nothing applies %s: %w", e.Name, wow.ErrUnknownType))
		}
	}
	return nil
}
