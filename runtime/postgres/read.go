package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// readBytes is how many bytes of payload one Read returns before it stops
// short of its limit.
const readBytes = 8 << 20

const selectCommits = `SELECT shard, seq, stored_at, tenant, aggregate, id, version, commit_id, coalesce(request, ''),
	correlation, causation, decided_at, types, format, header, payload, crc FROM wow_commits `

// commits reads rows until next has enough of them.
func commits(rows pgx.Rows, next func(*store.Commit) (enough bool, err error)) error {
	defer rows.Close()
	var row frame.Row
	for rows.Next() {
		var format int16
		var sum int64
		row.Header, row.Payload = nil, nil // the commit before keeps its own
		if err := rows.Scan(&row.Shard, &row.Seq, &row.StoredAt, &row.Target.Tenant, &row.Target.Aggregate, &row.Target.ID, &row.Version,
			&row.Commit, &row.Request, &row.Correlation, &row.Causation, &row.DecidedAt, &row.Types, &format,
			&row.Header, &row.Payload, &sum); err != nil {
			return err
		}
		row.Format, row.Sum = uint8(format), uint32(sum)
		c, err := row.Decode()
		if err != nil {
			return err
		}
		if enough, err := next(c); enough || err != nil {
			return err
		}
	}
	return rows.Err()
}

// hole is the error of a history that lacks a commit.
func hole(what string, want, got int64) error {
	return fmt.Errorf("postgres: %w: %s %d is missing, %d follows", frame.ErrCorrupt, what, want, got)
}

// Stream implements store.Log.
func (s *Store) Stream(ctx context.Context, t wow.Target, after int64, limit int) ([]*store.Commit, error) {
	if err := s.usable(ctx); err != nil || limit <= 0 {
		return nil, err
	}
	after = max(after, 0)
	rows, err := s.pool.Query(ctx, selectCommits+"WHERE id = $1 AND aggregate = $2 AND tenant = $3 AND version > $4 ORDER BY version LIMIT $5",
		t.ID, t.Aggregate, t.Tenant, after, limit)
	if err != nil {
		return nil, s.explain("reading a stream", err)
	}
	var found []*store.Commit
	if err := commits(rows, func(c *store.Commit) (bool, error) {
		if after++; c.Version != after {
			return false, hole(t.String()+" version", after, c.Version)
		}
		found = append(found, c)
		return false, nil
	}); err != nil {
		return nil, s.explain("reading a stream", err)
	}
	if n := len(found); n > 0 {
		s.known.add(t, found[n-1].Version)
	}
	return found, nil
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after wow.Position, limit int) ([]*store.Commit, error) {
	if err := checkShard(after.Shard); err != nil {
		return nil, err
	}
	if err := s.usable(ctx); err != nil || limit <= 0 {
		return nil, err
	}
	seq := max(after.Seq, 0)
	rows, err := s.pool.Query(ctx, selectCommits+"WHERE shard = $1 AND seq > $2 ORDER BY seq LIMIT $3", after.Shard, seq, limit)
	if err != nil {
		return nil, s.explain("reading the log", err)
	}
	var found []*store.Commit
	size := 0
	if err := commits(rows, func(c *store.Commit) (bool, error) {
		if seq++; c.Position.Seq != seq {
			return false, hole("position", seq, c.Position.Seq)
		}
		found = append(found, c)
		for i := range c.Events {
			size += len(c.Events[i].Data)
		}
		return size >= readBytes, nil
	}); err != nil {
		return nil, s.explain("reading the log", err)
	}
	if len(found) > 0 {
		s.raise(seq)
	}
	return found, nil
}

// Head implements store.Log.
func (s *Store) Head(ctx context.Context, shard int32) (wow.Position, error) {
	if err := checkShard(shard); err != nil {
		return wow.Position{}, err
	}
	if err := s.usable(ctx); err != nil {
		return wow.Position{}, err
	}
	if err := s.look(ctx); err != nil {
		return wow.Position{}, s.explain("reading the head of the log", err)
	}
	return position(s.head.Load()), nil
}

// Wait implements store.Log. All who wait share one that asks the database:
// whoever has the token. The bell wakes the others.
func (s *Store) Wait(ctx context.Context, after wow.Position) error {
	if err := checkShard(after.Shard); err != nil {
		return err
	}
	return s.bell.WaitAsking(ctx, func() (bool, error) {
		return s.head.Load() > after.Seq, s.usable(ctx)
	}, s.polling, func(rung <-chan struct{}) error {
		pause := time.NewTimer(s.poll)
		defer pause.Stop()
		select {
		case <-pause.C:
			return s.explain("waiting for commits", s.look(ctx))
		case <-rung:
		case <-ctx.Done():
		}
		return nil
	})
}
