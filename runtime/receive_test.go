package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/store"
)

// publishCommand is what a program of another language would do.
func publishCommand(t *testing.T, b bus.Bus, id, name, request, body string) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), bus.Record{Topic: "bank.account", Key: "|bank.account|" + id, Value: []byte(body),
		Headers: map[string]string{headCommand: name, headID: id, headRequest: request}}))
}

// setAside counts what is set aside: keys, records without a place, bytes.
func (rc *receiver) setAside() [3]int {
	rc.aside.mu.Lock()
	defer rc.aside.mu.Unlock()
	return [3]int{len(rc.aside.keys), rc.aside.many, rc.aside.bytes}
}

// choosy is a store that does not take one request, for a while.
type choosy struct {
	store.Store
	not  string
	down atomic.Bool
}

func (*choosy) Sole() bool { return false }

func (p *choosy) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	results := make([]store.Result, len(entries))
	for i, e := range entries {
		if e.Request == p.not && p.down.Load() {
			results[i].Err = errors.New("not this one")
			continue
		}
		results[i] = p.Store.Append(ctx, entries[i:i+1])[0]
	}
	return results
}

// More aggregates than the window has places get a command that this version
// does not know, and others behind it: nobody else waits for them, and each
// aggregate gets its commands in order in the end.
func TestCommandsThatFailStopNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const aggregates, behind = 600, 9 // in all more than may be set aside
		b, s := new(bus.Local), &choosy{Store: memoryStore(t), not: "d0"}
		s.down.Store(true)
		r := overBus(t, s, b, true)
		for i := range aggregates {
			id := fmt.Sprint("u", i)
			publishCommand(t, b, id, "from_the_future", "r", "")
			if i < 100 {
				for n := range behind {
					publishCommand(t, b, id, "deposit", fmt.Sprint("d", n), fmt.Sprintf(`{"Amount":%d}`, n+1))
				}
			}
		}
		time.Sleep(time.Second)
		begun := time.Now()
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "b", Amount: 1})
		require.NoError(t, err)
		require.Zero(t, time.Since(begun))
		time.Sleep(unknownTypeGrace + 10*time.Second) // the first is parked, the second fails
		s.down.Store(false)
		time.Sleep(10 * time.Second)
		for i := range 100 {
			history, err := s.Stream(t.Context(), accountTarget(fmt.Sprint("u", i)), 0, 100)
			require.NoError(t, err)
			for n, c := range history {
				require.Equal(t, fmt.Sprint("d", n), c.Request)
			}
			require.Len(t, history, behind)
		}
		parked := 0
		for parked < aggregates {
			parked += len(fetchAll(t, b, "bank.account.parked"))
		}
		rc := r.receivers.all[0]
		require.Zero(t, rc.open.Load())
		require.Zero(t, rc.setAside())
	})
}

// What is set aside beyond the bounds keeps its place in the window.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := overBus(t, memoryStore(t), b, true)
		rc := r.receivers.all[0]
		large, small := asideBytes>>19, 10
		for i := range large + small {
			publishCommand(t, b, fmt.Sprint("u", i), "from_the_future", "r", strings.Repeat("x", 1<<19))
		}
		time.Sleep(2 * time.Second)
		placed := rc.open.Load()
		require.GreaterOrEqual(t, placed, int64(small))
		keys, many, bytes := rc.setAside()[0], rc.setAside()[1], rc.setAside()[2]
		require.Equal(t, large+small, keys)
		require.EqualValues(t, large+small, many+int(placed))
		require.Less(t, bytes, asideBytes)
		time.Sleep(unknownTypeGrace + time.Minute)
		require.Zero(t, rc.open.Load(), "each place was given back")
		require.Zero(t, rc.setAside())

		for i := range asideMost + r.cfg.Dispatch.MaxInFlight {
			publishCommand(t, b, fmt.Sprint("v", i), "from_the_future", "r", "")
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, asideMost, rc.setAside()[1])
		require.EqualValues(t, r.cfg.Dispatch.MaxInFlight, rc.open.Load())
	})
}

// In a rolling upgrade the version that does not know a command lets go of it
// when another process gets its partition, and does not park it.
func TestACommandThatMovesOnIsNotParkedHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const commands = 100
		var taken atomic.Int64
		b, s := &bus.Local{Drain: time.Second}, memoryStore(t)
		future := &wow.CommandType{Aggregate: "bank.account", Name: "from_the_future",
			Decode: func(_ wow.Unmarshal, key string, _ []byte) (wow.Sendable, error) {
				taken.Add(1)
				return Deposit{ID: key, Amount: 1}, nil
			}}
		overBus(t, s, b, true)
		for i := range commands {
			publishCommand(t, b, fmt.Sprint("u", i), "from_the_future", "r", "")
		}
		time.Sleep(time.Minute)
		overBus(t, s, b, false, func(r *Runtime) {
			a := accounts()
			a.Commands = append(a.Commands, CommandHandler{Command: future})
			r.AddAggregate(a)
		})
		time.Sleep(2 * unknownTypeGrace)
		moved := int(taken.Load())
		require.Positive(t, moved)
		require.Less(t, moved, commands, "the old one kept some partitions")
		require.Len(t, fetchAll(t, b, "bank.account.parked"), commands-moved)
	})
}

