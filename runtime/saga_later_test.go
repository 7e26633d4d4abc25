package runtime

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// reminding is a saga that answers an added with a command an hour later, and
// takes it back when something is removed.
func reminding(refused bool) Saga {
	s := Saga{
		Name: "test.saga.s",
		Functions: []Function{
			{Name: "on_added", Event: &tallyAddedType, Retry: Retry{Max: 1}},
			{Name: "on_removed", Event: &tallyRemovedType, Retry: Retry{Max: 1}},
		},
		OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			switch e := in.Event.(type) {
			case tallyAdded:
				out.Send(tallySet{"now", e.N}, wow.Later("remind "+in.Target.ID, time.Hour, tallySet{in.Target.ID, e.N}))
			case tallyRemoved:
				if e.N == 13 {
					panic("no")
				}
				out.Send(wow.Cancel("remind " + in.Target.ID))
			}
			return nil
		},
	}
	if refused {
		s.Functions = append(s.Functions, Function{Name: "on_set_refused", Refused: &tallySetType})
		s.OnRefused = func(_ context.Context, in *RefusedCommand, out *Outbox) error {
			out.Send(tallySet{"z", in.Body.(tallySet).N}, wow.Later("remind "+in.Cause.Target.ID, 3*time.Hour, tallySet{"again", in.Body.(tallySet).N}))
			return nil
		}
	}
	return s
}

func (p *post) sent() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

func delaysLeft(t *testing.T, s store.Store) int {
	all, err := s.Timers(t.Context(), "test.saga.s", math.MaxInt64, 100)
	require.NoError(t, err)
	return len(all)
}

func TestADelayedCommandIsSentWhenItIsDueAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		b.append("a", tallyAdded{1})
		b.settled("test.saga.s")
		require.Equal(t, []string{"now 1"}, p.sent())
		time.Sleep(time.Hour - time.Second)
		require.Equal(t, []string{"now 1"}, p.sent(), "a second too early")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"now 1", "a 1"}, p.sent())
		time.Sleep(24 * time.Hour)
		require.Equal(t, []string{"now 1", "a 1"}, p.sent())
		require.Equal(t, 2, p.sends)
		require.Zero(t, delaysLeft(t, b.store))
	})
}

func TestADelayedCommandCanBeTakenBackAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		b.append("a", tallyAdded{1})
		b.append("b", tallyAdded{2})
		b.append("c", tallyAdded{3})
		time.Sleep(30 * time.Minute)
		b.append("b", tallyRemoved{0})
		b.append("c", tallyAdded{4}) // counts from now
		time.Sleep(31 * time.Minute)
		require.Equal(t, []string{"now 1", "now 2", "now 3", "now 4", "a 1"}, sortedBut(p.sent(), 4))
		time.Sleep(30 * time.Minute)
		require.Equal(t, "c 4", p.sent()[5])
		require.Len(t, p.sent(), 6)
	})
}

// sortedBut sorts the first n.
func sortedBut(s []string, n int) []string {
	slices.Sort(s[:min(n, len(s))])
	return s
}

// A process that ends loses no delayed command, and one that begins again before
// its checkpoint sets none that was taken back.
func TestDelayedCommandsOutliveTheProcessAndARepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		p := &post{}
		first := sagaOn(t, s, p, reminding(false))
		first.append("a", tallyAdded{1})
		first.append("b", tallyAdded{2})
		first.append("b", tallyRemoved{0})
		first.settled("test.saga.s")
		versions := first.versions
		first.stop()

		again := sagaOn(t, unmarked{s}, p, reminding(false)) // begins at the beginning
		again.versions = versions
		again.settled("test.saga.s")
		require.Len(t, p.sent(), 2, "what was sent is not done again")
		require.Equal(t, 1, delaysLeft(t, s))
		time.Sleep(2 * time.Hour)
		require.Equal(t, "a 1", p.sent()[2])
		require.Len(t, p.sent(), 3)
		again.stop()

		third := sagaOn(t, unmarked{s}, p, reminding(false)) // sets what was sent long ago
		third.settled("test.saga.s")
		time.Sleep(2 * time.Hour)
		require.Len(t, p.sent(), 3)
		third.stop()
	})
}

// unmarked is a store that lost its checkpoints, as after a crash.
type unmarked struct{ store.Store }

