package sqlite

import (
	"database/sql/driver"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// writer is the one connection that writes, with what its owner knows without
// reading. It belongs to whoever holds the store's writing token.
type writer struct {
	conn   *conn
	synced bool   // the connection syncs each transaction
	buf    []byte // of the rows being encoded

	// What the file says, for as long as no transaction fails.
	stale    bool // read it again first
	seq      int64
	storedAt int64
	streamID int64 // the highest given
	streams  streams
	expires  time.Time // when to look for outcomes to forget
}

// begin starts a transaction.
func (w *writer) begin(synced bool) error {
	if err := w.prepare(synced); err != nil {
		return err
	}
	_, err := w.conn.exec("BEGIN IMMEDIATE")
	return err
}

// prepare readies the writer for a transaction. One that is not synced may be
// lost, whole, when the power fails; what it says is then found out again.
func (w *writer) prepare(synced bool) error {
	if w.stale {
		if err := w.refresh(); err != nil {
			return err
		}
	}
	if w.synced != synced {
		mode := "NORMAL"
		if synced {
			mode = "FULL"
		}
		if err := w.conn.script("PRAGMA synchronous=" + mode); err != nil {
			return err
		}
		w.synced = synced
	}
	return nil
}

// commit ends a transaction. Where it has an error, everything is undone, or
// it was stored and the answer is lost.
func (w *writer) commit() error {
	_, err := w.conn.exec("COMMIT")
	if err != nil {
		w.rollback()
	}
	return err
}

// rollback undoes a transaction. SQLite may have done so itself, for a full
// disk for one, so that its error says nothing.
func (w *writer) rollback() {
	_, _ = w.conn.exec("ROLLBACK")
	w.stale = true
}

// refresh reads what the file says.
func (w *writer) refresh() error {
	w.seq, w.storedAt = 0, 0
	if err := w.conn.each("SELECT seq, stored_at FROM wow_commits ORDER BY seq DESC LIMIT 1", func(column []driver.Value) error {
		w.seq, w.storedAt = integer(column[0]), integer(column[1])
		return nil
	}); err != nil {
		return err
	}
	var err error
	if w.streamID, err = w.conn.number("SELECT coalesce(max(stream), 0) FROM wow_streams"); err != nil {
		return err
	}
	w.streams.clear()
	w.stale = false
	return nil
}

// expireEvery is how often, and expireBatch how many at a time, outcomes are
// forgotten.
const (
	expireEvery = time.Minute
	expireBatch = 1000
)

// expire forgets the outcomes whose time has come, at most a batch of them.
func (w *writer) expire() error {
	now := time.Now()
	if now.Before(w.expires) {
		return nil
	}
	w.expires = now.Add(expireEvery)
	if err := w.begin(false); err != nil {
		return err
	}
	if _, err := w.conn.exec(`DELETE FROM wow_outcomes WHERE (stream, request) IN
		(SELECT stream, request FROM wow_outcomes WHERE kept_at < ? ORDER BY kept_at LIMIT ?)`,
		now.Add(-store.OutcomeRetention).UnixMicro(), int64(expireBatch)); err != nil {
		w.rollback()
		return err
	}
	return w.commit()
}

// stream is what the writer knows of an aggregate.
type stream struct {
	id   int64 // in wow_streams; 0 if it is not there yet
	head int64 // its version
	kept bool  // a request of it may have a kept outcome
}

// streams caches what is known of the aggregates used last: at most limit, in
// two halves. When the young half is full it becomes the old one, and what was
// old and not used since is forgotten.
type streams struct {
	half       int
	young, old map[wow.Target]*stream
}

func newStreams(limit int) streams {
	s := streams{half: limit / 2}
	s.clear()
	return s
}

func (s *streams) clear() { s.young, s.old = make(map[wow.Target]*stream), nil }

func (s *streams) get(t wow.Target) *stream {
	st := s.young[t]
	if st == nil {
		if st = s.old[t]; st != nil {
			s.put(t, st)
		}
	}
	return st
}

func (s *streams) put(t wow.Target, st *stream) {
	if len(s.young) >= s.half {
		s.old, s.young = s.young, make(map[wow.Target]*stream)
	}
	s.young[t] = st
}

// stream returns what is known of an aggregate.
func (w *writer) stream(t wow.Target) (*stream, error) {
	if st := w.streams.get(t); st != nil {
		return st, nil
	}
	st, err := findStream(w.conn, t)
	if err != nil {
		return nil, err
	}
	w.streams.put(t, st)
	return st, nil
}

// create gives an aggregate its short name.
func (w *writer) create(t wow.Target, st *stream) error {
	if st.id != 0 {
		return nil
	}
	if _, err := w.conn.exec("INSERT INTO wow_streams (stream, tenant, aggregate, id) VALUES (?, ?, ?, ?)",
		w.streamID+1, t.Tenant, t.Aggregate, t.ID); err != nil {
		return err
	}
	w.streamID++
	st.id = w.streamID
	return nil
}

func findStream(c *conn, t wow.Target) (*stream, error) {
	st := new(stream)
	var err error
	if st.id, err = c.number("SELECT stream FROM wow_streams WHERE id = ? AND aggregate = ? AND tenant = ?",
		t.ID, t.Aggregate, t.Tenant); err != nil || st.id == 0 {
		return st, err
	}
	err = c.each(`SELECT (SELECT coalesce(max(version), 0) FROM wow_commits WHERE stream = ?),
		EXISTS (SELECT 1 FROM wow_outcomes WHERE stream = ?)`, func(column []driver.Value) error {
		st.head, st.kept = integer(column[0]), integer(column[1]) != 0
		return nil
	}, st.id, st.id)
	return st, err
}
