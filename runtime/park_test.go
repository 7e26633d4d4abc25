package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

var errBroken = errors.New("the shelf is broken")

// fragile is a projection that fails for removed events while broken is set.
func fragile(got *seen, broken *atomic.Bool, retry Retry) Projection {
	p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
		if _, ok := in.Event.(tallyRemoved); ok && broken.Load() {
			return errBroken
		}
		got.note(in.Target.ID, fmt.Sprintf("%d %T", in.Version, in.Event))
		return nil
	})
	for i := range p.Functions {
		p.Functions[i].Retry = retry
	}
	return p
}

// parkedOf lists what is parked as "position function".
func parkedOf(t *testing.T, b *bench, id string) (rows []string) {
	t.Helper()
	list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), tallyTarget(id), wow.Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		rows = append(rows, strings.TrimSpace(fmt.Sprint(p.Commit.Position.Seq, " ", p.Function)))
	}
	return rows
}

func TestItemAddedParksAndItemRemovedWaits(t *testing.T) {
	var got seen
	p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
		if e, ok := in.Event.(tallyAdded); ok && e.N == 13 {
			return fmt.Errorf("13 is not a number here (%w)", wow.Permanent)
		}
		got.note(in.Target.ID, fmt.Sprintf("%T", in.Event))
		return nil
	})
	b := started(t, memoryStore(t), only(p))
	b.append("a", tallyAdded{13})
	b.append("a", tallyRemoved{1})
	b.append("b", tallyAdded{1})
	b.settled(p.Name)
	if s := got.of("a"); len(s) != 0 {
		t.Errorf("a was handled: %v; ItemRemoved must wait behind ItemAdded", s)
	}
	if s := got.of("b"); len(s) != 1 {
		t.Errorf("b was handled %d times, want once: it has nothing to do with a", len(s))
	}
	if rows := parkedOf(t, b, "a"); !slices.Equal(rows, []string{"1 on_added", "2"}) {
		t.Errorf("parked: %q", rows)
	}
	list, _ := Consumer{b.cs.all[0]}.Parked(t.Context(), tallyTarget("a"), wow.Position{}, 10)
	first := list[0]
	if first.Attempts != 1 || !strings.Contains(first.Error, "13 is not a number here") || string(first.Commit.Events[0].Data) != `{"N":13}` {
		t.Errorf("the parked message does not say what happened: %+v", first)
	}
	if at := b.consumer(p.Name).feeds[0].mark().checkpoint(); at != 3 {
		t.Errorf("the checkpoint is %d, want 3: parked is finished", at)
	}
}

func TestAPoisonMessageIsTriedAgainThenParkedAndBlocksNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		var broken atomic.Bool
		broken.Store(true)
		p := fragile(&got, &broken, Retry{Max: 4, Backoff: 100 * time.Millisecond})
		b := started(t, memoryStore(t), only(p))
		begin := time.Now()
		b.append("a", tallyRemoved{1})
		for range 50 {
			b.append("b", tallyAdded{1})
		}
		time.Sleep(20 * time.Millisecond) // the first retry comes after 50 ms at the earliest
		synctest.Wait()
		if n := len(got.of("b")); n != 50 {
			t.Errorf("while a is tried again, %d messages of b were handled, want 50", n)
		}
		if at := b.consumer(p.Name).feeds[0].mark().checkpoint(); at != 0 {
			t.Errorf("the checkpoint is %d: it passed an unfinished commit", at)
		}
		b.settled(p.Name)
		// 0.1 + 0.2 + 0.4 + 0.8 s, each between half and all of it.
		if took := time.Since(begin); took < 750*time.Millisecond || took > 1600*time.Millisecond {
			t.Errorf("parked after %v, want 0.75 to 1.5 s of back-off", took)
		}
		list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
		if err != nil || len(list) != 1 || list[0].Attempts != 5 || list[0].Error != errBroken.Error() {
			t.Errorf("parked: %+v %v, want one with 5 attempts and the cause", list, err)
		}
		b.stop()
	})
}

