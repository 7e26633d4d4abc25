package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// KeyStats tells about one mailbox.
type KeyStats struct {
	Lane    string        `json:"lane"`
	Key     any           `json:"key"`
	Backlog int           `json:"backlog"` // messages, the one in its handler included
	Age     time.Duration `json:"age"`     // since its oldest message became the oldest; to a few ms
	State   string        `json:"state"`   // queued, waiting or running
	Worker  int           `json:"worker"`

	lane *lane
}

// Keys returns the k mailboxes with the largest backlog and the k with the
// oldest message, the largest backlog first. Nothing is stopped: each worker
// answers between two turns, and one whose handler does not return answers
// through another goroutine. If ctx ends first, those that did not answer are
// missing.
func (e *Executor) Keys(ctx context.Context, k int) []KeyStats {
	e.mu.Lock()
	lanes := slices.Clone(e.lanes)
	e.mu.Unlock()
	return e.inspect(ctx, lanes, k)
}

// ask is a question to one slot.
type ask struct {
	link  *ask // next in slot.asks
	top   int
	reply chan []KeyStats // has room for the answer
}

// inspect asks all slots, and adds what waits in the lanes' overflows.
func (e *Executor) inspect(ctx context.Context, lanes []*lane, top int) []KeyStats {
	if top <= 0 {
		return nil
	}
	reply := make(chan []KeyStats, len(e.slots))
	for _, s := range e.slots {
		s.ask(&ask{top: top, reply: reply})
	}
	soon := time.NewTimer(answerSoon)
	defer soon.Stop()
	var keys []KeyStats
	for range e.slots {
		select {
		case some := <-reply:
			keys = append(keys, some...)
			continue
		default:
		}
		select {
		case some := <-reply:
			keys = append(keys, some...)
		case <-soon.C:
			for _, s := range e.slots {
				if ep := s.epoch.Load(); ep&1 == 1 && s.asks.Load() != nil {
					s.rescue(ep)
				}
			}
			select {
			case some := <-reply:
				keys = append(keys, some...)
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}
	for _, l := range lanes {
		keys = l.addSpilt(keys)
	}
	return topKeys(keys, top)
}

// addSpilt adds the overflow of a lane.
func (l *lane) addSpilt(keys []KeyStats) []KeyStats {
	if l.perKey == 0 || l.spilt.Load() == 0 {
		return keys
	}
	l.lock()
	defer l.unlock()
	for i := range l.spills {
		s := &l.spills[i]
		if s.n == 0 {
			continue
		}
		key := l.body.key(s.first)
		at := slices.IndexFunc(keys, func(k KeyStats) bool { return k.lane == l && k.Key == key })
		if at < 0 {
			at = len(keys)
			keys = append(keys, KeyStats{Lane: l.name, Key: key, State: "queued", Worker: int(l.entries[i].slot), lane: l})
		}
		keys[at].Backlog += int(s.n)
	}
	return keys
}

// topKeys keeps the n largest backlogs and the n oldest.
func topKeys(keys []KeyStats, n int) []KeyStats {
	slices.SortFunc(keys, func(a, b KeyStats) int { return cmp.Compare(b.Age, a.Age) })
	rest := keys[min(n, len(keys)):]
	slices.SortFunc(rest, func(a, b KeyStats) int { return cmp.Compare(b.Backlog, a.Backlog) })
	if len(keys) > 2*n {
		keys = keys[:2*n]
	}
	slices.SortFunc(keys, func(a, b KeyStats) int {
		return cmp.Or(cmp.Compare(b.Backlog, a.Backlog), cmp.Compare(b.Age, a.Age), cmp.Compare(fmt.Sprint(a.Key), fmt.Sprint(b.Key)))
	})
	return keys
}

// ask brings a question to the slot.
//
//	asker: pushes, looks at state
//	close: state = closed, empties the list
func (s *slot) ask(a *ask) {
	for {
		a.link = s.asks.Load()
		if s.asks.CompareAndSwap(a.link, a) {
			break
		}
	}
	if s.poke(); s.state.Load() == slotClosed {
		s.refuse()
	}
}

// refuse answers for a closed slot.
func (s *slot) refuse() {
	for a := s.asks.Swap(nil); a != nil; {
		next := a.link // before the answer: then the asker may be gone
		a.reply <- nil
		a = next
	}
}

// answer answers all questions. The caller owns the slot.
func (s *slot) answer() {
	now := s.e.tick.Load()
	for a := s.asks.Swap(nil); a != nil; {
		next := a.link
		var keys []KeyStats
		add := func(b *box, state string) {
			if b == nil || b.n == 0 {
				return
			}
			l := b.port.lane
			keys = append(keys, KeyStats{
				Lane: l.name, Key: l.body.key(b.first), Backlog: int(b.n), State: state, Worker: s.id,
				Age: time.Duration(now-min(now, b.stamp)) * time.Millisecond, lane: l,
			})
		}
		for b := s.qhead; b != nil; b = b.run {
			if b.carrier == nil {
				add(b, "queued")
			}
		}
		for b := s.dropped; b != nil; b = b.run {
			add(b, "queued")
		}
		for p := s.pending; p != nil; p = p.next {
			add(p.box, "waiting")
		}
		for c := s.away; c != nil; c = c.next {
			add(c.box, "running")
		}
		a.reply <- topKeys(keys, a.top)
		a = next
	}
}
