package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// What this file writes is not synced: a snapshot, a checkpoint or a parked
// message that a power failure takes away is made again from the history. The
// death of the process takes nothing.

// side runs f in a transaction of that kind.
func (s *Store) side(ctx context.Context, doing string, f func(*conn) error) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.w.begin(false); err != nil {
		return s.explain(doing, err)
	}
	if err := f(s.w.conn); err != nil {
		_, _ = s.w.conn.exec("ROLLBACK") // what the writer knows of the log stays true
		return s.explain(doing, err)
	}
	return s.explain(doing, s.w.commit())
}

// Snapshot implements store.Snapshots. One whose bytes changed is an error.
func (s *Store) Snapshot(ctx context.Context, t wow.Target, revision string, limit int64) (*store.Snapshot, error) {
	var found *store.Snapshot
	err := s.read(ctx, "reading a snapshot from", func(c *conn) error {
		if limit == 0 {
			limit = 1<<63 - 1
		}
		return c.each(`SELECT version, commit_id, codec, data, crc FROM wow_snapshots
			WHERE id = ? AND aggregate = ? AND tenant = ? AND revision = ? AND version <= ? ORDER BY version DESC LIMIT 1`,
			func(column []driver.Value) error {
				sn := &store.Snapshot{
					Target: t, Revision: revision, Version: integer(column[0]), Commit: text(column[1]),
					Codec: store.Codec(integer(column[2])), Data: blob(column[3]),
				}
				if err := frame.CheckSnapshot(sn, uint32(integer(column[4]))); err != nil {
					return err
				}
				found = sn
				return nil
			}, t.ID, t.Aggregate, t.Tenant, revision, limit)
	})
	return found, err
}

