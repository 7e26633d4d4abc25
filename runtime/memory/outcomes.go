package memory

import (
	"context"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// request keys what a request came to. One map holds those of all aggregates:
// most have few.
type request struct {
	of *stream
	id string
}

// first is what a request came to: a commit, or an outcome that was kept.
type first struct {
	commit *store.Commit
	kept   *store.Outcome
}

func (f first) outcome() *store.Outcome {
	if f.commit != nil {
		return f.commit.Outcome()
	}
	return f.kept
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
			if f, ok := s.requests[request{st, id}]; ok {
				out.First = f.outcome()
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
		s.requests[request{st, id}] = first{kept: &kept}
		s.expiring = append(s.expiring, expiring{request{st, id}, now.Add(store.OutcomeRetention)})
	}
	return settled, nil
}

// forget drops the outcomes whose time has come. The caller holds mu.
func (s *Store) forget(now time.Time) {
	n := 0
	for n < len(s.expiring) && s.expiring[n].at.Before(now) {
		delete(s.requests, s.expiring[n].key)
		n++
	}
	s.expiring = s.expiring[n:]
}