// crowded is a store in which others are always first, for a while.
type crowded struct {
	store.Store
	times atomic.Int64
}

func (*crowded) Sole() bool { return false }

func (c *crowded) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	if c.times.Add(-1) < 0 {
		return c.Store.Append(ctx, entries)
	}
	results := make([]store.Result, len(entries))
	for i, e := range entries {
		results[i] = store.Result{Status: store.Conflict, Head: e.Version}
	}
	return results
}

// That others kept changing the aggregate is no answer for a command that the
// bus delivered: nobody may wait for it any more, and it would be lost.
func TestACommandFromTheBusOutlastsConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &crowded{Store: memoryStore(t)}, new(bus.Local)
		s.times.Store(10 * defaultRetries)
		r := overBus(t, s, b, true)
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1}, WaitFor(Sent))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		history, err := s.Stream(t.Context(), accountTarget("a"), 0, 10)
		require.NoError(t, err)
		require.Len(t, history, 1)
	})
}

// That the aggregate has left the expected version is told typed, also when
// another process found it out.
func TestAConflictElsewhereIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memoryStore(t), new(bus.Local)
		overBus(t, s, b, true)
		g := overBus(t, s, b, false).Gateway()
		for range 3 {
			_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
			require.NoError(t, err)
		}
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithVersion(2))
		require.ErrorIs(t, err, wow.ErrConflict)
		require.ErrorContains(t, err, "version 3, the sender expects 2")
		for range 2 { // its own commit takes the aggregate on, and is no conflict
			receipt, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithVersion(3), WithRequest("q"))
			require.NoError(t, err)
			require.EqualValues(t, 4, receipt.Version)
		}
	})
}

// narrow is a bus that takes no record above a size.
type narrow struct{ bus.Bus }

func (n narrow) Publish(ctx context.Context, records ...bus.Record) error {
	for _, r := range records {
		size := len(r.Value)
		for k, v := range r.Headers {
			size += len(k) + len(v)
		}
		if size > 1000 {
			return errors.New("message too large")
		}
	}
	return n.Bus.Publish(ctx, records...)
}

// A record that leaves no room for the reason is parked without it.
func TestARecordAsLargeAsTheBusTakesIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := overBus(t, memoryStore(t), narrow{b}, true)
		whole := strings.Repeat("x", 1000)
		require.NoError(t, b.Publish(t.Context(), bus.Record{Topic: "bank.account", Key: "|bank.account|a", Value: []byte(whole)}))
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		parked := fetchAll(t, b, "bank.account.parked")
		require.Len(t, parked, 1)
		require.Equal(t, whole, string(parked[0].Value))
	})
}

// A decoder that panics is as good as a malformed record.
func TestADecoderThatPanicsParksTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Local)
		r := overBus(t, memoryStore(t), b, false, func(r *Runtime) {
			a := accounts()
			a.Commands = append(a.Commands, CommandHandler{Command: &wow.CommandType{Aggregate: "bank.account", Name: "bomb",
				Decode: func(wow.Unmarshal, string, []byte) (wow.Sendable, error) { panic("boom") }}})
			r.AddAggregate(a)
		})
		publishCommand(t, b, "a", "bomb", "r", "{}")
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		require.Contains(t, fetchAll(t, b, "bank.account.parked")[0].Headers["wow-error"], "boom")
		require.Zero(t, r.receivers.all[0].open.Load())
	})
}

// A process stops in time although a command fails, and its sender hears.
func TestAReceiverStopsWithWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &failing{Store: memoryStore(t)}, new(bus.Local)
		s.down.Store(true)
		r := New(Config{Store: s, Bus: b, Logger: slog.New(slog.DiscardHandler)})
		r.AddAggregate(accounts())
		require.NoError(t, r.Start(t.Context()))
		told := make(chan error, 2)
		for _, request := range []string{"first", "behind it"} {
			go func() {
				_, err := r.Gateway().Send(context.Background(), Deposit{ID: "a", Amount: 1}, WithRequest(request))
				told <- err
			}()
		}
		time.Sleep(10 * time.Second)
		begun := time.Now()
		require.NoError(t, r.Stop(t.Context()))
		require.Less(t, time.Since(begun), 3*time.Second)
		for range 2 {
			require.ErrorIs(t, <-told, wow.ErrUnknownOutcome)
		}
		s.down.Store(false)
		overBus(t, s, b, true)
		time.Sleep(time.Second)
		history, err := s.Stream(t.Context(), accountTarget("a"), 0, 10)
		require.NoError(t, err)
		require.Len(t, history, 2, "the next one found them on the bus")
	})
}
