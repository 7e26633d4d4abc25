package memory_test

import (
	"fmt"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// BenchmarkAppend appends batches of one commit: what a store costs a command.
func BenchmarkAppend(b *testing.B) {
	for _, requests := range []bool{false, true} {
		b.Run(fmt.Sprintf("requests=%t", requests), func(b *testing.B) {
			const aggregates = 1000
			commits := make([]store.Commit, b.N)
			events := []store.Event{{Name: "item_added", Codec: store.JSON, Data: []byte(`{"SKU":"s1","Qty":2}`)}}
			for i := range commits {
				commits[i] = store.Commit{
					Target:  wow.Target{Aggregate: "shop.cart", ID: fmt.Sprintf("cart-%d", i%aggregates)},
					Version: int64(i/aggregates) + 1,
					ID:      fmt.Sprintf("0198e0c4-7f00-7000-8000-%012d", i),
					Events:  events,
				}
				if requests {
					commits[i].Request = commits[i].ID
				}
			}
			s := memory.New()
			batch := make([]*store.Commit, 1)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range commits {
				batch[0] = &commits[i]
				if r := s.Append(b.Context(), batch); r[0].Status != store.Stored {
					b.Fatal(r[0])
				}
			}
		})
	}
}
