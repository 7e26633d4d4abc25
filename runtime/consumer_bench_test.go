package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/wowgen/wow"
)

// BenchmarkProjection is what a projection costs for each commit: to read,
// route, decode, hand over and finish it. The handler does next to nothing.
func BenchmarkProjection(b *testing.B) {
	for _, c := range []struct {
		name   string
		serial bool
		kind   []wow.DomainEvent // of the commits, in turn
	}{
		{"subscribed", false, []wow.DomainEvent{tallyAdded{1}}},
		{"serial", true, []wow.DomainEvent{tallyAdded{1}}},
		{"passed", false, []wow.DomainEvent{tallyLabel{"x"}}},
		{"every-tenth", false, []wow.DomainEvent{tallyAdded{1}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}, tallyLabel{}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			p := projecting(func(context.Context, *Recorded, *Reaction) error { n++; return nil })
			if p.Serial = c.serial; !c.serial {
				p.OnEvent = func(context.Context, *Recorded, *Reaction) error { return nil }
			}
			x := newBench(b, memoryStore(b), only(p))
			for i := range b.N {
				x.append(fmt.Sprint(i%1000), c.kind[i%len(c.kind)])
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpuTime()
			x.start()
			x.settled(p.Name)
			b.StopTimer()
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			x.stop()
		})
	}
}

// cpuTime is what the process has used of all processors, in nanoseconds: it
// says more than the clock where others share the machine.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkSendWithProjection is what an attached projection costs a command:
// each is sent and waited for by one of so many clients, and in the end the
// projection must have seen them all.
func BenchmarkSendWithProjection(b *testing.B) {
	for _, clients := range []int{1, 8} {
		for _, projections := range []int{0, 1, 4} {
			b.Run(fmt.Sprintf("clients=%d/projections=%d", clients, projections), func(b *testing.B) {
				s := memoryStore(b)
				r := New(Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
				r.AddAggregate(accounts())
				seen := make([]struct {
					n atomic.Int64
					_ [56]byte
				}, projections)
				for i := range projections {
					r.AddProjection(Projection{
						Name:      fmt.Sprint("bank.projection.", i),
						Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
						OnEvent: func(_ context.Context, in *Recorded, _ *Reaction) error {
							seen[i].n.Add(in.Event.(Deposited).Amount)
							return nil
						},
					})
				}
				if err := r.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				ids := make([]string, 1000)
				for i := range ids {
					ids[i] = fmt.Sprint("account-", i)
				}
				b.ReportAllocs()
				b.ResetTimer()
				before := cpuTime()
				var wg sync.WaitGroup
				for c := range clients {
					wg.Go(func() {
						for i := c; i < b.N; i += clients {
							if _, err := r.Gateway().Send(b.Context(), Deposit{ID: ids[i%len(ids)], Amount: 1}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				for i := range projections {
					c, _ := r.Consumer(fmt.Sprint("bank.projection.", i))
					for mark := c.c.feeds[0].mark(); mark.checkpoint() < int64(b.N); {
						told := make(chan error, 1)
						if mark.watch(mark.checkpoint()+1, told) {
							<-told
						}
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
				for i := range projections {
					if n := seen[i].n.Load(); n != int64(b.N) {
						b.Errorf("projection %d has seen %d of %d", i, n, b.N)
					}
				}
				if err := r.Stop(b.Context()); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