func TestRetryRunsParkedMessagesInOrderBeforeTheNextLiveOne(t *testing.T) {
	var got seen
	var broken atomic.Bool
	broken.Store(true)
	p := fragile(&got, &broken, Retry{Max: -1})
	b := started(t, memoryStore(t), only(p))
	b.append("a", tallyAdded{1})
	b.append("a", tallyRemoved{1})
	b.append("a", tallyAdded{2})
	b.append("a", tallyAdded{3})
	b.settled(p.Name)
	c, err := Consumer{b.cs.all[0]}, error(nil)
	if err = c.Retry(t.Context(), tallyTarget("a")); !errors.Is(err, errBroken) {
		t.Fatalf("a retry that fails: %v, want %v", err, errBroken)
	}
	if rows := parkedOf(t, b, "a"); !slices.Equal(rows, []string{"2 on_removed", "3", "4"}) {
		t.Fatalf("parked after a retry that failed: %q", rows)
	}
	broken.Store(false)
	if err = c.Retry(t.Context(), tallyTarget("a")); err != nil {
		t.Fatal(err)
	}
	b.append("a", tallyAdded{4})
	b.settled(p.Name)
	want := []string{"1 runtime.tallyAdded", "2 runtime.tallyRemoved", "3 runtime.tallyAdded", "4 runtime.tallyAdded", "5 runtime.tallyAdded"}
	if s := got.of("a"); !slices.Equal(s, want) {
		t.Errorf("seen %q, want %q", s, want)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Parked != 0 || st.Lag != 0 {
		t.Errorf("status %+v %v, want nothing parked and no lag", st, err)
	}
}

// forgetful is a store that does not forget parked messages while stuck is set.
type forgetful struct {
	store.Store
	stuck atomic.Bool
}

func (f *forgetful) Unpark(ctx context.Context, consumer, function string, at wow.Position, c *store.Checkpoint) error {
	if f.stuck.Load() {
		return errors.New("disk full")
	}
	return f.Store.Unpark(ctx, consumer, function, at, c)
}

// TestAMessageThatCannotBeRemovedHoldsThoseBehindIt has a retry that works, but
// is not remembered: the message will come again, so those behind it must wait.
func TestAMessageThatCannotBeRemovedHoldsThoseBehindIt(t *testing.T) {
	var got seen
	var broken atomic.Bool
	broken.Store(true)
	p := fragile(&got, &broken, Retry{Max: -1})
	s := &forgetful{Store: memoryStore(t)}
	b := started(t, s, only(p))
	b.append("a", tallyRemoved{1})
	b.append("a", tallyAdded{1})
	b.settled(p.Name)
	broken.Store(false)
	s.stuck.Store(true)
	c := Consumer{b.cs.all[0]}
	if err := c.Retry(t.Context(), tallyTarget("a")); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("a retry that cannot be remembered: %v", err)
	}
	s.stuck.Store(false)
	if err := c.Retry(t.Context(), tallyTarget("a")); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 runtime.tallyRemoved", "1 runtime.tallyRemoved", "2 runtime.tallyAdded"}
	if s := got.of("a"); !slices.Equal(s, want) {
		t.Errorf("seen %q, want %q", s, want)
	}
}

func TestSkipForgetsAMessageAndKeepsThoseBehind(t *testing.T) {
	var got seen
	var broken atomic.Bool
	broken.Store(true)
	p := fragile(&got, &broken, Retry{Max: -1})
	b := started(t, memoryStore(t), only(p))
	bad := b.append("a", tallyRemoved{1})
	b.append("a", tallyAdded{2})
	b.settled(p.Name)
	c := Consumer{b.cs.all[0]}
	if err := c.Skip(t.Context(), tallyTarget("a"), wow.Position{Seq: 77}); err == nil {
		t.Error("skipping what is not parked is no error")
	}
	if err := c.Skip(t.Context(), tallyTarget("a"), bad.Position); err != nil {
		t.Fatal(err)
	}
	if rows := parkedOf(t, b, "a"); !slices.Equal(rows, []string{"2"}) {
		t.Errorf("parked after skipping the first: %q", rows)
	}
	if err := c.Retry(t.Context(), tallyTarget("a")); err != nil {
		t.Fatal(err)
	}
	if s := got.of("a"); !slices.Equal(s, []string{"2 runtime.tallyAdded"}) {
		t.Errorf("seen %q", s)
	}
}

func TestWeakerOrdersLetOthersPass(t *testing.T) {
	for order, want := range map[Order]struct{ seen, parked []string }{
		OrderFunction: {[]string{"2 runtime.tallyAdded", "4 runtime.tallyAdded"}, []string{"1 on_removed", "3 on_removed"}},
		OrderSkip:     {[]string{"2 runtime.tallyAdded", "3 runtime.tallyRemoved", "4 runtime.tallyAdded"}, []string{"1 on_removed"}},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var got seen
			var broken atomic.Bool
			broken.Store(true)
			p := fragile(&got, &broken, Retry{Max: -1, Order: order})
			b := started(t, memoryStore(t), only(p))
			b.append("a", tallyRemoved{1})
			b.settled(p.Name)
			broken.Store(false)
			b.append("a", tallyAdded{1})
			b.append("a", tallyRemoved{1})
			b.append("a", tallyAdded{1})
			b.settled(p.Name)
			if s := got.of("a"); !slices.Equal(s, want.seen) {
				t.Errorf("seen %q, want %q", s, want.seen)
			}
			if rows := parkedOf(t, b, "a"); !slices.Equal(rows, want.parked) {
				t.Errorf("parked %q, want %q", rows, want.parked)
			}
			if err := (Consumer{b.cs.all[0]}).Retry(t.Context(), tallyTarget("a")); err != nil {
				t.Fatal(err)
			}
			if rows := parkedOf(t, b, "a"); len(rows) != 0 {
				t.Errorf("parked after a retry: %q", rows)
			}
		})
	}
}

