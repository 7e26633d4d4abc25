package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// A: one delayed command that hangs holds up all of its saga.
func TestADelayedCommandThatHangsHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		b := sagaBench(t, p, reminding(false))
		gate := make(chan struct{})
		inner := b.cs.all[0].saga.send
		b.cs.all[0].saga.send = func(ctx context.Context, cmd wow.Sendable, request string) error {
			if cmd.(tallySet).ID == "a" {
				select { // as over a bus whose receiver is away: up to 6 minutes
				case <-gate:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return inner(ctx, cmd, request)
		}
		b.append("a", tallyAdded{1})
		time.Sleep(time.Minute)
		b.append("b", tallyAdded{2})
		time.Sleep(3 * time.Hour)
		got := p.sent()
		close(gate)
		require.Contains(t, got, "b 2", "due 2 hours ago")
	})
}

// B: a panic outside of OnRefused (Decode, middleware) is not put off, and loops.
func TestDelayedCommandsThatPanicArePutOff(t *testing.T) {
	p := &post{}
	p.fail = func(c tallySet) error {
		if c.N == 666 && c.ID != "now" {
			panic("middleware or decoder")
		}
		return nil
	}
	b := sagaBench(t, p, soon())
	for i := range timerPage {
		b.append(fmt.Sprint("p", i), tallyAdded{666})
	}
	b.append("good", tallyAdded{2})
	time.Sleep(3 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Less(t, p.sends, 500)
	require.Contains(t, p.effects, "good 2")
}

func soon() Saga {
	s := reminding(false)
	s.OnEvent = func(_ context.Context, in *Recorded, out *Outbox) error {
		out.Send(wow.Later("remind "+in.Target.ID, time.Second, tallySet{in.Target.ID, in.Event.(tallyAdded).N}))
		return nil
	}
	return s
}

// B2: a store that takes no writes for a while.
type noTimers struct {
	store.Store
	down atomic.Bool
}

func (s *noTimers) SetTimers(ctx context.Context, all []store.Timer) error {
	if s.down.Load() {
		return errors.New("disk full")
	}
	return s.Store.SetTimers(ctx, all)
}

func TestDelayedCommandsPauseWhileTheStoreFails(t *testing.T) {
	p, s := &post{}, &noTimers{Store: memoryStore(t)}
	b := sagaOn(t, s, p, soon())
	b.append("a", tallyAdded{2})
	b.settled("test.saga.s")
	s.down.Store(true)
	time.Sleep(4 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Less(t, p.sends, 100)
}

// C: the refusal method moves or takes back another delay.
func TestTheRefusalOfADelayMayReplaceAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{decide: func(c tallySet) error {
			if c.ID == "x" {
				return wow.Refuse("no", "no")
			}
			return nil
		}}
		s := Saga{
			Name:      "test.saga.s",
			Functions: []Function{{Name: "on_added", Event: &tallyAddedType}, {Name: "on_set_refused", Refused: &tallySetType}},
			OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
				out.Send(wow.Later("x", time.Hour, tallySet{"x", 1}), wow.Later("y", 9*time.Hour, tallySet{"y", 1}))
				return nil
			},
			OnRefused: func(_ context.Context, in *RefusedCommand, out *Outbox) error {
				out.Send(wow.Later("y", 2*time.Hour, tallySet{"sooner", 1}))
				return nil
			},
		}
		b := sagaBench(t, p, s)
		b.append("a", tallyAdded{1})
		time.Sleep(3 * time.Hour)
		require.Equal(t, []string{"sooner 1"}, p.sent())
	})
}

// E: what was taken back comes again when the commit that sets it was parked.
func TestWhatWasTakenBackIsNotSetByARetry(t *testing.T) {
	for _, parked := range []bool{false, true} {
		t.Run(fmt.Sprint("parked=", parked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &post{}
				var broken atomic.Bool
				broken.Store(true)
				s := Saga{
					Name:      "test.saga.s",
					Functions: []Function{{Name: "on_added", Event: &tallyAddedType, Retry: Retry{Max: 3, Backoff: time.Second}}, {Name: "on_removed", Event: &tallyRemovedType}},
					OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
						switch in.Event.(type) {
						case tallyAdded: // the order was placed
							if broken.Load() {
								return errors.New("a bug")
							}
							out.Send(wow.Later("pay 1", time.Hour, tallySet{"release", 1}))
						case tallyRemoved: // the payment came
							out.Send(wow.Cancel(map[string]string{"payment": "pay 1", "other": "pay 2"}[in.Target.ID]))
						}
						return nil
					},
				}
				b := sagaBench(t, p, s)
				b.append("order", tallyAdded{1})
				b.append("payment", tallyRemoved{1})
				if parked {
					time.Sleep(10 * time.Second)
				} else {
					time.Sleep(time.Second) // the order is still being tried
				}
				broken.Store(false)
				time.Sleep(10 * time.Second)
				b.append("other", tallyRemoved{1})
				time.Sleep(time.Second)
				if parked {
					require.NoError(t, Consumer{b.cs.all[0]}.Retry(t.Context(), tallyTarget("order")))
				}
				time.Sleep(2 * time.Hour)
				require.Empty(t, p.sent(), "the order was paid")
			})
		})
	}
}

// F: after a downtime a delay fires that the history took back before it was due.
func TestWhatWasTakenBackDuringADowntimeIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		p := &post{}
		first := sagaOn(t, s, p, reminding(false))
		first.append("a", tallyAdded{1})
		first.settled("test.saga.s")
		first.stop()
		writer := newBench(t, s, Handlers{}) // another process decides commands meanwhile
		for i := range 3000 {
			writer.append(fmt.Sprint("noise", i), tallyRemoved{0})
		}
		time.Sleep(10 * time.Minute)
		writer.append("a", tallyRemoved{0}) // taken back 50 minutes before it is due
		time.Sleep(2 * time.Hour)
		again := sagaOn(t, s, p, reminding(false))
		again.settled("test.saga.s")
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"now 1"}, p.sent(), "it was taken back long before it was due")
		again.stop()
	})
}
