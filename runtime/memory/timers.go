package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/wowgen/wow/runtime/store"
)

// timers are those of one consumer.
type timers struct {
	named map[string]*store.Timer
	due   []*store.Timer  // those that are to come, the earliest first
	marks map[string]bool // names of those that are done or taken back
}

// SetTimers implements store.Timers.
func (s *Store) SetTimers(ctx context.Context, all []store.Timer) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	for i := range all {
		if err := store.CheckTimer(&all[i]); err != nil {
			return err
		}
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	for i := range all {
		t := all[i]
		mine := s.side.timers[t.Consumer]
		if mine == nil {
			mine = &timers{named: make(map[string]*store.Timer), marks: make(map[string]bool)}
			s.side.timers[t.Consumer] = mine
		}
		mine.set(&t)
		for name := range mine.marks {
			// Its consumer is past the commit: it cannot be set again.
			// One that is parked may be run again.
			parked := s.side.parked[t.Consumer]
			m := mine.named[name]
			if slices.ContainsFunc(parked, func(p store.Parked) bool {
				return p.Commit.Position.Shard == m.Position.Shard && p.Commit.Position.Seq <= m.Position.Seq
			}) {
				continue
			}
			if m.Position.Seq <= s.side.checkpoints[checkpointKey{t.Consumer, m.Position.Shard, 0}].Position.Seq {
				delete(mine.named, name)
				delete(mine.marks, name)
			}
		}
	}
	return nil
}

func (mine *timers) set(t *store.Timer) {
	old := mine.named[t.Name]
	if old != nil && !t.Replaces(old) {
		return
	}
	if old != nil && old.Due != 0 {
		i, _ := slices.BinarySearchFunc(mine.due, old, sooner)
		mine.due = slices.Delete(mine.due, i, i+1)
	}
	mine.named[t.Name] = t
	if t.Due == 0 {
		mine.marks[t.Name] = true
		return
	}
	delete(mine.marks, t.Name)
	i, _ := slices.BinarySearchFunc(mine.due, t, sooner)
	mine.due = slices.Insert(mine.due, i, t)
}

func sooner(a, b *store.Timer) int {
	return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Name, b.Name))
}

// Timers implements store.Timers.
func (s *Store) Timers(ctx context.Context, consumer string, due int64, limit int) ([]store.Timer, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	var found []store.Timer
	if mine := s.side.timers[consumer]; mine != nil {
		for _, t := range mine.due {
			if t.Due > due || len(found) >= limit {
				break
			}
			found = append(found, *t)
		}
	}
	return found, nil
}

// Timer implements store.Timers.
func (s *Store) Timer(ctx context.Context, consumer, name string) (*store.Timer, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	if mine := s.side.timers[consumer]; mine != nil {
		if t := mine.named[name]; t != nil && t.Due != 0 {
			one := *t
			return &one, nil
		}
	}
	return nil, nil
}