// SaveSnapshot implements store.Snapshots.
func (s *Store) SaveSnapshot(ctx context.Context, sn *store.Snapshot) error {
	if err := store.CheckSnapshot(sn); err != nil {
		return err
	}
	return s.side(ctx, "saving a snapshot in", func(c *conn) error {
		t := sn.Target
		newer, err := c.number(`SELECT EXISTS (SELECT 1 FROM wow_snapshots
			WHERE id = ? AND aggregate = ? AND tenant = ? AND revision = ? AND version > ?)`,
			t.ID, t.Aggregate, t.Tenant, sn.Revision, sn.Version)
		if err != nil || newer != 0 {
			return err
		}
		data := sn.Data
		if data == nil {
			data = []byte{}
		}
		if _, err := c.exec(`INSERT OR REPLACE INTO wow_snapshots
			(tenant, aggregate, id, revision, version, commit_id, codec, data, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.Tenant, t.Aggregate, t.ID, sn.Revision, sn.Version, sn.Commit, int64(sn.Codec), data,
			int64(frame.SumSnapshot(sn))); err != nil {
			return err
		}
		_, err = c.exec(`DELETE FROM wow_snapshots WHERE snapshot IN (SELECT snapshot FROM wow_snapshots
			WHERE id = ? AND aggregate = ? AND tenant = ? AND revision = ? ORDER BY version DESC LIMIT -1 OFFSET ?)`,
			t.ID, t.Aggregate, t.Tenant, sn.Revision, int64(store.SnapshotsKept))
		return err
	})
}

// Checkpoint implements store.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, consumer string, shard int32, segment int) (store.Checkpoint, error) {
	found := store.Checkpoint{Consumer: consumer, Segment: segment, Position: wow.Position{Shard: shard}}
	if err := checkShard(shard); err != nil {
		return found, err
	}
	err := s.read(ctx, "reading a checkpoint from", func(c *conn) error {
		return c.each("SELECT epoch, seq FROM wow_checkpoints WHERE consumer = ? AND shard = ? AND segment = ?",
			func(column []driver.Value) error {
				found.Epoch, found.Position.Seq = integer(column[0]), integer(column[1])
				return nil
			}, consumer, int64(shard), int64(segment))
	})
	return found, err
}

// SaveCheckpoint implements store.Checkpoints.
func (s *Store) SaveCheckpoint(ctx context.Context, c store.Checkpoint) error {
	return s.Park(ctx, nil, &c)
}

// Park implements store.Parking.
func (s *Store) Park(ctx context.Context, messages []store.Parked, checkpoint *store.Checkpoint) error {
	for i := range messages {
		if err := store.CheckParked(&messages[i]); err != nil {
			return err
		}
	}
	if checkpoint != nil {
		if err := checkShard(checkpoint.Position.Shard); err != nil {
			return err
		}
	}
	return s.side(ctx, "saving a checkpoint in", func(c *conn) error {
		if checkpoint != nil {
			if err := s.move(c, checkpoint); err != nil {
				return err
			}
		}
		for i := range messages {
			m := &messages[i]
			t, running := m.Commit.Target, int64(0)
			if m.Running {
				running = 1
			}
			if _, err := c.exec(`INSERT INTO wow_parked
				(consumer, shard, seq, function, tenant, aggregate, id, error, attempts, at, running)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET error = excluded.error, attempts = excluded.attempts, at = excluded.at, running = excluded.running`,
				m.Consumer, int64(m.Commit.Position.Shard), m.Commit.Position.Seq, m.Function, t.Tenant, t.Aggregate, t.ID,
				[]byte(m.Error), int64(m.Attempts), m.At, running); err != nil {
				return err
			}
		}
		return nil
	})
}

// move stores a checkpoint, or says why it must not.
func (s *Store) move(c *conn, to *store.Checkpoint) error {
	if to.Position.Seq > s.head.Load() {
		return store.ErrAhead
	}
	n, err := c.exec(`INSERT INTO wow_checkpoints (consumer, shard, segment, epoch, seq) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET epoch = excluded.epoch, seq = max(seq, excluded.seq)
		WHERE excluded.epoch >= epoch AND (excluded.seq >= seq OR excluded.seq = 0)`,
		to.Consumer, int64(to.Position.Shard), int64(to.Segment), to.Epoch, to.Position.Seq)
	if err == nil && n == 0 {
		err = store.ErrEpoch
	}
	return err
}

// Parked implements store.Parking.
func (s *Store) Parked(ctx context.Context, consumer string, t wow.Target, after wow.Position, limit int) ([]store.Parked, error) {
	var found []store.Parked
	err := s.read(ctx, "reading parked messages from", func(c *conn) error {
		// The last position of the page is found first, so that its messages
		// come together.
		where, args := "consumer = ? AND shard = ? AND seq > ?", []any{consumer, int64(after.Shard), after.Seq}
		if t != (wow.Target{}) {
			where += " AND id = ? AND aggregate = ? AND tenant = ?"
			args = append(args, t.ID, t.Aggregate, t.Tenant)
		}
		last, err := c.number("SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM wow_parked WHERE "+where+" ORDER BY seq LIMIT ?)",
			append(args, int64(max(limit, 0)))...)
		if err != nil {
			return err
		}
		if err := c.each("SELECT seq, function, error, attempts, at, running FROM wow_parked WHERE "+where+
			" AND seq <= ? ORDER BY seq, function", func(column []driver.Value) error {
			found = append(found, store.Parked{
				Consumer: consumer, Function: text(column[1]),
				Commit: &store.Commit{Position: position(integer(column[0]))},
				Error:  string(blob(column[2])), Attempts: int(integer(column[3])), At: integer(column[4]), Running: integer(column[5]) != 0,
			})
			return nil
		}, append(args, last)...); err != nil {
			return err
		}
		return fill(c, found)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// fill reads the commits of parked messages, which are in order.
func fill(c *conn, parked []store.Parked) error {
	for i := range parked {
		seq := parked[i].Commit.Position.Seq
		if i > 0 && parked[i-1].Commit.Position.Seq == seq {
			parked[i].Commit = parked[i-1].Commit
			continue
		}
		parked[i].Commit = nil
		if err := commits(c, func(commit *store.Commit) error {
			parked[i].Commit = commit
			return nil
		}, selectCommits+"WHERE seq = ?", seq); err != nil {
			return err
		}
		if parked[i].Commit == nil {
			return hole("position", seq, seq+1)
		}
	}
	return nil
}

// Unpark implements store.Parking.
func (s *Store) Unpark(ctx context.Context, consumer, function string, at wow.Position, checkpoint *store.Checkpoint) error {
	if checkpoint != nil {
		if err := checkShard(checkpoint.Position.Shard); err != nil {
			return err
		}
	}
	return s.side(ctx, "removing a parked message from", func(c *conn) error {
		if checkpoint != nil {
			if err := s.move(c, checkpoint); err != nil {
				return err
			}
		}
		_, err := c.exec("DELETE FROM wow_parked WHERE consumer = ? AND shard = ? AND seq = ? AND function = ?",
			consumer, int64(at.Shard), at.Seq, function)
		return err
	})
}
