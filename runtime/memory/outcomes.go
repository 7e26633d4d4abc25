package memory

import (
	"context"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// request keys an outcome that was kept.
type request struct {
	of *stream
	id string
}

// expiring says when a kept outcome may be forgotten.
type expiring struct {
	key request
	at  time.Time
}

// Settle implements store.Outcomes.
func (s *Store) Settle(ctx context.Context, decisions []store.Settlement) ([]store.Settled, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	for i := range decisions {
		if err := store.CheckSettlement(&decisions[i]); err != nil {
			return nil, err
		}
	}
	s.forget(now)
	settled := make([]store.Settled, len(decisions))
	for i := range decisions {
		d, out := &decisions[i], &settled[i]
		st := s.streams[d.Target]
		out.Head = st.head()
		id := d.Outcome.Request
		if id == "" {
			continue
		}
		if st != nil {
			if c := st.find(id, s.tag(id)); c != nil {
				out.First = c.Outcome()
				continue
			}
			if kept := s.kept[request{st, id}]; kept != nil {
				out.First = kept
				continue
			}
		}
		if !d.Keep || out.Head != d.Version {
			continue
		}
		if st == nil {
			st = new(stream)
			s.streams[d.Target] = st
		}
		kept := d.Outcome
		s.kept[request{st, id}] = &kept
		s.expiring = append(s.expiring, expiring{request{st, id}, now.Add(store.OutcomeRetention)})
	}
	return settled, nil
}

// forget drops the outcomes whose time has come. The caller holds mu.
func (s *Store) forget(now time.Time) {
	n := 0
	for n < len(s.expiring) && s.expiring[n].at.Before(now) {
		delete(s.kept, s.expiring[n].key)
		n++
	}
	s.expiring = s.expiring[n:]
}
