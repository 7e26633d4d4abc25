package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

func timer(name string, seq, index, due int64) store.Timer {
	return store.Timer{Consumer: "c", Name: name, Position: at(seq), Index: index, Due: due, Data: fmt.Appendf(nil, "%s\x00\xff %d %d", name, seq, index)}
}

func (f *fixture) sets(timers ...store.Timer) {
	f.Helper()
	f.must(f.SetTimers(f.ctx(), timers))
}

// isDue compares the timers that are due at a time.
func (f *fixture) isDue(consumer string, due int64, limit int, want ...store.Timer) {
	f.Helper()
	got, err := f.Timers(f.ctx(), consumer, due, limit)
	f.must(err)
	show := func(timers []store.Timer) (all []string) {
		for _, t := range timers {
			all = append(all, fmt.Sprintf("%s at %v %d due %d after %d, %d bytes", t.Name, t.Position, t.Index, t.Due, t.Attempts, len(t.Data)))
		}
		return all
	}
	if !slices.EqualFunc(got, want, func(a, b store.Timer) bool {
		same := bytes.Equal(a.Data, b.Data)
		a.Data, b.Data = nil, nil
		return same && reflect.DeepEqual(a, b)
	}) {
		f.Fatalf("timers of %s due at %d, at most %d:\n%q, want\n%q", consumer, due, limit, show(got), show(want))
	}
}

// isNamed compares the timer of a name.
func (f *fixture) isNamed(consumer, name string, want *store.Timer) {
	f.Helper()
	got, err := f.Timer(f.ctx(), consumer, name)
	f.must(err)
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("timer %s of %s: %+v, want %+v", name, consumer, got, want)
	}
}

var timerTests = []test{
	{"none is no error", func(f *fixture) { f.isDue("c", math.MaxInt64, 9) }},
	{"the earliest are first, and those to come wait", func(f *fixture) {
		a, b, c := timer("a", 1, 0, 30), timer("b", 1, 1, 10), timer("c", 2, 0, 20)
		other := timer("a", 1, 0, 5)
		other.Consumer = "d"
		f.sets(a, b, c)
		f.sets(other)
		f.isDue("c", 9, 9)
		f.isDue("c", 10, 9, b)
		f.isDue("c", math.MaxInt64, 9, b, c, a)
		f.isDue("c", math.MaxInt64, 2, b, c)
		f.isDue("c", math.MaxInt64, 0)
		f.isNamed("c", "a", &a)
		f.isNamed("d", "a", &other)
		f.isNamed("d", "b", nil)
		f.isDue("d", 5, 9, other)
	}},
	{"a name stands for the one set last", func(f *fixture) {
		first, later, same := timer("a", 4, 1, 10), timer("a", 5, 0, 20), timer("a", 5, 1, 5)
		f.sets(first)
		f.sets(later)
		f.isDue("c", 99, 9, later)
		f.sets(same) // by the same commit, but behind
		f.isDue("c", 99, 9, same)
		f.sets(first, later) // come again, after a crash
		f.isDue("c", 99, 9, same)
	}},
	{"one that is set again stays, and can be put off or taken back", func(f *fixture) {
		a := timer("a", 4, 1, 10)
		f.sets(a)
		sooner, late := timer("a", 4, 1, 5), timer("a", 4, 1, 30)
		late.Attempts = 3
		f.sets(sooner)
		f.isDue("c", 99, 9, a)
		f.sets(late)
		f.isDue("c", 99, 9, late)
		f.sets(timer("a", 4, 1, 0))
		f.isDue("c", 99, 9)
		f.sets(late, a)
		f.isDue("c", 99, 9)
		f.isNamed("c", "a", nil)
		next := timer("a", 6, 0, 40)
		f.sets(next)
		f.isDue("c", 99, 9, next)
	}},
	{"one that was taken back is not set again by an earlier commit", func(f *fixture) {
		many(f, 5)
		f.sets(timer("a", 4, 0, 0)) // before the one that it takes back
		f.sets(timer("a", 3, 0, 10))
		f.isDue("c", 99, 9)
		// Once the consumer is past the commit no mark is needed.
		f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Position: at(3)}))
		f.sets(timer("b", 5, 0, 20))
		f.sets(timer("a", 3, 0, 10))
		f.isDue("c", 19, 9)
		f.must(f.SaveCheckpoint(f.ctx(), store.Checkpoint{Consumer: "c", Position: at(4)}))
		f.sets(timer("b", 5, 1, 20))
		f.sets(timer("a", 3, 0, 10))
		f.isDue("c", 19, 9, timer("a", 3, 0, 10))
	}},
	{"all are set or none", func(f *fixture) {
		for _, bad := range []store.Timer{{}, {Consumer: "c"}, timer("", 1, 0, 1), timer("x", 0, 0, 1), timer("x", 1, -1, 1), timer("x", 1, 0, -1),
			timer("x\n", 1, 0, 1), {Consumer: "c", Name: "x", Position: at(1), Due: 1, Data: make([]byte, store.MaxTimer+1)}} {
			if err := f.SetTimers(f.ctx(), []store.Timer{timer("a", 1, 0, 1), bad}); !errors.Is(err, wow.ErrInvalid) {
				f.Errorf("setting %+v: %v, want it to be invalid", bad, err)
			}
		}
		f.isDue("c", 99, 9)
	}},
	{"one of a megabyte is kept, and one of nothing", func(f *fixture) {
		big, empty := timer("big", 1, 0, 1), timer("empty", 1, 1, 2)
		big.Data, empty.Data = make([]byte, store.MaxTimer), nil
		f.sets(big, empty)
		f.isDue("c", 99, 9, big, empty)
	}},
}