func (unmarked) Checkpoint(_ context.Context, consumer string, shard int32, segment int) (store.Checkpoint, error) {
	return store.Checkpoint{Consumer: consumer, Segment: segment, Position: wow.Position{Shard: shard}}, nil
}

func (unmarked) SaveCheckpoint(context.Context, store.Checkpoint) error { return nil }

func sagaOn(t *testing.T, s store.Store, p *post, sg Saga) *bench {
	b := newBench(t, s, Handlers{})
	b.env.send = p.send
	require.NoError(t, b.cs.build(Handlers{Sagas: []Saga{sg}}))
	b.start()
	return b
}

func TestADelayedCommandThatFailsIsTriedAgainUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		p.fail = func(c tallySet) error {
			if c.ID == "a" && p.sends < 22 {
				return wow.ErrUnknownOutcome
			}
			return nil
		}
		b := sagaBench(t, p, reminding(false))
		b.append("a", tallyAdded{1})
		b.append("b", tallyAdded{2})
		time.Sleep(61 * time.Minute)
		require.Contains(t, p.sent(), "b 2", "one that fails holds nobody up")
		require.NotContains(t, p.sent(), "a 1")
		time.Sleep(3 * time.Hour)
		require.Contains(t, p.sent(), "a 1")
		require.Equal(t, 22, p.sends, "tried at most 5 minutes apart")
		require.Zero(t, delaysLeft(t, b.store))
	})
}

func TestARefusalOfADelayedCommandGoesToItsMethodOrIsAnEnd(t *testing.T) {
	for name, has := range map[string]bool{"a method": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &post{decide: func(c tallySet) error {
					if c.ID == "a" {
						return wow.Refuse("late", "too late")
					}
					return nil
				}}
				b := sagaBench(t, p, reminding(has))
				b.append("a", tallyAdded{1})
				time.Sleep(61 * time.Minute)
				if !has {
					require.Equal(t, []string{"now 1"}, p.sent())
					require.Zero(t, delaysLeft(t, b.store))
					return
				}
				require.Equal(t, []string{"now 1", "z 1"}, p.sent())
				time.Sleep(3 * time.Hour)
				require.Equal(t, []string{"now 1", "z 1", "again 1"}, p.sent(), "what answers it may delay again, under the same name")
			})
		})
	}
}

// What is parked may take a delay back, so the delay waits for it.
func TestADelayedCommandWaitsForWhatIsParkedOfItsAggregate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		b.append("a", tallyAdded{1})
		b.append("a", tallyRemoved{13}) // parks
		b.append("a", tallyRemoved{0})
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"now 1"}, p.sent())
		c := Consumer{b.cs.all[0]}
		list, err := c.Parked(t.Context(), tallyTarget("a"), wow.Position{}, 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.NoError(t, c.Skip(t.Context(), tallyTarget("a"), list[0].Commit.Position))
		require.NoError(t, c.Retry(t.Context(), tallyTarget("a")))
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"now 1"}, p.sent(), "it was taken back")
		require.Zero(t, delaysLeft(t, b.store))
	})
}

// More than a page of delays, all due at once, and one that is no JSON.
func TestManyDelayedCommandsAreSentAndABrokenOneStopsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		require.NoError(t, b.store.SetTimers(t.Context(), []store.Timer{{Consumer: "test.saga.s", Name: "broken", Position: wow.Position{Seq: 1}, Due: 1, Data: []byte("{")}}))
		for i := range 3 * timerPage {
			b.append(fmt.Sprint("k", i), tallyAdded{i})
		}
		time.Sleep(61 * time.Minute)
		require.Len(t, p.sent(), 6*timerPage)
		require.Equal(t, 1, delaysLeft(t, b.store))
	})
}

func TestADelayIsNotSentByHand(t *testing.T) {
	r := New(Config{})
	r.AddAggregate(accounts())
	require.NoError(t, r.Start(t.Context()))
	_, err := r.Gateway().Send(t.Context(), wow.Later("x", time.Hour, Deposit{ID: "a"}))
	require.ErrorIs(t, err, wow.ErrInvalid)
	_, err = r.Gateway().Send(t.Context(), wow.Cancel("x"))
	require.ErrorIs(t, err, wow.ErrInvalid)
	require.NoError(t, r.Stop(t.Context()))
}
