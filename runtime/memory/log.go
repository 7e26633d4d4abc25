package memory

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// chunkSize is how many commits lie in one piece of the log. The log grows by
// pieces, so that growing never copies commits nor moves what readers look at.
const chunkSize = 1024

type chunk [chunkSize]*store.Commit

// log is the commits in order. One goroutine at a time may push and publish;
// any may read.
//
// Invariant: commits[0:head] are written and never change. A reader loads head
// first and looks at nothing above it:
//
//	writer: chunk[i] = c, pieces = …, head = i+1
//	reader: head, then pieces, then chunk[< head]
type log struct {
	head   atomic.Int64
	pieces atomic.Pointer[[]*chunk]
	next   int64 // commits pushed; the writer's own
}

// push puts a commit behind the last one. It is not visible yet.
func (l *log) push(c *store.Commit) {
	at := l.next % chunkSize
	if at == 0 {
		var pieces []*chunk
		if p := l.pieces.Load(); p != nil {
			pieces = *p
		}
		pieces = append(pieces, new(chunk)) // readers of the old slice end before it
		l.pieces.Store(&pieces)
	}
	(*l.pieces.Load())[l.next/chunkSize][at] = c
	l.next++
}

// publish makes what was pushed visible.
func (l *log) publish() { l.head.Store(l.next) }

// read returns commits behind a sequence number, up to the end of its piece.
func (l *log) read(after int64, limit int) []*store.Commit {
	n := min(l.head.Load()-after, int64(limit))
	if n <= 0 {
		return nil
	}
	at := after % chunkSize
	end := min(at+n, chunkSize)
	return (*l.pieces.Load())[after/chunkSize][at:end:end]
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	results := make([]store.Result, len(entries))
	now := time.Now().UnixMicro()
	var broken []wow.Target // chains that ended, in this batch

	s.mu.Lock()
	if err := s.usable(ctx); err != nil {
		s.mu.Unlock()
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	s.storedAt = max(s.storedAt, now)
	for i, c := range entries {
		r := &results[i]
		if broken != nil && contains(broken, c.Target) {
			r.Err = store.ErrChain
			continue
		}
		if r.Err = store.Check(c); r.Err == nil {
			s.add(c, r)
		}
		if r.Status != store.Stored {
			broken = append(broken, c.Target)
		}
	}
	s.log.publish()
	s.mu.Unlock()

	s.bell.Ring()
	return results
}

// AppendOne implements store.Instant. The commit was decided a moment ago, on
// the same clock, so that is when it is stored.
func (s *Store) AppendOne(c *store.Commit) (r store.Result) {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		r.Err = store.ErrClosed
		return r
	}
	s.storedAt = max(s.storedAt, c.DecidedAt)
	s.add(c, &r)
	s.log.publish()
	s.mu.Unlock()

	s.bell.Ring()
	return r
}

// add answers for one entry, which Check accepts. The caller holds mu.
func (s *Store) add(c *store.Commit, r *store.Result) {
	st := s.streams[c.Target]
	var tag uint32
	if c.Request != "" && st != nil {
		tag = s.tag(c.Request)
		if stored := st.find(c.Request, tag); stored != nil {
			if stored.ID == c.ID {
				again(stored, c, r)
				return
			}
			r.Status, r.Head, r.First = store.Repeated, st.head(), stored.Outcome()
			return
		}
		if kept := s.kept[request{st, c.Request}]; kept != nil {
			r.Status, r.Head, r.First = store.Repeated, st.head(), kept
			return
		}
	}
	head := st.head()
	if c.Version != head+1 {
		if c.Version <= head && st.commits[c.Version-1].ID == c.ID {
			again(st.commits[c.Version-1], c, r)
			return
		}
		r.Status, r.Head = store.Conflict, head
		return
	}
	if st == nil {
		st = new(stream)
		s.streams[c.Target] = st
		tag = s.tag(c.Request)
	}
	c.Position, c.StoredAt = wow.Position{Seq: s.log.next + 1}, s.storedAt
	s.log.push(c)
	st.commits = append(st.commits, c)
	if c.Request != "" {
		st.note(tag)
	}
	r.Status, r.Position = store.Stored, c.Position
}

// again answers for a commit that was stored by an earlier call. Where it is
// the same one, readers have it already and nothing may be written to it.
func again(stored, c *store.Commit, r *store.Result) {
	if stored != c {
		c.Position, c.StoredAt = stored.Position, stored.StoredAt
	}
	r.Status, r.Position = store.Stored, stored.Position
}

func contains(ts []wow.Target, t wow.Target) bool {
	for i := range ts {
		if ts[i] == t {
			return true
		}
	}
	return false
}

// Stream implements store.Log.
func (s *Store) Stream(ctx context.Context, t wow.Target, after int64, limit int) ([]*store.Commit, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	var commits []*store.Commit
	if st := s.streams[t]; st != nil {
		commits = st.commits
	}
	s.mu.Unlock()

	after = max(after, 0)
	end := min(int64(len(commits)), after+int64(max(limit, 0)))
	if after >= end {
		return nil, nil
	}
	return commits[after:end:end], nil
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, after wow.Position, limit int) ([]*store.Commit, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if err := checkShard(after.Shard); err != nil {
		return nil, err
	}
	return s.log.read(max(after.Seq, 0), limit), nil
}

// Head implements store.Log.
func (s *Store) Head(ctx context.Context, shard int32) (wow.Position, error) {
	if err := s.usable(ctx); err != nil {
		return wow.Position{}, err
	}
	if err := checkShard(shard); err != nil {
		return wow.Position{}, err
	}
	return wow.Position{Seq: s.log.head.Load()}, nil
}

// Wait implements store.Log.
func (s *Store) Wait(ctx context.Context, after wow.Position) error {
	if err := checkShard(after.Shard); err != nil {
		return err
	}
	return s.bell.Wait(ctx, func() (bool, error) {
		return s.log.head.Load() > after.Seq, s.usable(ctx)
	})
}
