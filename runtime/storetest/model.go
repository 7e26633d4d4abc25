package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// model is what a store is, said with a slice and two maps.
type model struct {
	base     int64 // position behind which it begins
	log      []*store.Commit
	streams  map[wow.Target][]*store.Commit
	requests map[string]store.Outcome // by target and request
}

func key(t wow.Target, request string) string { return fmt.Sprintf("%q %q", t, request) }

// append is the contract of Log.Append for one entry, whose chain is whole.
func (m *model) append(c *store.Commit) (store.Status, *store.Outcome) {
	stream := m.streams[c.Target]
	if o, ok := m.requests[key(c.Target, c.Request)]; ok && c.Request != "" {
		if o.Commit == c.ID {
			return store.Stored, nil
		}
		return store.Repeated, &o
	}
	if n := int64(len(stream)); c.Version != n+1 {
		if c.Version <= n && stream[c.Version-1].ID == c.ID {
			return store.Stored, nil
		}
		return store.Conflict, nil
	}
	m.log = append(m.log, c)
	m.streams[c.Target] = append(stream, c)
	if c.Request != "" {
		m.requests[key(c.Target, c.Request)] = store.Outcome{
			Kind: store.Committed, Request: c.Request, Version: c.Version,
			Position: wow.Position{Seq: m.base + int64(len(m.log))}, Commit: c.ID, At: c.DecidedAt,
		}
	}
	return store.Stored, nil
}

// settle is the contract of Outcomes.Settle for one decision.
func (m *model) settle(d store.Settlement) store.Settled {
	s := store.Settled{Head: int64(len(m.streams[d.Target]))}
	if o, ok := m.requests[key(d.Target, d.Outcome.Request)]; ok {
		s.First = &o
	} else if d.Keep && s.Head == d.Version {
		m.requests[key(d.Target, d.Outcome.Request)] = d.Outcome
	}
	return s
}

// testModel runs random histories against the store and the model, and
// compares every answer and, at the end, everything. Each history goes behind
// the one before and has aggregates of its own.
func testModel(t *testing.T, open Open) {
	s := open(t)
	defer s.Close()
	if s.Shards() != 1 { // the model has one line
		return
	}
	histories := 0
	rapid.Check(t, func(r *rapid.T) {
		base, err := s.Head(t.Context(), 0)
		if err != nil {
			r.Fatal(err)
		}
		m := &model{base: base.Seq, streams: map[wow.Target][]*store.Commit{}, requests: map[string]store.Outcome{}}
		histories++
		name := fmt.Sprint("-", histories)
		target := rapid.Map(rapid.IntRange(0, 3), func(i int) wow.Target {
			return wow.Target{Tenant: []string{"", "t"}[i/2], Aggregate: "shop.cart", ID: string(rune('a'+i%2)) + name}
		})
		request := rapid.SampledFrom([]string{"", "", "r1", "r2", "r3", "r4"})

		entry := func(heads map[wow.Target]int64) *store.Commit {
			if len(m.log) > 0 && rapid.IntRange(0, 5).Draw(r, "again") == 0 {
				c := *rapid.SampledFrom(m.log).Draw(r, "stored")
				return &c
			}
			t := target.Draw(r, "target")
			if _, ok := heads[t]; !ok {
				heads[t] = int64(len(m.streams[t]))
			}
			heads[t]++
			off := rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(r, "off")
			return requested(t, max(1, heads[t]+off), request.Draw(r, "request"))
		}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				heads, broken := map[wow.Target]int64{}, map[wow.Target]bool{}
				var batch []*store.Commit
				for range rapid.IntRange(1, 5).Draw(r, "entries") {
					batch = append(batch, entry(heads))
				}
				answers := s.Append(t.Context(), batch)
				for i, c := range batch {
					got, want, first := answers[i], store.Failed, (*store.Outcome)(nil)
					if !broken[c.Target] {
						want, first = m.append(c)
					}
					broken[c.Target] = broken[c.Target] || want != store.Stored
					if got.Status != want || !reflect.DeepEqual(got.First, first) {
						r.Fatalf("entry %d, %s version %d request %q: %+v (first %+v), want %s (first %+v)",
							i, c.Target, c.Version, c.Request, got, got.First, want, first)
					}
					if want == store.Stored && m.log[got.Position.Seq-m.base-1].ID != c.ID {
						r.Fatalf("entry %d: position %s holds another commit", i, got.Position)
					}
				}
				for i, c := range batch { // a chain ends at its conflict, so the head is still the same
					got := answers[i]
					if head := int64(len(m.streams[c.Target])); got.Head != head && (got.Status == store.Conflict || got.Status == store.Repeated) {
						r.Fatalf("entry %d, %s: head %d, want %d", i, got.Status, got.Head, head)
					}
				}
			},
			"settle": func(r *rapid.T) {
				var ds []store.Settlement
				for range rapid.IntRange(1, 3).Draw(r, "decisions") {
					t := target.Draw(r, "target")
					version := max(0, int64(len(m.streams[t]))+rapid.SampledFrom([]int64{0, 0, 0, -1, 1}).Draw(r, "off"))
					d := kept("", version, store.Refused, request.Draw(r, "request"))
					d.Target = t
					d.Keep = d.Outcome.Request != "" && rapid.Bool().Draw(r, "keep")
					ds = append(ds, d)
				}
				got, err := s.Settle(t.Context(), ds)
				if err != nil {
					r.Fatal(err)
				}
				for i, d := range ds {
					if want := m.settle(d); !reflect.DeepEqual(got[i], want) {
						r.Fatalf("settle %d: %+v, want %+v", i, got[i], want)
					}
				}
			},
			"read": func(r *rapid.T) {
				after, limit := rapid.Int64Range(0, int64(len(m.log))+1).Draw(r, "after"), rapid.IntRange(0, 10).Draw(r, "limit")
				got, err := s.Read(t.Context(), wow.Position{Seq: m.base + after}, limit)
				if err != nil || len(got) > limit || (len(got) == 0) != (limit == 0 || after >= int64(len(m.log))) {
					r.Fatalf("read of %d behind %d of %d: %d commits, %v", limit, after, len(m.log), len(got), err)
				}
				compare(r, got, m.log[min(after, int64(len(m.log))):][:len(got)])
			},
			"stream": func(r *rapid.T) {
				at := target.Draw(r, "target")
				all := m.streams[at]
				after, limit := rapid.IntRange(0, len(all)+1).Draw(r, "after"), rapid.IntRange(0, 10).Draw(r, "limit")
				got, err := s.Stream(t.Context(), at, int64(after), limit)
				if err != nil {
					r.Fatal(err)
				}
				from := min(after, len(all))
				compare(r, got, all[from:min(len(all), from+limit)])
			},
		})
		compare(r, readFrom(t, t.Context(), s, base), m.log)
	})
}

func compare(r *rapid.T, got, want []*store.Commit) {
	if len(got) != len(want) {
		r.Fatalf("%d commits, want %d", len(got), len(want))
	}
	for i := range got {
		if d := differ(got[i], want[i]); d != "" {
			r.Fatalf("commit %d: %s", i, d)
		}
	}
}
