package executor

import (
	"context"
	"fmt"
	"testing"
)

// benchLane opens a lane whose handler tells when the last message was handled.
func benchLane(b *testing.B, cfg Config, lc LaneConfig[uint64, bool], h Handler[uint64, bool]) (*Lane[uint64, bool], func()) {
	e, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	l, err := Open(e, lc, h)
	if err != nil {
		b.Fatal(err)
	}
	return l, func() {
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func nothing(context.Context, uint64, bool) Outcome { return Outcome{} }

func BenchmarkSubmit(b *testing.B) {
	for _, keys := range []uint64{1, 1000, 1_000_000} {
		for name, single := range map[string]bool{"locked": false, "single": true} {
			b.Run(fmt.Sprintf("%d-keys/%s", keys, name), func(b *testing.B) {
				l, end := benchLane(b, Config{}, LaneConfig[uint64, bool]{SingleSender: single}, nothing)
				b.ReportAllocs()
				i := uint64(0)
				for b.Loop() {
					l.Submit(context.Background(), i%keys, false)
					i++
				}
				end()
			})
		}
	}
}

func BenchmarkSubmitParallel(b *testing.B) {
	l, end := benchLane(b, Config{}, LaneConfig[uint64, bool]{}, nothing)
	b.ReportAllocs()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for i := uint64(0); pb.Next(); i++ {
			l.Submit(context.Background(), i%1000, false)
		}
	})
	end()
}

func BenchmarkSubmitBatch(b *testing.B) {
	l, end := benchLane(b, Config{}, LaneConfig[uint64, bool]{MaxInFlight: 1024, SingleSender: true}, nothing)
	batch := make([]Entry[uint64, bool], 64)
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() { // per batch of 64
		for j := range batch {
			batch[j].Key = i % 1000
			i++
		}
		l.SubmitBatch(context.Background(), batch)
	}
	end()
}

// BenchmarkRoundTrip is a message there and its answer back, as for a command.
func BenchmarkRoundTrip(b *testing.B) {
	answer := make(chan struct{}, 1)
	for name, spin := range map[string]int{"spin": 0, "park": -1} {
		b.Run(name, func(b *testing.B) {
			cfg := Config{}
			if spin < 0 {
				cfg.Spin = -1
			}
			l, end := benchLane(b, cfg, LaneConfig[uint64, bool]{}, func(context.Context, uint64, bool) Outcome {
				answer <- struct{}{}
				return Outcome{}
			})
			b.ReportAllocs()
			i := uint64(0)
			for b.Loop() {
				l.Submit(context.Background(), i%1000, false)
				<-answer
				i++
			}
			end()
		})
	}
}

func BenchmarkAwait(b *testing.B) {
	b.Run("go-and-channel", func(b *testing.B) { // what it is measured against
		for b.Loop() {
			c := make(chan struct{})
			go close(c)
			<-c
		}
	})
	for _, keys := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("%d-handlers", keys), func(b *testing.B) {
			n := b.N/keys + 1
			l, end := benchLane(b, Config{Workers: 1}, LaneConfig[uint64, bool]{}, func(ctx context.Context, _ uint64, _ bool) Outcome {
				for range n {
					Await(ctx, func(context.Context) (int, error) { return 0, nil })
				}
				return Outcome{}
			})
			b.ReportAllocs()
			b.ResetTimer()
			for k := range keys {
				l.Submit(context.Background(), uint64(k), false)
			}
			end()
		})
	}
}

func BenchmarkLater(b *testing.B) {
	l, end := benchLane(b, Config{Workers: 1}, LaneConfig[uint64, bool]{}, func(ctx context.Context, _ uint64, _ bool) Outcome {
		o, c := Later(ctx)
		c.Complete(Outcome{})
		return o
	})
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		l.Submit(context.Background(), i%1000, false)
		i++
	}
	end()
}
