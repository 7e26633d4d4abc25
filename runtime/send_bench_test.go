package runtime

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkSend is one command from Send to its answer, on the memory store
// with the JSON codec: one event, a thousand aggregates.
func BenchmarkSend(b *testing.B) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = "account-" + strconv.Itoa(i)
	}
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			g := bank(b, Config{})
			b.ReportAllocs()
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						x := uint64(i) * 0x9E3779B97F4A7C15
						if _, err := g.Send(context.Background(), Deposit{ID: ids[(x>>33)%1000], Amount: 3}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkHistory shows that a command costs the same however long the
// history of its aggregate is.
func BenchmarkHistory(b *testing.B) {
	for _, length := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("events=%d", length), func(b *testing.B) {
			g := bank(b, Config{})
			for range length {
				_, err := g.Send(b.Context(), Deposit{ID: "a", Amount: 1})
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Send(context.Background(), Deposit{ID: "a", Amount: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
