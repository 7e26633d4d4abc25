package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow/runtime/store"
)

// Claim implements store.Leases.
func (s *Store) Claim(ctx context.Context, owner string, ttl time.Duration, segments []store.Segment, take int) (store.Claimed, error) {
	answer := store.Claimed{Leases: make([]store.Lease, 0, len(segments))}
	if err := s.usable(ctx); err != nil {
		return answer, err
	}
	if err := store.CheckClaim(owner, ttl, segments); err != nil {
		return answer, err
	}
	consumers, shards, numbers := make([]string, len(segments)), make([]int32, len(segments)), make([]int32, len(segments))
	for i, g := range segments {
		if err := checkShard(g.Shard); err != nil {
			return answer, err
		}
		consumers[i], shards[i], numbers[i] = g.Consumer, g.Shard, int32(g.Segment)
	}
	rows, err := s.pool.Query(ctx, "SELECT alive, holder, lease FROM wow_claim_1($1, make_interval(secs => $2), $3, $4, $5, $6)",
		owner, ttl.Seconds(), consumers, shards, numbers, take)
	if err == nil {
		var l store.Lease
		_, err = pgx.ForEachRow(rows, []any{&answer.Owners, &l.Owner, &l.Epoch}, func() error {
			answer.Leases = append(answer.Leases, l)
			return nil
		})
	}
	if err != nil {
		return store.Claimed{}, s.explain("claiming segments", err)
	}
	return answer, nil
}

// Release implements store.Leases.
func (s *Store) Release(ctx context.Context, owner string, segments ...store.Segment) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.transact(ctx, "releasing segments", func(tx pgx.Tx) error {
		if len(segments) == 0 {
			if _, err := tx.Exec(ctx, "DELETE FROM wow_owners WHERE owner = $1", owner); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE wow_checkpoints SET owner = '', until = '-infinity' WHERE owner = $1", owner)
			return err
		}
		for _, g := range segments {
			if _, err := tx.Exec(ctx, `UPDATE wow_checkpoints SET owner = '', until = '-infinity'
				WHERE owner = $1 AND consumer = $2 AND shard = $3 AND segment = $4`, owner, g.Consumer, g.Shard, g.Segment); err != nil {
				return err
			}
		}
		return nil
	})
}
