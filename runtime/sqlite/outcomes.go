package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/wowgen/wow/runtime/store"
)

// Settle implements store.Outcomes. It writes, in one transaction, only when
// there is something to keep.
func (s *Store) Settle(ctx context.Context, decisions []store.Settlement) ([]store.Settled, error) {
	keep := false
	for i := range decisions {
		if err := store.CheckSettlement(&decisions[i]); err != nil {
			return nil, err
		}
		keep = keep || decisions[i].Keep
	}
	settled := make([]store.Settled, len(decisions))
	if !keep {
		err := s.read(ctx, "reading outcomes from", func(c *conn) error {
			for i := range decisions {
				st, err := findStream(c, decisions[i].Target)
				if err != nil {
					return err
				}
				if err := settle(c, st, &decisions[i], &settled[i]); err != nil {
					return err
				}
			}
			return nil
		})
		return settled, err
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if err := s.w.settle(decisions, settled, s.synced()); err != nil {
		return nil, s.explain("keeping outcomes in", err)
	}
	return settled, nil
}

// settle answers for decisions and keeps what is to be kept.
func (w *writer) settle(decisions []store.Settlement, settled []store.Settled, synced bool) error {
	if err := w.expire(); err != nil {
		return err
	}
	if err := w.begin(synced); err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	for i := range decisions {
		if err := w.keep(&decisions[i], &settled[i], now); err != nil {
			w.rollback()
			return err
		}
	}
	return w.commit()
}

func (w *writer) keep(d *store.Settlement, out *store.Settled, now int64) error {
	st, err := w.stream(d.Target)
	if err != nil {
		return err
	}
	if err := settle(w.conn, st, d, out); err != nil {
		return err
	}
	if !d.Keep || out.First != nil || out.Head != d.Version {
		return nil
	}
	if err := w.create(d.Target, st); err != nil {
		return err
	}
	st.kept = true
	o := &d.Outcome
	_, err = w.conn.exec("INSERT INTO wow_outcomes (stream, request, kind, version, code, message, at, kept_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		st.id, o.Request, int64(o.Kind), o.Version, []byte(o.Code), []byte(o.Message), o.At, now)
	return err
}

// settle answers for one decision.
func settle(c *conn, st *stream, d *store.Settlement, out *store.Settled) (err error) {
	out.Head = st.head
	if st.id != 0 && d.Outcome.Request != "" {
		out.First, err = first(c, st.id, d.Outcome.Request)
	}
	return err
}

// first returns what a request of an aggregate came to, or nil.
func first(c *conn, stream int64, request string) (o *store.Outcome, err error) {
	err = c.each("SELECT seq, version, commit_id, decided_at FROM wow_commits WHERE request = ? AND stream = ?",
		func(column []driver.Value) error {
			o = &store.Outcome{
				Kind: store.Committed, Request: request, Version: integer(column[1]),
				Position: position(integer(column[0])), Commit: text(column[2]), At: integer(column[3]),
			}
			return nil
		}, request, stream)
	if err != nil || o != nil {
		return o, err
	}
	return outcome(c, stream, request)
}

// outcome returns the kept outcome of a request, or nil.
func outcome(c *conn, stream int64, request string) (o *store.Outcome, err error) {
	err = c.each("SELECT kind, version, code, message, at FROM wow_outcomes WHERE stream = ? AND request = ?",
		func(column []driver.Value) error {
			o = &store.Outcome{
				Kind: store.OutcomeKind(integer(column[0])), Request: request, Version: integer(column[1]),
				Code: string(blob(column[2])), Message: string(blob(column[3])), At: integer(column[4]),
			}
			return nil
		}, stream, request)
	return o, err
}
