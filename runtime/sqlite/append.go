package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// Append implements store.Log: the entries are one transaction.
func (s *Store) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	results := make([]store.Result, len(entries))
	if len(entries) == 0 {
		return results
	}
	if err := s.lock(ctx); err != nil {
		fail(results, store.Failed, err)
		return results
	}
	defer s.unlock()

	if status, err := s.w.transact(entries, results, s.synced()); err != nil {
		fail(results, status, s.explain("appending to", err))
		return results
	}
	s.head.Store(s.w.seq)
	s.bell.Ring()
	return results
}

// fail makes every answer that said more than an error an error.
func fail(results []store.Result, status store.Status, err error) {
	for i := range results {
		if r := &results[i]; r.Err == nil {
			*r = store.Result{Status: status, Err: err}
		}
	}
}

// transact answers for the entries in one transaction. Where that fails it
// says what became of those that were not refused for themselves.
func (w *writer) transact(entries []*store.Commit, results []store.Result, synced bool) (store.Status, error) {
	if err := w.prepare(synced); err != nil {
		return store.Failed, err
	}
	if len(entries) == 1 && w.inserts(entries[0]) {
		if err := w.append(entries, results); err != nil { // the insert is the transaction
			w.stale = true
			return lost(err), err
		}
		return store.Stored, nil
	}
	if err := w.begin(synced); err != nil {
		return store.Failed, err
	}
	if err := w.append(entries, results); err != nil {
		w.rollback()
		return store.Failed, err
	}
	if err := w.commit(); err != nil {
		return lost(err), err
	}
	return store.Stored, nil
}

// lost says what became of a transaction that could not be ended. The last
// thing written is the mark that makes it whole: on a full disk it is that
// which had no room; after most other faults it may be there, and be found
// after a restart.
func lost(err error) store.Status {
	switch code(err) {
	case 0, lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_CONSTRAINT, lib.SQLITE_BUSY, lib.SQLITE_TOOBIG:
		return store.Failed
	}
	return store.Unknown
}

// inserts reports whether an insert is all that an entry needs.
func (w *writer) inserts(c *store.Commit) bool {
	st := w.streams.get(c.Target)
	return st != nil && st.id != 0 && !st.kept && c.Version == st.head+1
}

// append answers for the entries inside a transaction. Its error is the
// batch's.
func (w *writer) append(entries []*store.Commit, results []store.Result) error {
	w.storedAt = max(w.storedAt, time.Now().UnixMicro())
	var broken []wow.Target // chains that ended, in this batch
	for i, c := range entries {
		r := &results[i]
		if broken != nil && contains(broken, c.Target) {
			r.Err = store.ErrChain
			continue
		}
		if r.Err = store.Check(c); r.Err == nil {
			if err := w.add(c, r); err != nil {
				return err
			}
		}
		if r.Status != store.Stored {
			broken = append(broken, c.Target)
		}
	}
	return nil
}

const insertCommit = `INSERT OR IGNORE INTO wow_commits (seq, stream, tenant, aggregate, id, version, commit_id, request,
	correlation, causation, decided_at, stored_at, types, format, header, payload, crc)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// add answers for one entry. In the usual case the insert is all it does: the
// version is compared with what is known, and a request that is there already
// makes the insert do nothing.
func (w *writer) add(c *store.Commit, r *store.Result) error {
	st, err := w.stream(c.Target)
	if err != nil {
		return err
	}
	if c.Version != st.head+1 {
		return w.classify(st, c, r)
	}
	if st.kept && c.Request != "" {
		if kept, err := outcome(w.conn, st.id, c.Request); err != nil || kept != nil {
			r.Status, r.Head, r.First = store.Repeated, st.head, kept
			return err
		}
	}
	if err := w.create(c.Target, st); err != nil {
		return err
	}
	var row frame.Row
	row, w.buf = frame.Encode(c, 0, w.buf[:0]) // the driver copies what it binds
	n, err := w.conn.exec(insertCommit, w.seq+1, st.id, c.Target.Tenant, c.Target.Aggregate, c.Target.ID, c.Version,
		c.ID, optional(c.Request), c.Correlation, c.Causation, c.DecidedAt, w.storedAt,
		row.Types, int64(row.Format), row.Header, row.Payload, int64(row.Sum))
	if err != nil {
		return err
	}
	if n == 0 {
		return w.classify(st, c, r)
	}
	w.seq++
	st.head++
	isStored(c, r, w.seq, w.storedAt)
	return nil
}

// isStored answers that a commit is in the log, now or since earlier. Where it
// was handed on already, nothing is written to it.
func isStored(c *store.Commit, r *store.Result, seq, at int64) {
	r.Status, r.Position = store.Stored, position(seq)
	if c.Position != r.Position || c.StoredAt != at {
		c.Position, c.StoredAt = r.Position, at
	}
}

var errTaken = errors.New("sqlite: the position or version was taken by somebody who does not own the file; has another program written to it?")

// classify finds out why a commit was not inserted.
func (w *writer) classify(st *stream, c *store.Commit, r *store.Result) error {
	if c.Request != "" && st.id != 0 {
		first, err := first(w.conn, st.id, c.Request)
		switch {
		case err != nil:
			return err
		case first != nil && first.Commit == c.ID:
			_, err = w.find(c, r, "seq = ?", first.Position.Seq)
			return err
		case first != nil:
			r.Status, r.Head, r.First = store.Repeated, st.head, first
			return nil
		}
	}
	if c.Version <= st.head {
		taken, err := w.find(c, r, "stream = ? AND version = ?", st.id, c.Version)
		if err != nil || r.Status == store.Stored {
			return err
		}
		if !taken {
			return errTaken
		}
	}
	if c.Version == st.head+1 {
		return errTaken
	}
	r.Status, r.Head = store.Conflict, st.head
	return nil
}

// find answers that the commit is stored, if it is the one at a place. It
// reports whether there is any.
func (w *writer) find(c *store.Commit, r *store.Result, where string, args ...any) (found bool, err error) {
	err = w.conn.each("SELECT seq, stored_at, commit_id FROM wow_commits WHERE "+where, func(column []driver.Value) error {
		found = true
		if text(column[2]) == c.ID {
			isStored(c, r, integer(column[0]), integer(column[1]))
		}
		return nil
	}, args...)
	return found, err
}

func contains(ts []wow.Target, t wow.Target) bool {
	for i := range ts {
		if ts[i] == t {
			return true
		}
	}
	return false
}
