package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// The process has the file to itself, so who owns what is kept in memory. Only
// the epochs are stored: with each segment that is taken, not with a renewal.

// Claim implements store.Leases.
func (s *Store) Claim(ctx context.Context, owner string, ttl time.Duration, segments []store.Segment, take int) (store.Claimed, error) {
	if err := store.CheckClaim(owner, ttl, segments); err != nil {
		return store.Claimed{}, err
	}
	if err := s.lock(ctx); err != nil { // closed, or of no more use
		return store.Claimed{}, err
	}
	s.unlock()
	return s.leases.Claim(owner, ttl, segments, take, func(of store.Segment) (epoch int64, err error) { return s.raise(ctx, of) })
}

// Release implements store.Leases.
func (s *Store) Release(ctx context.Context, owner string, segments ...store.Segment) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.unlock()
	s.leases.Release(owner, segments...)
	return nil
}

// raise has the checkpoint of a segment refuse all earlier owners.
func (s *Store) raise(ctx context.Context, of store.Segment) (epoch int64, err error) {
	if err := checkShard(of.Shard); err != nil {
		return 0, err
	}
	err = s.side(ctx, "claiming a segment in", func(c *conn) error {
		return c.each(`INSERT INTO wow_checkpoints (consumer, shard, segment, epoch, seq) VALUES (?, ?, ?, 1, 0)
			ON CONFLICT DO UPDATE SET epoch = epoch + 1 RETURNING epoch`, func(column []driver.Value) error {
			epoch = integer(column[0])
			return nil
		}, of.Consumer, int64(of.Shard), int64(of.Segment))
	})
	return epoch, err
}
