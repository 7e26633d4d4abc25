package storetest

import (
	"fmt"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Bench measures a store. Each operation is one commit, so that batches can be
// compared; the commits themselves are made outside the clock.
func Bench(b *testing.B, open Open) {
	for _, batch := range []int{1, 16, 64, 256} {
		for _, requests := range []bool{false, true} {
			b.Run(fmt.Sprintf("Append/batch=%d/requests=%t", batch, requests), func(b *testing.B) {
				s := open(b)
				defer s.Close()
				benchAppend(b, s, batch, requests)
			})
		}
	}
	b.Run("Read/limit=256", func(b *testing.B) {
		s := open(b)
		defer s.Close()
		fill(b, s, 4096)
		b.ReportAllocs()
		at := wow.Position{}
		for n := 0; n < b.N; {
			cs, err := s.Read(b.Context(), at, 256)
			if err != nil {
				b.Fatal(err)
			}
			n += len(cs)
			at = wow.Position{}
			if len(cs) > 0 {
				at = cs[len(cs)-1].Position
			}
		}
	})
	b.Run("Stream/limit=100", func(b *testing.B) {
		s := open(b)
		defer s.Close()
		fill(b, s, 4096)
		b.ReportAllocs()
		for n := 0; n < b.N; {
			cs, err := s.Stream(b.Context(), cart("cart-1"), 0, 100)
			if err != nil || len(cs) == 0 {
				b.Fatal(len(cs), err)
			}
			n += len(cs)
		}
	})
}

const benchAggregates = 40

var benchEvents = []store.Event{{
	Name: "item_added", Codec: store.JSON,
	Data: []byte(`{"SKU":"tea-earl-grey-250g","Qty":2,"Price":1290,"Note":"a present, please wrap it; no paper with stars on it, thank you"}`),
}}

// benchCommits makes commits n to n+len(to) of the usual bench history.
func benchCommits(to []store.Commit, n int, requests bool) {
	for i := range to {
		at := n + i
		to[i] = store.Commit{
			Target:    cart(fmt.Sprintf("cart-%d", at%benchAggregates)),
			Version:   int64(at/benchAggregates) + 1,
			ID:        newID(),
			DecidedAt: int64(at),
			Events:    benchEvents,
		}
		if requests {
			to[i].Request = to[i].ID
		}
	}
}

func benchAppend(b *testing.B, s store.Store, batch int, requests bool) {
	block := max(4096/batch, 1) * batch
	entries := make([]*store.Commit, 0, batch)
	b.ReportAllocs()
	for done := 0; done < b.N; done += block {
		b.StopTimer()
		commits := make([]store.Commit, min(block, b.N-done))
		benchCommits(commits, done, requests)
		b.StartTimer()
		for i := range commits {
			entries = append(entries, &commits[i])
			if len(entries) < batch && i < len(commits)-1 {
				continue
			}
			for _, r := range s.Append(b.Context(), entries) {
				if r.Status != store.Stored {
					b.Fatalf("%s: %v", r.Status, r.Err)
				}
			}
			entries = entries[:0]
		}
	}
}

func fill(b *testing.B, s store.Store, n int) {
	commits := make([]store.Commit, n)
	benchCommits(commits, 0, true)
	entries := make([]*store.Commit, n)
	for i := range commits {
		entries[i] = &commits[i]
	}
	for len(entries) > 0 {
		k := min(256, len(entries))
		for _, r := range s.Append(b.Context(), entries[:k]) {
			if r.Status != store.Stored {
				b.Fatalf("%s: %v", r.Status, r.Err)
			}
		}
		entries = entries[k:]
	}
}
