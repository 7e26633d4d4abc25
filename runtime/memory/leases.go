package memory

import (
	"context"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Claim implements store.Leases.
func (s *Store) Claim(ctx context.Context, owner string, ttl time.Duration, segments []store.Segment, take int) (store.Claimed, error) {
	if err := s.usable(ctx); err != nil {
		return store.Claimed{}, err
	}
	if err := store.CheckClaim(owner, ttl, segments); err != nil {
		return store.Claimed{}, err
	}
	return s.leases.Claim(owner, ttl, segments, take, s.raise)
}

// Release implements store.Leases.
func (s *Store) Release(ctx context.Context, owner string, segments ...store.Segment) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.leases.Release(owner, segments...)
	return nil
}

// raise has the checkpoint of a segment refuse all earlier owners.
func (s *Store) raise(of store.Segment) (int64, error) {
	if err := checkShard(of.Shard); err != nil {
		return 0, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	key := checkpointKey{of.Consumer, of.Shard, of.Segment}
	c, ok := s.side.checkpoints[key]
	if !ok {
		c = store.Checkpoint{Consumer: of.Consumer, Segment: of.Segment, Position: wow.Position{Shard: of.Shard}}
	}
	c.Epoch++
	s.side.checkpoints[key] = c
	return c.Epoch, nil
}
