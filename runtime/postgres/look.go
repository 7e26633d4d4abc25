package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// columns are the keys of several rows, as the functions in the server take
// them.
type columns struct {
	tenants, aggregates, ids, requests []string
	versions                           []int64
}

func newColumns(n int) *columns {
	s := make([]string, 4*n)
	return &columns{
		tenants: s[:0:n], aggregates: s[n : n : 2*n], ids: s[2*n : 2*n : 3*n], requests: s[3*n : 3*n : 4*n],
		versions: make([]int64, 0, n),
	}
}

func (c *columns) add(t wow.Target, version int64, request string) {
	c.tenants, c.aggregates, c.ids = append(c.tenants, t.Tenant), append(c.aggregates, t.Aggregate), append(c.ids, t.ID)
	c.versions, c.requests = append(c.versions, version), append(c.requests, request)
}

// looked is what the server knows about one row of columns.
type looked struct {
	head             int64
	version, request *place
	decided, at      int64 // of the request's commit
	kept             *store.Outcome
}

// place is where a commit stands.
type place struct {
	commit      string
	seq, stored int64
}

// own returns where a commit itself stands, if it is there.
func (l *looked) own(id string) *place {
	if l.request != nil && l.request.commit == id {
		return l.request
	}
	if l.version != nil && l.version.commit == id {
		return l.version
	}
	return nil
}

// first returns what a request came to, or nil.
func (l *looked) first(request string) *store.Outcome {
	if l.request != nil {
		return &store.Outcome{
			Kind: store.Committed, Request: request, Version: l.at, Position: position(l.request.seq), Commit: l.request.commit, At: l.decided,
		}
	}
	return l.kept
}

// lookUp asks the server about rows.
func (s *Store) lookUp(ctx context.Context, c *columns) ([]looked, error) {
	rows, err := s.pool.Query(ctx, "SELECT * FROM wow_look_1($1, $2, $3, $4, $5)", c.tenants, c.aggregates, c.ids, c.versions, c.requests)
	if err != nil {
		return nil, err
	}
	return collect(rows, c)
}

func collect(rows pgx.Rows, c *columns) ([]looked, error) {
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l looked, err error) {
		var vShard, rShard *int32
		var vSeq, vStored, rSeq, rStored, rVersion, rDecided, version, at *int64
		var vCommit, rCommit *string
		var kind *int16
		var code, message []byte
		if err := row.Scan(&l.head, &vShard, &vSeq, &vCommit, &vStored, &rShard, &rSeq, &rCommit, &rStored, &rVersion, &rDecided,
			&kind, &version, &code, &message, &at); err != nil {
			return l, err
		}
		if vSeq != nil {
			l.version = &place{*vCommit, *vSeq, *vStored}
		}
		if rSeq != nil {
			l.request, l.at, l.decided = &place{*rCommit, *rSeq, *rStored}, *rVersion, *rDecided
		}
		if kind != nil {
			l.kept = &store.Outcome{Kind: store.OutcomeKind(*kind), Version: *version, Code: string(code), Message: string(message), At: *at}
		}
		return l, nil
	})
	if err == nil && len(all) != len(c.ids) {
		err = fmt.Errorf("the server answered for %d rows of %d", len(all), len(c.ids))
	}
	for i := range all {
		if all[i].kept != nil {
			all[i].kept.Request = c.requests[i]
		}
	}
	return all, err
}