func TestAnUndecodableEventIsParkedWithItsBytes(t *testing.T) {
	var got seen
	p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error { got.note(in.Target.ID, "x"); return nil })
	b := newBench(t, memoryStore(t), only(p))
	c := b.commit("a", tallyAdded{1})
	c.Events[0].Data = []byte(`{"N":"many`)
	b.add(c)
	b.append("b", tallyAdded{1})
	b.start()
	b.settled(p.Name)
	list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
	if err != nil || len(list) != 1 || list[0].Attempts != 1 || string(list[0].Commit.Events[0].Data) != `{"N":"many` {
		t.Fatalf("parked %+v %v, want the one that cannot be decoded, at once", list, err)
	}
	if len(got.of("b")) != 1 {
		t.Error("b was not handled")
	}
}

func TestAPanicIsAFailedAttemptAndGoexitParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got seen
		var calls atomic.Int64
		p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
			switch e := in.Event.(tallyAdded); {
			case e.N == 1 && calls.Add(1) < 3:
				panic("boom")
			case e.N == 2:
				goexit()
			}
			got.note(in.Target.ID, "x")
			return nil
		})
		b := started(t, memoryStore(t), only(p))
		b.append("a", tallyAdded{1})
		b.append("b", tallyAdded{2})
		b.append("b", tallyAdded{3})
		b.append("c", tallyAdded{3})
		b.settled(p.Name)
		if len(got.of("a")) != 1 || calls.Load() != 3 {
			t.Errorf("a was handled %d times in %d calls, want once in 3", len(got.of("a")), calls.Load())
		}
		if rows := parkedOf(t, b, "b"); !slices.Equal(rows, []string{"2 on_added", "3"}) {
			t.Errorf("parked of b: %q", rows)
		}
		if len(got.of("c")) != 1 {
			t.Error("c was not handled")
		}
		b.stop()
	})
}

func TestParkedMessagesBlockTheirAggregateAfterARestartToo(t *testing.T) {
	s := memoryStore(t)
	var got seen
	var broken atomic.Bool
	broken.Store(true)
	p := fragile(&got, &broken, Retry{Max: -1})
	b := started(t, s, only(p))
	b.append("a", tallyRemoved{1})
	b.settled(p.Name)
	b.stop()

	broken.Store(false)
	b = started(t, s, only(p))
	b.append("a", tallyAdded{1})
	b.settled(p.Name)
	if s := got.of("a"); len(s) != 0 {
		t.Errorf("seen %q: a later message overtook a parked one", s)
	}
	if err := (Consumer{b.cs.all[0]}).Retry(t.Context(), tallyTarget("a")); err != nil {
		t.Fatal(err)
	}
	if s := got.of("a"); !slices.Equal(s, []string{"1 runtime.tallyRemoved", "2 runtime.tallyAdded"}) {
		t.Errorf("seen %q", s)
	}
}

func TestTooManyParkedMessagesPauseTheConsumer(t *testing.T) {
	var got seen
	var broken atomic.Bool
	broken.Store(true)
	p := fragile(&got, &broken, Retry{Max: -1})
	b := newBench(t, memoryStore(t), only(p))
	const limit = 200 // in place of parkedMax
	b.cs.all[0].blocks.limit = limit
	last := int64(limit + markWindow + 100)
	for i := range last {
		b.append(fmt.Sprint(i/200), tallyRemoved{1})
	}
	b.start()
	c := Consumer{b.cs.all[0]}
	told := make(chan error, 1)
	b.cs.all[0].feeds[0].mark().watch(limit, told)
	<-told
	waitIdle(t, b.cs.all[0])
	st, err := c.Status(t.Context())
	if err != nil || !strings.Contains(st.Unhealthy, "the limit is 200: retry or skip them") || st.Paused {
		t.Fatalf("status %+v %v", st, err)
	}
	if st.Parked < limit || st.Parked > limit+markWindow {
		t.Errorf("%d are parked, want %d and at most a window more", st.Parked, limit)
	}
	broken.Store(false)
	for i := range (last + 199) / 200 {
		if err := c.Retry(t.Context(), tallyTarget(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	b.settled(p.Name)
	if st, err = c.Status(t.Context()); err != nil || st.Parked != 0 || st.Unhealthy != "" || st.Lag != 0 {
		t.Errorf("after all was retried: %+v %v", st, err)
	}
}
