package postgres

import (
	"context"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// expireEvery is how often, and expireBatch how many at a time, outcomes are
// forgotten.
const (
	expireEvery = time.Minute
	expireBatch = 1000
)

// Settle implements store.Outcomes. It takes the lock of the shard only when
// there is something to keep.
func (s *Store) Settle(ctx context.Context, decisions []store.Settlement) ([]store.Settled, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	for i := range decisions {
		if err := store.CheckSettlement(&decisions[i]); err != nil {
			return nil, err
		}
	}
	settled := make([]store.Settled, len(decisions))
	for from := 0; from < len(decisions); {
		to := distinct(decisions, from)
		if err := s.settle(ctx, decisions[from:to], settled[from:to]); err != nil {
			return nil, s.explain("settling", err)
		}
		from = to
	}
	return settled, nil
}

// distinct returns the end of the decisions from one on of which no two have
// the same request.
func distinct(decisions []store.Settlement, from int) int {
	seen := make(map[requestOf]bool, len(decisions)-from)
	for i := from; i < len(decisions); i++ {
		d := &decisions[i]
		if d.Outcome.Request == "" {
			continue
		}
		key := requestOf{d.Target, d.Outcome.Request}
		if seen[key] {
			return i
		}
		seen[key] = true
	}
	return len(decisions)
}

func (s *Store) settle(ctx context.Context, decisions []store.Settlement, settled []store.Settled) error {
	n := len(decisions)
	keys := newColumns(n)
	keep := []int32{}
	kinds, codes, messages, ats := make([]int16, n), make([][]byte, n), make([][]byte, n), make([]int64, n)
	for i := range decisions {
		d := &decisions[i]
		keys.add(d.Target, d.Version, d.Outcome.Request)
		kinds[i], codes[i], messages[i], ats[i] = int16(d.Outcome.Kind), []byte(d.Outcome.Code), []byte(d.Outcome.Message), d.Outcome.At
		if d.Keep {
			keep = append(keep, int32(i)+1)
		}
	}
	var found []looked
	var err error
	if len(keep) == 0 {
		found, err = s.lookUp(ctx, keys)
	} else {
		if err := s.expire(ctx); err != nil {
			return err
		}
		rows, queryErr := s.pool.Query(ctx, "SELECT * FROM wow_keep_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
			s.locks, s.lockTimeout, keep, keys.tenants, keys.aggregates, keys.ids, keys.versions, keys.requests, kinds, codes, messages, ats)
		if queryErr != nil {
			return queryErr
		}
		found, err = collect(rows, keys)
	}
	if err != nil {
		return err
	}
	for i := range settled {
		settled[i] = store.Settled{Head: found[i].head, First: found[i].first(decisions[i].Outcome.Request)}
		s.known.add(decisions[i].Target, found[i].head)
	}
	return nil
}

// expire forgets the outcomes whose time has come, at most a batch of them.
func (s *Store) expire(ctx context.Context) error {
	now := time.Now()
	due := s.expires.Load()
	if now.UnixMicro() < due || !s.expires.CompareAndSwap(due, now.Add(expireEvery).UnixMicro()) {
		return nil
	}
	_, err := s.pool.Exec(ctx, `DELETE FROM wow_outcomes WHERE (request, id, aggregate, tenant) IN
		(SELECT request, id, aggregate, tenant FROM wow_outcomes WHERE kept_at < $1 ORDER BY kept_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		now.Add(-store.OutcomeRetention).UnixMicro(), expireBatch)
	return err
}
