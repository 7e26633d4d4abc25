package postgres

import (
	"context"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

// appendTries is how often the same entries are appended again without the
// losers among them. Each time at least one has its answer, unless others were
// faster once more.
const appendTries = 16

// Append implements store.Log: the entries are one call of wow_append_1.
func (s *Store) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	results := make([]store.Result, len(entries))
	if err := s.usable(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	b := &batch{entries: entries, results: results, open: make([]int, 0, len(entries))}
	for i, c := range entries {
		if b.ended(i) {
			results[i].Err = store.ErrChain
		} else if results[i].Err = store.Check(c); results[i].Err != nil {
			b.broken = append(b.broken, i)
		} else {
			b.open = append(b.open, i)
		}
	}
	for tries := 0; len(b.open) > 0; {
		round := b.round(&s.known)
		status, err := s.append(ctx, b, round)
		if err == nil {
			b.open, tries = b.open[len(round.rows):], 0
			continue
		}
		if c := code(err); (c == uniqueViolation || c == loser) && tries < appendTries {
			if err = s.classify(ctx, b, len(round.rows)); err == nil {
				tries++
				continue
			}
			status = store.Failed
		}
		err = s.explain("appending", err)
		for _, i := range b.open {
			results[i] = store.Result{Status: status, Err: err}
		}
		break
	}
	return results
}

// batch is a call of Append under way.
type batch struct {
	entries []*store.Commit
	results []store.Result
	open    []int // entries without an answer yet
	broken  []int // entries that ended the chain of their aggregate
}

// ended reports whether an entry stands behind one that ended its chain.
func (b *batch) ended(i int) bool {
	for _, at := range b.broken {
		if at < i && b.entries[at].Target == b.entries[i].Target {
			return true
		}
	}
	return false
}

// round is the next of a batch's open entries: those that can be stored
// together. It ends before an entry that depends on the answer to one in it,
// because its version is not the next or its request is the same.
type round struct {
	rows   []int
	firsts []int32 // numbers, from 1, of rows whose version before is not known to be there
	asks   []int32 // numbers of rows with a request
}

func (b *batch) round(known *known) round {
	n := len(b.open)
	r := round{rows: b.open, firsts: []int32{}, asks: []int32{}}
	chains := make(map[wow.Target]int64, n)
	var requests map[requestOf]bool
	for k, i := range b.open {
		c := b.entries[i]
		version, follows := chains[c.Target]
		asked := c.Request != "" && requests[requestOf{c.Target, c.Request}]
		if follows && c.Version != version+1 || asked {
			r.rows = b.open[:k]
			break
		}
		chains[c.Target] = c.Version
		if !follows && !known.covers(c.Target, c.Version-1) {
			r.firsts = append(r.firsts, int32(k)+1)
		}
		if c.Request != "" {
			if requests == nil {
				requests = make(map[requestOf]bool, n)
			}
			requests[requestOf{c.Target, c.Request}] = true
			r.asks = append(r.asks, int32(k)+1)
		}
	}
	return r
}

type requestOf struct {
	target  wow.Target
	request string
}

// append tries to store a round.
func (s *Store) append(ctx context.Context, b *batch, r round) (store.Status, error) {
	n := len(r.rows)
	keys := newColumns(n)
	commits, correlations, causations, types := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	decided, sums, formats := make([]int64, n), make([]int64, n), make([]int16, n)
	headers, payloads := make([][]byte, n), make([][]byte, n)
	var buf []byte
	for k, i := range r.rows {
		c := b.entries[i]
		var row frame.Row
		row, buf = frame.Encode(c, 0, buf)
		keys.add(c.Target, c.Version, c.Request)
		commits[k], correlations[k], causations[k], types[k] = c.ID, c.Correlation, c.Causation, row.Types
		decided[k], sums[k], formats[k] = c.DecidedAt, int64(row.Sum), int16(row.Format)
		headers[k], payloads[k] = row.Header, row.Payload
	}
	var last, at int64
	err := s.pool.QueryRow(ctx,
		"SELECT last_seq, stored FROM wow_append_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
		s.locks, s.lockTimeout, int32(0), r.firsts, r.asks, keys.tenants, keys.aggregates, keys.ids, keys.versions, commits, keys.requests,
		correlations, causations, decided, types, formats, headers, payloads, sums).Scan(&last, &at)
	if err != nil {
		return lost(err), err
	}
	for k, i := range r.rows {
		c := b.entries[i]
		s.known.add(c.Target, c.Version)
		isStored(c, &b.results[i], last+int64(k)+1, at)
	}
	s.raise(last + int64(n))
	return store.Stored, nil
}

// isStored answers that a commit is in the log, now or since earlier. Where it
// was handed on already, nothing is written to it.
func isStored(c *store.Commit, r *store.Result, seq, at int64) {
	r.Status, r.Position = store.Stored, position(seq)
	if c.Position != r.Position || c.StoredAt != at {
		c.Position, c.StoredAt = r.Position, at
	}
}

// classify finds out which of the first n open entries, a round, lost. It
// answers for them and for the rest of their chains; what stays open can be
// stored.
func (s *Store) classify(ctx context.Context, b *batch, n int) error {
	keys := newColumns(n)
	for _, i := range b.open[:n] {
		c := b.entries[i]
		keys.add(c.Target, c.Version, c.Request)
	}
	found, err := s.lookUp(ctx, keys)
	if err != nil {
		return err
	}
	next := make(map[wow.Target]int64, n) // version of each aggregate's next entry that can be stored
	open := make([]int, 0, len(b.open))
	for k, i := range b.open[:n] {
		c, r, f := b.entries[i], &b.results[i], &found[k]
		if b.ended(i) {
			r.Err = store.ErrChain
			continue
		}
		if next[c.Target] == 0 {
			next[c.Target] = f.head + 1
			s.known.add(c.Target, f.head)
		}
		if own := f.own(c.ID); own != nil {
			isStored(c, r, own.seq, own.stored)
			continue
		}
		if first := f.first(c.Request); first != nil {
			r.Status, r.Head, r.First = store.Repeated, next[c.Target]-1, first
			b.broken = append(b.broken, i)
			continue
		}
		if c.Version != next[c.Target] {
			r.Status, r.Head = store.Conflict, next[c.Target]-1
			b.broken = append(b.broken, i)
			continue
		}
		next[c.Target]++
		open = append(open, i)
	}
	for _, i := range b.open[n:] {
		if b.ended(i) {
			b.results[i].Err = store.ErrChain
			continue
		}
		open = append(open, i)
	}
	b.open = open
	return nil
}
