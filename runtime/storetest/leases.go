package storetest

import (
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

func segments(consumers ...string) (all []store.Segment) {
	for _, c := range consumers {
		all = append(all, store.Segment{Consumer: c})
	}
	return all
}

// claims claims for a minute and compares who has each segment then.
func (f *fixture) claims(owner string, take int, of []store.Segment, owners int, want ...string) []store.Lease {
	f.Helper()
	got, err := f.Claim(f.ctx(), owner, time.Minute, of, take)
	f.must(err)
	var have []string
	for _, l := range got.Leases {
		have = append(have, l.Owner)
	}
	if !reflect.DeepEqual(have, want) || got.Owners != owners {
		f.Fatalf("%s claims %d of %d segments: %q of %d owners, want %q of %d", owner, take, len(of), have, got.Owners, want, owners)
	}
	return got.Leases
}

var leaseTests = []test{
	{"a free segment is taken, up to a number, and kept", func(f *fixture) {
		abc := segments("a", "b", "c")
		f.claims("one", 0, abc, 1, "", "", "")
		f.claims("one", 2, abc, 1, "one", "one", "")
		f.claims("two", 5, abc, 2, "one", "one", "two")
		first := f.claims("one", 5, abc, 2, "one", "one", "two")
		f.must(f.Release(f.ctx(), "one", abc[1]))
		second := f.claims("two", 5, abc, 2, "one", "two", "two")
		if first[1].Epoch < 1 || second[1].Epoch != first[1].Epoch+1 || second[0].Epoch != first[0].Epoch {
			f.Errorf("epochs %+v, then %+v: want that of b one higher, and no other", first, second)
		}
		f.must(f.Release(f.ctx(), "two", abc[0])) // not its own
		f.must(f.Release(f.ctx(), "one"))
		f.claims("two", 0, abc, 1, "", "two", "two")
	}},
	{"a segment of a process that is silent is free", func(f *fixture) {
		got, err := f.Claim(f.ctx(), "one", time.Millisecond, segments("a", "b"), 2)
		f.must(err)
		for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
			time.Sleep(time.Millisecond)
		}
		now := f.claims("two", 1, segments("a", "b"), 1, "two", "")
		if now[0].Epoch != got.Leases[0].Epoch+1 {
			f.Errorf("epoch %d, then %d", got.Leases[0].Epoch, now[0].Epoch)
		}
		f.claims("one", 1, segments("a", "b"), 2, "two", "one")
	}},
	{"a late owner writes nothing", func(f *fixture) {
		commits := many(f, 5)
		first := f.claims("one", 1, segments("c"), 1, "one")[0]
		mine := func(l store.Lease, seq int64) *store.Checkpoint {
			return &store.Checkpoint{Consumer: "c", Epoch: l.Epoch, Position: at(seq)}
		}
		message := func(i int) []store.Parked {
			return []store.Parked{{Consumer: "c", Function: "f", Commit: commits[i], Error: "boom", At: 1}}
		}
		f.must(f.SaveCheckpoint(f.ctx(), *mine(first, 2)))
		f.must(f.Park(f.ctx(), message(0), mine(first, 0)))
		f.standsAt("c", 0, *mine(first, 2))
		f.must(f.Release(f.ctx(), "one"))
		second := f.claims("two", 1, segments("c"), 1, "two")[0]
		for what, err := range map[string]error{
			"a checkpoint": f.SaveCheckpoint(f.ctx(), *mine(first, 4)),
			"parking":      f.Park(f.ctx(), message(1), mine(first, 0)),
			"unparking":    f.Unpark(f.ctx(), "c", "f", commits[0].Position, mine(first, 0)),
		} {
			if !errors.Is(err, store.ErrEpoch) {
				f.Errorf("%s of a late owner: %v, want %v", what, err, store.ErrEpoch)
			}
		}
		f.standsAt("c", 0, *mine(second, 2))
		if parked, err := f.Parked(f.ctx(), "c", wow.Target{}, at(0), 10); err != nil || len(parked) != 1 || parked[0].Commit.ID != commits[0].ID {
			f.Errorf("parked %v %v, want the first message alone", parked, err)
		}
		f.must(f.Unpark(f.ctx(), "c", "f", commits[0].Position, mine(second, 0)))
		f.must(f.SaveCheckpoint(f.ctx(), *mine(second, 3)))
	}},
	{"one of many gets a segment", func(f *fixture) {
		var all sync.WaitGroup
		var mu sync.Mutex
		epochs, names := map[int64]bool{}, []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range names {
			all.Go(func() {
				got, err := f.Claim(f.ctx(), name, time.Minute, segments("z", "c", "y"), 1)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					f.Error(err)
					return
				}
				for _, l := range got.Leases {
					if l.Owner == name {
						epochs[l.Epoch] = true
					}
				}
			})
		}
		all.Wait()
		owned := 0
		got, err := f.Claim(f.ctx(), "i", time.Minute, segments("z", "c", "y"), 0)
		f.must(err)
		for _, l := range got.Leases {
			if l.Owner != "" && l.Epoch == 1 {
				owned++
			}
		}
		if owned != 3 || len(epochs) != 1 || got.Owners != len(names)+1 {
			f.Errorf("%+v after %d claims, of epochs %v: want 3 taken, each once", got, len(names), epochs)
		}
	}},
	{"a claim of nobody is refused", func(f *fixture) {
		for _, err := range []error{
			second(f.Claim(f.ctx(), "", time.Minute, segments("a"), 1)),
			second(f.Claim(f.ctx(), "one", 0, segments("a"), 1)),
			second(f.Claim(f.ctx(), "one", time.Minute, segments(""), 1)),
			second(f.Claim(f.ctx(), "one\n", time.Minute, segments("a"), 1)),
		} {
			if !errors.Is(err, wow.ErrInvalid) {
				f.Errorf("claimed: %v", err)
			}
		}
	}},
}

func second[T any](_ T, err error) error { return err }
