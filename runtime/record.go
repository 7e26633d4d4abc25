package runtime

import (
	"fmt"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// record turns the decided events into a commit, and lets them happen to the
// state. An event that cannot be encoded or applied is an error here, before it
// is history; the state is then of no use any more.
func (l *lane) record(f *flight) error {
	events := f.out.events
	c := newCommit(len(events))
	c.Target = f.Target
	c.Version = f.cached.version + 1
	c.ID = f.id
	c.Request = f.Request
	c.Correlation = f.Correlation
	c.Causation = f.Causation
	c.DecidedAt = f.Time.UnixMicro()
	c.Metadata = f.Metadata
	f.commit, f.bytes, f.flat = c, 0, true

	m := &f.meta
	m.Target, m.Version, m.Position, m.Commit = c.Target, c.Version, c.Position, c.ID
	m.Time, m.Request, m.Correlation, m.Causation, m.Metadata = f.Time, c.Request, c.Correlation, c.Causation, c.Metadata
	for i, e := range events {
		if e == nil {
			return fmt.Errorf("event %d is nil", i)
		}
		known := f.handler.agg.events[e.WowEvent()]
		if known == nil {
			return fmt.Errorf("%T is not an event of %s: %w", e, f.Target.Aggregate, wow.ErrUnknownType)
		}
		codec, data, err := encodeEvent(e)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", known.Name, err)
		}
		if f.bytes += len(known.Name) + len(data); f.bytes > store.MaxCommit {
			return fmt.Errorf("%w: its events have more than %d bytes: make them smaller or fewer", wow.ErrInvalid, store.MaxCommit)
		}
		if !known.flat || !faithful(data) {
			f.flat = false
			if e, err = decodeEvent(known.EventType, codec, data); err != nil {
				return fmt.Errorf("decoding %s as it would be stored: %w", known.Name, err)
			}
		}
		c.Events[i] = store.Event{Name: known.Name, Revision: known.Revision, Codec: codec, Data: data}
		m.Index = i
		if !f.handler.agg.State.Apply(f.cached.state, e, m) {
			return fmt.Errorf("%s has no method that applies %T: return events by value", f.Target.Aggregate, e)
		}
	}
	return nil
}

// newCommit returns a commit with room for n events. Most have one, which then
// stands beside its commit.
func newCommit(n int) *store.Commit {
	if n == 1 {
		one := new(struct {
			store.Commit
			event [1]store.Event
		})
		one.Events = one.event[:]
		return &one.Commit
	}
	return &store.Commit{Events: make([]store.Event, n)}
}

// eventMeta returns the metadata of a commit's first event. Position is zero
// unless the commit is stored.
func eventMeta(c *store.Commit) wow.EventMeta { return wow.EventMeta{CommitMeta: commitMeta(c)} }

func commitMeta(c *store.Commit) wow.CommitMeta {
	return wow.CommitMeta{
		Target:      c.Target,
		Version:     c.Version,
		Position:    c.Position,
		Commit:      c.ID,
		Time:        time.UnixMicro(c.DecidedAt).UTC(),
		Request:     c.Request,
		Correlation: c.Correlation,
		Causation:   c.Causation,
		Metadata:    c.Metadata,
	}
}
