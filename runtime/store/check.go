package store

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/wowgen/wow"
)

// The limits of what a store takes. They are part of the contract: a history
// that one store took can be moved to any other, and published on a bus.
const (
	// MaxCommit is the most bytes that the events and metadata of one commit
	// may have: more than that would not pass a message bus later.
	MaxCommit = 900 << 10

	MaxTenant    = 64  // bytes of Target.Tenant
	MaxAggregate = 128 // bytes of Target.Aggregate
	MaxID        = 256 // bytes of Target.ID, and of commit, request and trace IDs
	MaxName      = 256 // bytes of an event's name, a consumer's or a function's

	MaxRevision = 1<<31 - 1

	MaxMetadata      = 64       // entries
	MaxMetadataBytes = 16 << 10 // of all keys and values

	// SnapshotsKept is how many snapshots a store keeps of each aggregate and
	// state revision.
	SnapshotsKept = 4

	// OutcomeRetention is how long a store keeps the outcome of a refusal or a
	// no-op. The outcomes of commits are kept for ever.
	OutcomeRetention = 30 * 24 * time.Hour
)

// Check reports why no store takes the commit, or nil. Its error wraps
// wow.ErrInvalid and names what to mend.
func Check(c *Commit) error {
	if err := CheckTarget(c.Target); err != nil {
		return err
	}
	return CheckContent(c)
}

// CheckTarget is the part of Check that concerns the address.
func CheckTarget(t wow.Target) error {
	switch {
	case t.Aggregate == "":
		return fmt.Errorf("store: target %q has no aggregate: %w", t, wow.ErrInvalid)
	case t.ID == "":
		return fmt.Errorf("store: target %q has no ID: %w", t, wow.ErrInvalid)
	}
	if err := checkKey("tenant", t.Tenant, MaxTenant); err != nil {
		return err
	}
	if err := checkKey("aggregate", t.Aggregate, MaxAggregate); err != nil {
		return err
	}
	return checkKey("aggregate ID", t.ID, MaxID)
}

// CheckContent is the part of Check that concerns all but the address.
func CheckContent(c *Commit) error {
	switch {
	case c.ID == "":
		return fmt.Errorf("store: a commit of %s has no ID: %w", c.Target, wow.ErrInvalid)
	case c.Version < 1:
		return fmt.Errorf("store: commit %s of %s has version %d, the first is 1: %w", c.ID, c.Target, c.Version, wow.ErrInvalid)
	case len(c.Events) == 0:
		return fmt.Errorf("store: commit %s of %s has no events: %w", c.ID, c.Target, wow.ErrInvalid)
	}
	for _, k := range [...]struct{ what, s string }{
		{"commit ID", c.ID}, {"request ID", c.Request}, {"correlation ID", c.Correlation}, {"causation ID", c.Causation},
	} {
		if err := checkKey(k.what, k.s, MaxID); err != nil {
			return fmt.Errorf("%w (in a commit of %s)", err, c.Target)
		}
	}
	size := 0
	if len(c.Metadata) > 0 {
		if len(c.Metadata) > MaxMetadata {
			return fmt.Errorf("store: commit %s of %s has %d metadata entries, the limit is %d: %w",
				c.ID, c.Target, len(c.Metadata), MaxMetadata, wow.ErrInvalid)
		}
		for k, v := range c.Metadata {
			size += len(k) + len(v)
		}
		if size > MaxMetadataBytes {
			return fmt.Errorf("store: commit %s of %s has %d bytes of metadata, the limit is %d: %w",
				c.ID, c.Target, size, MaxMetadataBytes, wow.ErrInvalid)
		}
	}
	for i := range c.Events {
		e := &c.Events[i]
		if e.Name == "" {
			return fmt.Errorf("store: event %d of commit %s of %s has no name: %w", i, c.ID, c.Target, wow.ErrInvalid)
		}
		if e.Revision < 0 || e.Revision > MaxRevision {
			return fmt.Errorf("store: event %q of commit %s of %s has revision %d, the limits are 0 and %d: %w",
				e.Name, c.ID, c.Target, e.Revision, MaxRevision, wow.ErrInvalid)
		}
		if err := checkKey("event name", e.Name, MaxName); err != nil {
			return fmt.Errorf("%w (in a commit of %s)", err, c.Target)
		}
		size += len(e.Name) + len(e.Data)
	}
	if size > MaxCommit {
		return fmt.Errorf("store: commit %s of %s has %d bytes, the limit is %d; make its events smaller or fewer: %w",
			c.ID, c.Target, size, MaxCommit, wow.ErrInvalid)
	}
	return nil
}

// CheckKey reports why s, which errors call what, is no key or ID that all
// stores compare and order alike. The empty string is one.
func CheckKey(what, s string, limit int) error { return checkKey(what, s, limit) }

// checkKey refuses what stores would compare, order or cut differently.
func checkKey(what, s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("store: %s %.40q… has %d bytes, the limit is %d: %w", what, s, len(s), limit, wow.ErrInvalid)
	}
	if plain(s) {
		return nil
	}
	for i, r := range s {
		if r == utf8.RuneError && !utf8.ValidString(s) {
			return fmt.Errorf("store: %s %q is not valid UTF-8: %w", what, s, wow.ErrInvalid)
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return fmt.Errorf("store: %s %q has a control character at byte %d: %w", what, s, i, wow.ErrInvalid)
		}
	}
	return nil
}

// plain reports whether s is printable ASCII: nearly every key, in one
// comparison for each byte.
func plain(s string) bool {
	for i := range len(s) {
		if s[i]-0x20 >= 0x7f-0x20 {
			return false
		}
	}
	return true
}

// CheckSettlement reports why no store takes the decision, or nil.
func CheckSettlement(d *Settlement) error {
	if err := CheckTarget(d.Target); err != nil {
		return err
	}
	if d.Keep && d.Outcome.Request == "" {
		return fmt.Errorf("store: an outcome of %s is to be kept but has no request ID: %w", d.Target, wow.ErrInvalid)
	}
	if d.Keep && d.Outcome.Kind != NoOp && d.Outcome.Kind != Refused {
		return fmt.Errorf("store: an outcome of %s is neither a no-op nor a refusal; commits are appended: %w", d.Target, wow.ErrInvalid)
	}
	return checkKey("request ID", d.Outcome.Request, MaxID)
}

// CheckSnapshot reports why no store takes the snapshot, or nil.
func CheckSnapshot(s *Snapshot) error {
	if s.Version < 1 || s.Commit == "" {
		return fmt.Errorf("store: a snapshot of %s has version %d and commit %q; a state that exists has both: %w",
			s.Target, s.Version, s.Commit, wow.ErrInvalid)
	}
	if err := checkKey("state revision", s.Revision, MaxName); err != nil {
		return err
	}
	return CheckTarget(s.Target)
}

// CheckParked reports why no store takes the parked message, or nil.
func CheckParked(p *Parked) error {
	switch {
	case p.Consumer == "":
		return fmt.Errorf("store: a parked message has no consumer: %w", wow.ErrInvalid)
	case p.Commit == nil || p.Commit.Position.Seq < 1:
		return fmt.Errorf("store: a parked message of %s has no stored commit: %w", p.Consumer, wow.ErrInvalid)
	}
	if err := checkKey("consumer", p.Consumer, MaxName); err != nil {
		return err
	}
	return checkKey("function", p.Function, MaxName)
}
