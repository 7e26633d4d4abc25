package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow/runtime/store"
)

// SetTimers implements store.Timers.
func (s *Store) SetTimers(ctx context.Context, timers []store.Timer) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	for i := range timers {
		if err := store.CheckTimer(&timers[i]); err != nil {
			return err
		}
	}
	// Rows are locked in one order, whoever sets them; of one name in theirs.
	timers = slices.Clone(timers)
	slices.SortStableFunc(timers, func(a, b store.Timer) int {
		return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Name, b.Name))
	})
	return s.transact(ctx, "setting timers", func(tx pgx.Tx) error {
		var all pgx.Batch
		for i := range timers {
			t := &timers[i]
			data := t.Data
			if data == nil {
				data = []byte{}
			}
			all.Queue(`INSERT INTO wow_timers AS old (consumer, name, shard, seq, ordinal, due, attempts, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
				ON CONFLICT (consumer, name) DO UPDATE SET shard = excluded.shard, seq = excluded.seq, ordinal = excluded.ordinal,
					due = excluded.due, attempts = excluded.attempts, data = excluded.data
				WHERE old.shard <> excluded.shard OR old.seq < excluded.seq OR old.seq = excluded.seq AND (old.ordinal < excluded.ordinal
					OR old.ordinal = excluded.ordinal AND old.due <> 0 AND (excluded.due = 0 OR excluded.due > old.due))`,
				t.Consumer, t.Name, t.Position.Shard, t.Position.Seq, t.Index, t.Due, t.Attempts, data)
		}
		for i := range timers {
			if i > 0 && timers[i].Consumer == timers[i-1].Consumer {
				continue
			}
			// What is done and cannot be set again: its consumer is past the commit,
			// and has none parked that may be run again.
			// Those that somebody else has in hand are left for later.
			all.Queue(`DELETE FROM wow_timers WHERE ctid IN (SELECT ctid FROM wow_timers t WHERE consumer = $1 AND due = 0 AND seq <=
				(SELECT min(seq) FROM wow_checkpoints k WHERE k.consumer = $1 AND k.shard = t.shard)
				AND NOT EXISTS (SELECT FROM wow_parked p WHERE p.consumer = $1 AND p.shard = t.shard AND p.seq <= t.seq) FOR UPDATE SKIP LOCKED)`, timers[i].Consumer)
		}
		return tx.SendBatch(ctx, &all).Close()
	})
}

// Timers implements store.Timers.
func (s *Store) Timers(ctx context.Context, consumer string, due int64, limit int) ([]store.Timer, error) {
	return s.timers(ctx, consumer, "due > 0 AND due <= $2 ORDER BY due, name LIMIT $3", due, max(limit, 0))
}

// Timer implements store.Timers.
func (s *Store) Timer(ctx context.Context, consumer, name string) (*store.Timer, error) {
	found, err := s.timers(ctx, consumer, "name = $2 AND due > 0", name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (s *Store) timers(ctx context.Context, consumer, which string, args ...any) ([]store.Timer, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT name, shard, seq, ordinal, due, attempts, data FROM wow_timers WHERE consumer = $1 AND "+which,
		append([]any{consumer}, args...)...)
	if err != nil {
		return nil, s.explain("reading timers", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Timer, error) {
		t := store.Timer{Consumer: consumer}
		return t, row.Scan(&t.Name, &t.Position.Shard, &t.Position.Seq, &t.Index, &t.Due, &t.Attempts, &t.Data)
	})
	if err != nil {
		return nil, s.explain("reading timers", err)
	}
	return found, nil
}
