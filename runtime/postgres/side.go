package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// Snapshot implements store.Snapshots. One whose bytes changed is an error.
func (s *Store) Snapshot(ctx context.Context, t wow.Target, revision string, limit int64) (*store.Snapshot, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = 1<<63 - 1
	}
	sn := &store.Snapshot{Target: t, Revision: revision}
	var codec int16
	var sum int64
	err := s.pool.QueryRow(ctx, `SELECT version, commit_id, codec, data, crc FROM wow_snapshots
		WHERE id = $1 AND aggregate = $2 AND tenant = $3 AND revision = $4 AND version <= $5 ORDER BY version DESC LIMIT 1`,
		t.ID, t.Aggregate, t.Tenant, revision, limit).Scan(&sn.Version, &sn.Commit, &codec, &sn.Data, &sum)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, s.explain("reading a snapshot", err)
	}
	sn.Codec = store.Codec(codec)
	if err := frame.CheckSnapshot(sn, uint32(sum)); err != nil {
		return nil, err
	}
	return sn, nil
}

// SaveSnapshot implements store.Snapshots.
func (s *Store) SaveSnapshot(ctx context.Context, sn *store.Snapshot) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := store.CheckSnapshot(sn); err != nil {
		return err
	}
	t, data := sn.Target, sn.Data
	if data == nil {
		data = []byte{}
	}
	return s.transact(ctx, "saving a snapshot", func(tx pgx.Tx) error {
		saved, err := tx.Exec(ctx, `INSERT INTO wow_snapshots (id, aggregate, tenant, revision, version, commit_id, codec, data, crc)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 WHERE NOT EXISTS (SELECT FROM wow_snapshots
				WHERE id = $1 AND aggregate = $2 AND tenant = $3 AND revision = $4 AND version > $5)
			ON CONFLICT (id, aggregate, tenant, revision, version)
			DO UPDATE SET commit_id = excluded.commit_id, codec = excluded.codec, data = excluded.data, crc = excluded.crc`,
			t.ID, t.Aggregate, t.Tenant, sn.Revision, sn.Version, sn.Commit, int16(sn.Codec), data, int64(frame.SumSnapshot(sn)))
		if err != nil || saved.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM wow_snapshots WHERE id = $1 AND aggregate = $2 AND tenant = $3 AND revision = $4
			AND version <= (SELECT version FROM wow_snapshots WHERE id = $1 AND aggregate = $2 AND tenant = $3 AND revision = $4
				ORDER BY version DESC LIMIT 1 OFFSET $5)`,
			t.ID, t.Aggregate, t.Tenant, sn.Revision, store.SnapshotsKept)
		return err
	})
}

// Checkpoint implements store.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, consumer string, shard int32, segment int) (store.Checkpoint, error) {
	found := store.Checkpoint{Consumer: consumer, Segment: segment, Position: wow.Position{Shard: shard}}
	if err := checkShard(shard); err != nil {
		return found, err
	}
	if err := s.usable(ctx); err != nil {
		return found, err
	}
	err := s.pool.QueryRow(ctx, "SELECT epoch, seq FROM wow_checkpoints WHERE consumer = $1 AND shard = $2 AND segment = $3",
		consumer, shard, segment).Scan(&found.Epoch, &found.Position.Seq)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return found, s.explain("reading a checkpoint", err)
	}
	return found, nil
}

// SaveCheckpoint implements store.Checkpoints.
func (s *Store) SaveCheckpoint(ctx context.Context, c store.Checkpoint) error {
	return s.Park(ctx, nil, &c)
}

// Park implements store.Parking.
func (s *Store) Park(ctx context.Context, messages []store.Parked, c *store.Checkpoint) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	for i := range messages {
		if err := store.CheckParked(&messages[i]); err != nil {
			return err
		}
	}
	if c != nil {
		if err := s.reached(ctx, c); err != nil {
			return err
		}
	}
	return s.transact(ctx, "saving a checkpoint", func(tx pgx.Tx) error {
		var all pgx.Batch
		if c != nil {
			all.Queue(moveCheckpoint, c.Consumer, c.Position.Shard, c.Segment, c.Epoch, c.Position.Seq)
		}
		for i := range messages {
			m := &messages[i]
			p, t := m.Commit.Position, m.Commit.Target
			all.Queue(`INSERT INTO wow_parked (consumer, shard, seq, function, tenant, aggregate, id, error, attempts, at, running)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (consumer, shard, seq, function)
				DO UPDATE SET error = excluded.error, attempts = excluded.attempts, at = excluded.at, running = excluded.running`,
				m.Consumer, p.Shard, p.Seq, m.Function, t.Tenant, t.Aggregate, t.ID, []byte(m.Error), m.Attempts, m.At, m.Running)
		}
		results := tx.SendBatch(ctx, &all)
		var refused error
		if c != nil {
			moved, err := results.Exec()
			if err == nil && moved.RowsAffected() == 0 {
				refused = store.ErrEpoch
			}
		}
		if err := results.Close(); err != nil {
			return err
		}
		return refused
	})
}

// moveCheckpoint changes no row when somebody else owns the segment, or the
// checkpoint would move back. One at 0 only compares the epoch.
const moveCheckpoint = `INSERT INTO wow_checkpoints AS old (consumer, shard, segment, epoch, seq) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (consumer, shard, segment) DO UPDATE SET epoch = excluded.epoch, seq = greatest(old.seq, excluded.seq)
	WHERE excluded.epoch >= old.epoch AND (excluded.seq >= old.seq OR excluded.seq = 0)`

// reached reports a checkpoint above the head of its shard.
func (s *Store) reached(ctx context.Context, c *store.Checkpoint) error {
	if err := checkShard(c.Position.Shard); err != nil {
		return err
	}
	if c.Position.Seq > s.head.Load() { // another process may have appended it
		if err := s.look(ctx); err != nil {
			return s.explain("saving a checkpoint", err)
		}
		if c.Position.Seq > s.head.Load() {
			return store.ErrAhead
		}
	}
	return nil
}

// Parked implements store.Parking.
func (s *Store) Parked(ctx context.Context, consumer string, t wow.Target, after wow.Position, limit int) ([]store.Parked, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	// The last position of the page is found first, so that its messages come
	// together.
	rows, err := s.pool.Query(ctx, `WITH mine AS (SELECT seq, function, error, attempts, at, running FROM wow_parked
			WHERE consumer = $1 AND shard = $2 AND seq > $3 AND ($4 OR id = $5 AND aggregate = $6 AND tenant = $7))
		SELECT seq, function, error, attempts, at, running FROM mine
		WHERE seq <= (SELECT max(seq) FROM (SELECT seq FROM mine ORDER BY seq LIMIT $8) page) ORDER BY seq, function`,
		consumer, after.Shard, after.Seq, t == wow.Target{}, t.ID, t.Aggregate, t.Tenant, max(limit, 0))
	if err != nil {
		return nil, s.explain("reading parked messages", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Parked, error) {
		p := store.Parked{Consumer: consumer, Commit: &store.Commit{Position: wow.Position{Shard: after.Shard}}}
		var message []byte
		err := row.Scan(&p.Commit.Position.Seq, &p.Function, &message, &p.Attempts, &p.At, &p.Running)
		p.Error = string(message)
		return p, err
	})
	if err == nil && len(found) > 0 {
		err = s.fill(ctx, found)
	}
	if err != nil {
		return nil, s.explain("reading parked messages", err)
	}
	return found, nil
}

// fill reads the commits of parked messages, which are in order.
func (s *Store) fill(ctx context.Context, parked []store.Parked) error {
	shard := parked[0].Commit.Position.Shard
	seqs := make([]int64, len(parked))
	for i := range parked {
		seqs[i] = parked[i].Commit.Position.Seq
	}
	rows, err := s.pool.Query(ctx, selectCommits+"WHERE shard = $1 AND seq = ANY ($2)", shard, seqs)
	if err != nil {
		return err
	}
	found := make(map[int64]*store.Commit, len(seqs))
	if err := commits(rows, func(c *store.Commit) (bool, error) {
		found[c.Position.Seq] = c
		return false, nil
	}); err != nil {
		return err
	}
	for i := range parked {
		if parked[i].Commit = found[seqs[i]]; parked[i].Commit == nil {
			return hole("position", seqs[i], seqs[i]+1)
		}
	}
	return nil
}

// Unpark implements store.Parking.
func (s *Store) Unpark(ctx context.Context, consumer, function string, at wow.Position, c *store.Checkpoint) error {
	if c != nil {
		if err := s.reached(ctx, c); err != nil {
			return err
		}
	}
	return s.transact(ctx, "removing a parked message", func(tx pgx.Tx) error {
		if c != nil {
			moved, err := tx.Exec(ctx, moveCheckpoint, c.Consumer, c.Position.Shard, c.Segment, c.Epoch, c.Position.Seq)
			if err != nil {
				return err
			}
			if moved.RowsAffected() == 0 {
				return store.ErrEpoch
			}
		}
		_, err := tx.Exec(ctx, "DELETE FROM wow_parked WHERE consumer = $1 AND shard = $2 AND seq = $3 AND function = $4",
			consumer, at.Shard, at.Seq, function)
		return err
	})
}
