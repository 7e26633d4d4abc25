package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// SetTimers implements store.Timers.
func (s *Store) SetTimers(ctx context.Context, timers []store.Timer) error {
	for i := range timers {
		if err := store.CheckTimer(&timers[i]); err != nil {
			return err
		}
	}
	return s.side(ctx, "setting timers in", func(c *conn) error {
		for i := range timers {
			t := &timers[i]
			data := t.Data
			if data == nil {
				data = []byte{}
			}
			if _, err := c.exec(`INSERT INTO wow_timers (consumer, name, shard, seq, ordinal, due, attempts, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET shard = excluded.shard, seq = excluded.seq, ordinal = excluded.ordinal,
					due = excluded.due, attempts = excluded.attempts, data = excluded.data
				WHERE shard <> excluded.shard OR seq < excluded.seq OR seq = excluded.seq AND (ordinal < excluded.ordinal
					OR ordinal = excluded.ordinal AND due <> 0 AND (excluded.due = 0 OR excluded.due > due))`,
				t.Consumer, t.Name, int64(t.Position.Shard), t.Position.Seq, t.Index, t.Due, int64(t.Attempts), data); err != nil {
				return err
			}
		}
		for i := range timers {
			if i > 0 && timers[i].Consumer == timers[i-1].Consumer {
				continue
			}
			// What is done and cannot be set again: its consumer is past the commit.
			// One that is parked may be run again.
			if _, err := c.exec(`DELETE FROM wow_timers WHERE consumer = ?1 AND due = 0 AND seq <=
				(SELECT min(seq) FROM wow_checkpoints k WHERE k.consumer = ?1 AND k.shard = wow_timers.shard)
				AND NOT EXISTS (SELECT 1 FROM wow_parked p WHERE p.consumer = ?1 AND p.shard = wow_timers.shard AND p.seq <= wow_timers.seq)`,
				timers[i].Consumer); err != nil {
				return err
			}
		}
		return nil
	})
}

// Timers implements store.Timers.
func (s *Store) Timers(ctx context.Context, consumer string, due int64, limit int) ([]store.Timer, error) {
	return s.timers(ctx, consumer, "due > 0 AND due <= ? ORDER BY due, name LIMIT ?", due, int64(max(limit, 0)))
}

// Timer implements store.Timers.
func (s *Store) Timer(ctx context.Context, consumer, name string) (*store.Timer, error) {
	found, err := s.timers(ctx, consumer, "name = ? AND due > 0", name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (s *Store) timers(ctx context.Context, consumer, which string, args ...any) (found []store.Timer, err error) {
	err = s.read(ctx, "reading timers from", func(c *conn) error {
		return c.each("SELECT name, shard, seq, ordinal, due, attempts, data FROM wow_timers WHERE consumer = ? AND "+which,
			func(column []driver.Value) error {
				found = append(found, store.Timer{
					Consumer: consumer, Name: text(column[0]),
					Position: wow.Position{Shard: int32(integer(column[1])), Seq: integer(column[2])}, Index: integer(column[3]),
					Due: integer(column[4]), Attempts: int(integer(column[5])), Data: blob(column[6]),
				})
				return nil
			}, append([]any{consumer}, args...)...)
	})
	return found, err
}
