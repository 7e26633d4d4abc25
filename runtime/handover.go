package runtime

import (
	"slices"
	"sync"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// handoverSize is how many commits the hand-over remembers: a power of two. A
// consumer that is further behind decodes.
const handoverSize = 1024

// handover passes events that this process decided to its consumers as they
// are, which saves each of them a decoding. It is never more than that: a
// consumer takes a commit from the store, and looks here for what the commit's
// bytes would decode to.
//
// Only flat events that their encoding holds whole are passed (see isFlat): for
// those, decoding gives an equal value, and there is nothing in them to share.
type handover struct {
	slots [handoverSize]handed
}

// handed is the place of a position, and of all a multiple of handoverSize
// before and behind it.
type handed struct {
	mu   sync.Mutex
	at   wow.Position
	one  wow.DomainEvent   // of a commit with one event
	more []wow.DomainEvent // of one with several
}

// put remembers the events of a stored commit.
func (h *handover) put(at wow.Position, events []wow.DomainEvent) {
	s := &h.slots[at.Seq%handoverSize]
	one, more := wow.DomainEvent(nil), []wow.DomainEvent(nil)
	if len(events) == 1 {
		one = events[0]
	} else {
		more = slices.Clone(events)
	}
	s.mu.Lock()
	s.at, s.one, s.more = at, one, more
	s.mu.Unlock()
}

// get returns an event of a commit as the type t, or nil. A nil hand-over has
// none.
func (h *handover) get(c *store.Commit, index int, t *wow.EventType) wow.DomainEvent {
	if h == nil {
		return nil
	}
	s := &h.slots[c.Position.Seq%handoverSize]
	s.mu.Lock()
	found, e := s.at == c.Position, s.one
	if found && e == nil && index < len(s.more) {
		e = s.more[index]
	}
	s.mu.Unlock()
	if !found || e == nil || e.WowEvent() != t {
		return nil
	}
	return e
}
