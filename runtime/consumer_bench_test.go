package runtime

import (
	"context"
	"fmt"
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
