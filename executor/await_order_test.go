package executor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// TestAwaitsResumeInTheOrderInWhichTheyEnded, whatever their handlers' order was,
// when they meet while the worker is busy.
func TestAwaitsResumeInTheOrderInWhichTheyEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const handlers, busy = 4, 99
		hold := make(chan struct{})
		var end [handlers]chan struct{}
		var got []int // written on one worker
		l := open(t, Config{Workers: 1, StallAfter: -1}, LaneConfig[int, int]{}, func(ctx context.Context, key, _ int) Outcome {
			if key == busy {
				<-hold
				return Done(nil)
			}
			_, err := Await(ctx, func(context.Context) (int, error) { <-end[key]; return 0, nil })
			got = append(got, key)
			return Done(err)
		})
		for key := range end {
			end[key] = make(chan struct{})
			if err := l.Submit(t.Context(), key, 0); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := l.Submit(t.Context(), busy, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []int{2, 0, 3, 1}
		for _, key := range want {
			close(end[key])
			synctest.Wait()
		}
		close(hold)
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("resumed %v, want %v", got, want)
		}
	})
}
