package executor

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestOverflowIsSentWhenItsKeyFinishesMeanwhile: a message goes to the overflow
// while the last one that its key had ends. In a bubble a message that nobody
// sends is a deadlock at once.
func TestOverflowIsSentWhenItsKeyFinishesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := make(chan struct{}, 2)
		l := open(t, Config{Workers: 1}, LaneConfig[int, int]{MaxInFlight: 4, PerKey: 1, Overflow: 4,
			Done: func(int, int, error) { finished <- struct{}{} }},
			func(context.Context, int, int) Outcome { return Done(nil) })
		for range 20_000 {
			for range 2 {
				if err := l.Submit(t.Context(), 1, 0); err != nil {
					t.Fatal(err)
				}
			}
			<-finished
			<-finished
		}
	})
}
