package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// watching is a processor of the tally's states.
func watching(st *wow.StateType, f func(ctx context.Context, in *StateRecorded, out *Reaction) error) Processor {
	return Processor{Name: "test.processor.w", Functions: []Function{{Name: "on_tally", State: st, Retry: Retry{Max: -1}}}, OnState: f}
}

func TestAStateEventShowsTheStateAfterItsCommit(t *testing.T) {
	var got seen
	p := watching(tallyState(0), func(_ context.Context, in *StateRecorded, _ *Reaction) error {
		s := in.State.(*tally)
		got.note(in.Target.ID, fmt.Sprintf("v%d sum %d after %d events, this commit %v", in.Version, s.Sum, len(s.Seen), in.Events))
		s.Sum, s.Seen = -1000, nil // it is the handler's own
		return nil
	})
	b := started(t, memoryStore(t), Handlers{Processors: []Processor{p}})
	b.append("a", tallyAdded{5})
	b.append("b", tallyAdded{1})
	b.append("a", tallyAdded{5}, tallyRemoved{2})
	b.append("a", tallyLabel{"x"})
	b.settled(p.Name)
	require.Equal(t, []string{
		"v1 sum 5 after 1 events, this commit [{5}]",
		"v2 sum 8 after 3 events, this commit [{5} {2}]",
		"v3 sum 8 after 4 events, this commit [{x}]",
	}, got.of("a"))
	require.Equal(t, []string{"v1 sum 1 after 1 events, this commit [{1}]"}, got.of("b"))
}

// TestAStateIsRightWhereverTheConsumerBegins drops the kept states, comes back
// to old commits by a retry, and begins behind a checkpoint.
func TestAStateIsRightWhereverTheConsumerBegins(t *testing.T) {
	s := memoryStore(t)
	var got seen
	broken := true
	st := tallyState(10)
	p := watching(st, func(_ context.Context, in *StateRecorded, _ *Reaction) error {
		if broken && in.Target.ID == "a" && in.Version == 7 {
			return errBroken
		}
		got.note(in.Target.ID, fmt.Sprint(in.State.(*tally).Sum))
		return nil
	})
	b := newBench(t, s, Handlers{Processors: []Processor{p}})
	b.cs.all[0].states.size = 2 // so that other aggregates push a's state out
	b.start()
	for v := range 30 {
		b.append("a", tallyAdded{1})
		for other := range 3 {
			b.append(fmt.Sprint(other), tallyAdded{v})
		}
	}
	b.settled(p.Name)
	want := []string{"1", "2", "3", "4", "5", "6"}
	require.Equal(t, want, got.of("a"))
	b.stop()

	// A snapshot that does not decode, one of another revision, and a good one.
	for _, sn := range []store.Snapshot{
		{Revision: "1", Version: 15, Data: []byte(`{"Sum":15}`)},
		{Revision: "1", Version: 20, Data: []byte(`{`)},
		{Revision: "2", Version: 25, Data: []byte(`{"Sum":-1}`)},
	} {
		sn.Target, sn.Commit, sn.Codec = tallyTarget("a"), "c", store.JSON
		require.NoError(t, s.SaveSnapshot(t.Context(), &sn))
	}
	broken = false
	b = started(t, s, Handlers{Processors: []Processor{p}})
	require.NoError(t, Consumer{b.cs.all[0]}.Retry(t.Context(), tallyTarget("a")))
	b.append("a", tallyAdded{1})
	b.settled(p.Name)
	for v := 7; v <= 31; v++ {
		want = append(want, fmt.Sprint(v))
	}
	require.Equal(t, want, got.of("a"))
	require.LessOrEqual(t, b.cs.all[0].states.used.Len(), statesKept)
}

func TestARetrySeesTheSameStateAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sums []int
		p := watching(tallyState(0), func(_ context.Context, in *StateRecorded, _ *Reaction) error {
			sums = append(sums, in.State.(*tally).Sum)
			if len(sums)%3 != 0 {
				return errBroken
			}
			return nil
		})
		p.Functions[0].Retry.Max = 5
		b := started(t, memoryStore(t), Handlers{Processors: []Processor{p}})
		b.append("a", tallyAdded{5})
		b.append("a", tallyAdded{2})
		b.settled(p.Name)
		require.Equal(t, []int{5, 5, 5, 7, 7, 7}, sums)
		b.stop()
	})
}

