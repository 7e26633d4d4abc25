package runtime

import (
	"context"
	"fmt"
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
			x.start()
			x.settled(p.Name)
			b.StopTimer()
			x.stop()
		})
	}
}
