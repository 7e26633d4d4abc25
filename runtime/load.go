package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/store"
)

// page is how many commits are read at once: enough to hide a round trip, few
// enough for the memory of a long history's largest commits.
const page = 256

// fetch brings the state that a decision is made on: from the cache, else from
// the store, without holding the worker while that reads.
func (c *commands) fetch(ctx context.Context, f *flight) error {
	if f.cached == nil {
		f.cached = c.cache.get(&f.Target)
	}
	if f.cached != nil && !f.cached.behind {
		return nil
	}
	var err error
	if c.instant != nil {
		f.cached, err = c.r.replay(ctx, f.handler.agg, f.Target, f.cached, loading{})
	} else {
		f.cached, err = executor.Await(ctx, func(ctx context.Context) (*cached, error) {
			return c.r.replay(ctx, f.handler.agg, f.Target, f.cached, loading{})
		})
	}
	if err == nil && f.cached.version > 0 && !f.cached.listed {
		c.cache.put(f.cached)
	}
	return err
}

// loading says which state of an aggregate is wanted; zero is the newest.
type loading struct {
	tenant  string
	version int64 // at most this one
	until   int64 // decided at this time or before, microseconds
}

// after reports whether a commit is later than the state that is wanted.
func (l *loading) after(c *store.Commit) bool {
	return l.until != 0 && c.DecidedAt > l.until || l.version != 0 && c.Version > l.version
}

// replay returns a state that has what the history has. It begins with from, or
// else with the newest snapshot that decodes, or else with nothing. A failed
// replay leaves from of no use.
func (r *Runtime) replay(ctx context.Context, a *aggregate, t wow.Target, from *cached, want loading) (*cached, error) {
	e := from
	if e == nil {
		e = r.snapshot(ctx, a, t, want)
	}
	if e == nil {
		e = &cached{target: t, state: a.State.New(t)}
	}
	for {
		commits, err := r.store.Stream(ctx, t, e.version, page)
		if err != nil {
			r.forget(from)
			return nil, fmt.Errorf("reading the history of %s after version %d: %w", t, e.version, err)
		}
		for _, c := range commits {
			if want.after(c) {
				return e, nil
			}
			if err := r.happen(a, e, c); err != nil {
				r.forget(from)
				return nil, err
			}
		}
		if len(commits) < page {
			e.behind = false
			return e, nil
		}
	}
}

func (r *Runtime) forget(e *cached) {
	if e != nil {
		r.commands.cache.drop(e)
	}
}

// happen applies a stored commit to a state.
func (r *Runtime) happen(a *aggregate, e *cached, c *store.Commit) error {
	m := eventMeta(c)
	size := 0
	for i := range c.Events {
		ev, err := r.types.decode(a.name, &c.Events[i])
		if err != nil {
			return fmt.Errorf("reading %s, version %d, event %d: %w", c.Target, c.Version, i, err)
		}
		m.Index = i
		if !a.State.Apply(e.state, ev, &m) {
			return fmt.Errorf("reading %s, version %d, event %d: nothing applies %s: %w", c.Target, c.Version, i, c.Events[i].Name, wow.ErrUnknownType)
		}
		size += len(c.Events[i].Data)
	}
	e.version, e.decidedAt = c.Version, c.DecidedAt
	e.grow(size)
	return nil
}

// decode returns a stored event of an aggregate. One that this program does not
// know is an error: deciding without it would be deciding on another state.
func (ts *types) decode(aggregate string, e *store.Event) (wow.DomainEvent, error) {
	known := ts.known[aggregate][e.Name]
	if known == nil {
		return nil, fmt.Errorf("event %q is not known to this program: %w", e.Name, wow.ErrUnknownType)
	}
	return readEvent(known.EventType, e)
}

// snapshot returns the newest snapshot that may be used, or nil: a snapshot
// saves reading events and is never more than that.
func (r *Runtime) snapshot(ctx context.Context, a *aggregate, t wow.Target, want loading) *cached {
	if a.State.Snapshot <= 0 || a.State.Decode == nil || want.until != 0 {
		return nil
	}
	snap, err := r.store.Snapshot(ctx, t, a.State.Revision, want.version)
	if err != nil || snap == nil {
		if err != nil {
			r.unreadable(t, 0, err)
		}
		return nil
	}
	decode, err := decoder(snap.Codec)
	if err != nil {
		r.unreadable(t, snap.Version, err)
		return nil
	}
	state, err := a.State.Decode(decode, snap.Data)
	if err != nil {
		r.unreadable(t, snap.Version, err)
		return nil
	}
	return &cached{target: t, state: state, version: snap.Version, measured: snap.Version, encoded: len(snap.Data)}
}

func (r *Runtime) unreadable(t wow.Target, version int64, err error) {
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "a snapshot cannot be read; the events are used instead",
		slog.String("target", t.String()), slog.Int64("version", version), slog.Any("error", err))
}

// LoadOption says which state to load.
type LoadOption func(*loading)

// AtVersion loads the state as it was at a version, or before where there is no
// such version.
func AtVersion(v int64) LoadOption { return func(l *loading) { l.version = v } }

// AtTime loads the state as it was at a time.
func AtTime(t time.Time) LoadOption { return func(l *loading) { l.until = t.UnixMicro() } }

// OfTenant says whose aggregate is meant.
func OfTenant(tenant string) LoadOption { return func(l *loading) { l.tenant = tenant } }

// Load returns a state of the caller's own, and its version; version 0 is an
// aggregate that does not exist, in the state that its constructor gives it.
// What was PROCESSED before the call is in it.
func (g *Gateway) Load(ctx context.Context, t wow.Target, s *wow.StateType, opts ...LoadOption) (wow.State, int64, error) {
	r := g.r
	var want loading
	for _, o := range opts {
		o(&want)
	}
	or(&t.Tenant, want.tenant)
	state, version, err := r.load(ctx, t, s, want)
	if err != nil {
		return nil, 0, fmt.Errorf("runtime: loading %s: %w", t, err)
	}
	return state, version, nil
}

func (r *Runtime) load(ctx context.Context, t wow.Target, s *wow.StateType, want loading) (wow.State, int64, error) {
	if err := store.CheckTarget(t); err != nil {
		return nil, 0, err
	}
	if err := r.life.enter(causeOf(ctx) != nil); err != nil {
		return nil, 0, err
	}
	defer r.life.leave()
	a := r.types.aggregates[t.Aggregate]
	if a == nil || a.State != s {
		return nil, 0, fmt.Errorf("%w: the aggregate is not registered", wow.ErrUnknownType)
	}
	e, err := executor.Await(ctx, func(ctx context.Context) (*cached, error) { return r.replay(ctx, a, t, nil, want) })
	if err != nil {
		return nil, 0, err
	}
	return e.state, e.version, nil
}
