package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A consumer that is new begins where it was declared to, and goes on where it
// was after that.
func TestANewConsumerBeginsWhereItIsDeclaredTo(t *testing.T) {
	noon := time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC) // a bubble begins at midnight
	for name, tt := range map[string]struct {
		start Start
		want  []string
	}{
		"beginning":     {Start{}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "100", "101"}},
		"now":           {StartNow(), []string{"100", "101"}},
		"a time":        {StartAt(noon.Format(time.RFC3339)), []string{"5", "6", "7", "8", "9", "100", "101"}},
		"before all":    {StartAt("1999-01-01T00:00:00Z"), []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "100", "101"}},
		"in the future": {StartAt("2030-01-01T00:00:00Z"), []string{"100", "101"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memoryStore(t)
				filler := newBench(t, s, Handlers{})
				for i := range 10 {
					filler.append("a", tallyAdded{i})
					time.Sleep(time.Second)
				}
				var got seen
				p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
					got.note("a", fmt.Sprint(in.Event.(tallyAdded).N))
					return nil
				})
				p.Start = tt.start
				for life := range 2 {
					b := started(t, s, only(p))
					b.append("a", tallyAdded{100 + life})
					b.settled(p.Name)
					b.stop()
				}
				require.Equal(t, tt.want, got.of("a"))
			})
		})
	}
}

// One that began on an empty history, and saw nothing before it was stopped, has
// begun all the same.
func TestAConsumerThatBeganWithNothingMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		var got seen
		p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			got.note("a", "x")
			return nil
		})
		p.Start = StartNow()
		started(t, s, only(p)).stop()
		filler := newBench(t, s, Handlers{})
		filler.append("a", tallyAdded{1})
		filler.append("a", tallyAdded{2})
		b := started(t, s, only(p))
		b.settled(p.Name)
		b.stop()
		require.True(t, slices.Equal([]string{"x", "x"}, got.of("a")))
	})
}

func TestAFunctionAddedToAnExistingConsumerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		p := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
		life := func() string {
			var log strings.Builder
			b := newBench(t, s, only(p))
			b.env.out = slog.New(slog.NewTextHandler(&log, nil))
			b.start()
			b.append("a", tallyAdded{1})
			b.settled(p.Name)
			b.stop()
			time.Sleep(time.Second)
			return log.String()
		}
		require.NotContains(t, life(), "a function is new")
		require.NotContains(t, life(), "a function is new")
		p.Functions = append(slices.Clone(p.Functions), Function{Name: "on_label", Event: &tallyLabelType})
		told := life()
		require.Contains(t, told, "a function is new")
		require.Contains(t, told, "function=on_label behind=0/2")
		require.NotContains(t, life(), "a function is new", "once")
	})
}