// TestAnUnknownTypeIsTriedForAWhileBeforeItIsParked has a newer program write
// what this one does not know: an event to a state, a revision to a function.
func TestAnUnknownTypeIsTriedForAWhileBeforeItIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := tallyState(0)
		st.Events = st.Events[:2]
		states := watching(st, func(context.Context, *StateRecorded, *Reaction) error { return nil })
		events := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
		b := started(t, memoryStore(t), Handlers{Projections: []Projection{events}, Processors: []Processor{states}})
		b.append("a", tallyLabel{"x"})
		newer := b.commit("b", tallyAdded{1})
		newer.Events[0].Revision = 2
		b.add(newer)
		time.Sleep(unknownTypeGrace - time.Second)
		for _, c := range b.cs.all {
			require.Zero(t, c.blocks.count.Load(), "parked too early")
		}
		time.Sleep(5 * time.Second)
		for name, want := range map[string]string{
			states.Name: `is a "label", which the state of test.tally does not know: unknown type`,
			events.Name: `"added" revision 2: `,
		} {
			b.settled(name)
			list, err := Consumer{b.consumer(name)}.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
			require.NoError(t, err)
			require.NotEmpty(t, list)
			require.Contains(t, list[0].Error, want)
		}
		b.stop()
	})
}

func TestSnapshotsAreWrittenForwardEveryNVersionsPerRevision(t *testing.T) {
	s := memoryStore(t)
	old, now := tallyState(10), tallyState(5)
	old.Revision = "0"
	b := started(t, s, Handlers{Aggregates: []Aggregate{{State: now}}})
	require.Equal(t, "test.snapshot.tally", b.cs.all[0].name)
	for range 23 {
		b.append("a", tallyAdded{1}, tallyAdded{1})
	}
	b.settled("test.snapshot.tally")
	sn, err := s.Snapshot(t.Context(), tallyTarget("a"), "1", 0)
	require.NoError(t, err)
	require.EqualValues(t, 20, sn.Version)
	state, err := decodeState(now, sn.Codec, sn.Data)
	require.NoError(t, err)
	require.Equal(t, 40, state.(*tally).Sum)
	require.Len(t, state.(*tally).Seen, 40, "snapshot and the events after it are the whole history, each once")

	// The same commits again do not replace a newer snapshot.
	require.NoError(t, s.SaveSnapshot(t.Context(), &store.Snapshot{Target: sn.Target, Revision: "1", Version: 21, Commit: "c", Codec: store.JSON, Data: []byte(`{}`)}))
	b2 := newBench(t, s, Handlers{Aggregates: []Aggregate{{State: now}}})
	require.NoError(t, b2.cs.open(t.Context()))
	b2.cs.all[0].feeds[0].mark().start(0)
	b2.cs.all[0].feeds[0].taken = 0
	require.NoError(t, b2.cs.start(t.Context()))
	b2.settled("test.snapshot.tally")
	sn, err = s.Snapshot(t.Context(), tallyTarget("a"), "1", 0)
	require.NoError(t, err)
	require.EqualValues(t, 21, sn.Version)
	sn, err = s.Snapshot(t.Context(), tallyTarget("a"), old.Revision, 0)
	require.NoError(t, err)
	require.Nil(t, sn)
}

func TestAStateThatCannotBeWrittenIsSkippedNotParked(t *testing.T) {
	st := tallyState(5)
	apply := st.Apply
	st.Apply = func(s wow.State, e wow.DomainEvent, m *wow.EventMeta) bool {
		if m.Version == 4 {
			panic(errors.New("boom"))
		}
		return apply(s, e, m)
	}
	s := memoryStore(t)
	b := newBench(t, s, Handlers{Aggregates: []Aggregate{{State: st}}})
	b.cs.all[0].table.byName["save"].tries = 0
	b.start()
	for range 12 {
		b.append("a", tallyAdded{1})
		b.append("b", tallyLabel{"x"})
	}
	b.settled("test.snapshot.tally")
	list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
	require.NoError(t, err)
	require.Empty(t, list, "a snapshot only saves time: nothing waits for one that fails")
}

func TestFoldingFollowsTheEventsMetadata(t *testing.T) {
	s := memoryStore(t)
	var ids []string
	p := watching(tallyState(0), func(_ context.Context, in *StateRecorded, _ *Reaction) error {
		ids = in.State.(*tally).Seen
		return nil
	})
	b := started(t, s, Handlers{Processors: []Processor{p}})
	c := b.append("a", tallyAdded{1}, tallyAdded{2})
	b.settled(p.Name)
	require.True(t, slices.Equal(ids, []string{c.ID + "/0", c.ID + "/1"}), ids)
}
