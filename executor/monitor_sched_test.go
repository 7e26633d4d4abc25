//go:build wowsched

package executor

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestMonitorThatLeavesFindsTheSlotThatIsHeldMeanwhile: a handler begins to block
// between the monitor's look at the slots and its note that it has left.
func TestMonitorThatLeavesFindsTheSlotThatIsHeldMeanwhile(t *testing.T) {
	defer func() { yieldHook = nil }()
	synctest.Test(t, func(t *testing.T) {
		blocked, release, finished := make(chan struct{}), make(chan struct{}), make(chan struct{}, 3)
		l := open(t, Config{Workers: 1, Spin: -1}, LaneConfig[int, string]{Done: func(int, string, error) { finished <- struct{}{} }},
			func(_ context.Context, _ int, msg string) Outcome {
				switch msg {
				case "block":
					close(blocked)
					<-release // without a word
				case "neighbour":
					close(release)
				}
				return Done(nil)
			})
		left := false
		yieldHook = func(point string) {
			if point == "monitor.idle" && !left {
				left = true
				if err := l.TrySubmit(1, "block"); err != nil {
					t.Error(err)
				}
				<-blocked
			}
		}
		if err := l.Submit(t.Context(), 0, "start the monitor"); err != nil {
			t.Fatal(err)
		}
		<-blocked
		if err := l.Submit(t.Context(), 2, "neighbour"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			<-finished
		}
	})
}
