package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// What has hurt users of other systems on the command side, and must not here.

// do sends a function as a command.
func do(t testing.TB, g *Gateway, id string, f func(ctx context.Context, s *Account, in *Command, out *Decision) error, opts ...SendOption) (Receipt, error) {
	return g.Send(t.Context(), Do{ID: id, F: f}, opts...)
}

// An append that timed out but was committed is reported as what it is: done.
func TestALostAnswerToACommittedAppendIsSettled(t *testing.T) {
	s := newFaulty()
	lost := 0
	s.append = func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
		results := next(es)
		if lost++; lost <= 3 {
			return all(es, store.Result{Status: store.Unknown, Err: errors.New("connection reset")})
		}
		return results
	}
	g := bank(t, Config{Store: s})
	got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	require.False(t, got.Repeated)
	got, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Version)
	sum, _ := balance(t, g, "a")
	require.EqualValues(t, 2, sum)
}

// One whose answer stays away is its own kind of error, and sending it again
// with the same request ID gives the first outcome.
func TestAnUnknownOutcomeIsAnOutcomeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty()
		g := bank(t, Config{Store: s, Commit: CommitConfig{Settle: time.Second}})
		s.bend(func(s *faulty) {
			s.append = func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
				next(es)
				return all(es, store.Result{Status: store.Unknown, Err: errors.New("connection reset")})
			}
		})
		start := time.Now()
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithRequest("r1"))
		require.ErrorIs(t, err, wow.ErrUnknownOutcome)
		require.ErrorContains(t, err, "send it again with the same request ID: connection reset")
		require.InDelta(t, 1.1, time.Since(start).Seconds(), 0.3)
		s.bend(func(s *faulty) { s.append = nil })
		got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}, WithRequest("r1"))
		require.NoError(t, err)
		require.True(t, got.Repeated)
		require.EqualValues(t, 1, got.Version)
	})
}

// While one append is held open, senders wait within their own bounds, and
// nothing is lost when it ends.
func TestAnAppendHeldOpenHoldsOthersWithinTheirBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty()
		hold := make(chan struct{})
		s.append = func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
			<-hold
			return next(es)
		}
		g := bank(t, Config{Store: s})
		send := func(id string, d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			_, err := g.Send(ctx, Deposit{ID: id, Amount: 1}, WithRequest("r"))
			return err
		}
		var first, behind error
		var wg sync.WaitGroup
		wg.Go(func() { first = send("a", time.Hour) })
		synctest.Wait()
		wg.Go(func() { behind = send("a", time.Second) }) // waits in the mailbox
		start := time.Now()
		err := send("b", 2*time.Second)
		require.ErrorIs(t, err, wow.ErrUnknownOutcome, "it was handed to the committer")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		close(hold)
		wg.Wait()
		require.NoError(t, first)
		require.Equal(t, "deadline_exceeded", wow.Code(behind), "it never ran: %v", behind)
		require.NoError(t, send("b", time.Second), "the outcome of the first sending")
		for _, id := range []string{"a", "b"} {
			n, _ := requireOneHistory(t, s, accountTarget(id))
			require.EqualValues(t, 1, n)
		}
	})
}

// A refusal decided on a state that is behind is never reported: it is
// confirmed, and the command decided again on what is there.
func TestARefusalOnStaleStateIsNeverReported(t *testing.T) {
	s := newFaulty()
	here, there := bank(t, Config{Store: s}), bank(t, Config{Store: s})
	_, err := here.Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.NoError(t, err)
	_, err = there.Send(t.Context(), Deposit{ID: "a", Amount: 100}) // unseen by here
	require.NoError(t, err)
	_, err = here.Send(t.Context(), Withdraw{ID: "a", Amount: 50})
	require.NoError(t, err, "refused on a balance of 1")
	_, err = there.Send(t.Context(), Deposit{ID: "a", Amount: 0})
	require.NoError(t, err)
	got, err := here.Send(t.Context(), Deposit{ID: "a", Amount: 0})
	require.NoError(t, err)
	require.EqualValues(t, 3, got.Version, "a no-op reports the newest version")
}

// Neither an empty list nor nil is an error: both remember their request.
func TestNoEventsAreANoOpThatRemembersItsRequest(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		g := bank(t, Config{Store: s})
		for i, events := range [][]wow.DomainEvent{nil, {}} {
			request := WithRequest(fmt.Sprint(i))
			got, err := do(t, g, "a", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
				out.Add(events...)
				return nil
			}, request)
			require.NoError(t, err)
			require.Equal(t, Receipt{Target: accountTarget("a"), Stage: Processed}, got)
			got, err = do(t, g, "a", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
				out.Add(Deposited{Amount: 1}) // the second time it would do something
				return nil
			}, request)
			require.NoError(t, err)
			require.Equal(t, Receipt{Target: accountTarget("a"), Stage: Processed, Repeated: true}, got)
		}
	})
}

// A create that loses against another is refused, not retried for ever, and a
// concurrent create-or-update succeeds.
func TestTwoNodesCreateTheSameAggregate(t *testing.T) {
	for range 20 {
		s := newFaulty()
		nodes := []*Gateway{bank(t, Config{Store: s}), bank(t, Config{Store: s})}
		var created, refused atomic.Int32
		var wg sync.WaitGroup
		for _, g := range nodes {
			wg.Go(func() {
				switch _, err := g.Send(t.Context(), OpenAccount{ID: "a", First: 1}); wow.Code(err) {
				case "":
					created.Add(1)
				case "already_exists":
					refused.Add(1)
				default:
					t.Error(err)
				}
				if _, err := g.Send(t.Context(), Deposit{ID: "b", Amount: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, []int32{1, 1}, []int32{created.Load(), refused.Load()})
	}
}

// conflicts answers the next n appends with a conflict.
func conflicts(n int, took func()) func([]*store.Commit, func([]*store.Commit) []store.Result) []store.Result {
	return func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
		if took(); n > 0 {
			n--
			return all(es, store.Result{Status: store.Conflict, Head: 41})
		}
		return next(es)
	}
}

// P6: a conflict is retried from about a millisecond on, doubling with jitter
// up to the cap, and holds no worker meanwhile.
func TestP6AConflictIsRetriedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty()
		var tries []time.Duration
		start := time.Now()
		s.append = conflicts(8, func() { tries = append(tries, time.Since(start)) })
		g := bank(t, Config{Store: s, Dispatch: executor.Config{Workers: 1}, RetryCap: 20 * time.Millisecond})
		got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		require.EqualValues(t, 1, got.Version)
		require.Len(t, tries, 9)
		for i, most := range []time.Duration{1, 2, 4, 8, 16, 20, 20, 20} {
			most *= time.Millisecond
			wait := tries[i+1] - tries[i]
			require.True(t, wait >= most/2 && wait <= most, "wait %d is %v, want %v to %v", i, wait, most/2, most)
		}
	})
}

func TestP6ARetryHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty()
		g := bank(t, Config{Store: s, Dispatch: executor.Config{Workers: 1}, Retry: Retry{Max: 3, Backoff: time.Hour}, RetryCap: time.Hour})
		s.bend(func(s *faulty) { s.append = conflicts(1, func() {}) })
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		for range 10 {
			_, err := g.Send(t.Context(), Deposit{ID: "b", Amount: 1})
			require.NoError(t, err)
		}
		require.Less(t, time.Since(start), time.Second)
		wg.Wait()
		require.GreaterOrEqual(t, time.Since(start), time.Hour/2)
	})
}

// P6: up to the handler's policy, then a typed conflict.
func TestP6AConflictEndsWithThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty()
		r := New(Config{Store: s})
		a := accounts()
		a.Commands[0].Retry = Retry{Max: 3, Backoff: time.Millisecond}
		r.AddAggregate(a)
		require.NoError(t, r.Start(t.Context()))
		tries := 0
		s.append = conflicts(100, func() { tries++ })
		_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.ErrorIs(t, err, wow.ErrConflict)
		require.EqualError(t, err, "runtime: appending for deposit of bank.account/a: gave up after 4 tries: conflict: somebody else took bank.account/a to version 41")
		require.Equal(t, 4, tries)
		require.NoError(t, r.Stop(context.Background()))
	})
}

// A retried error keeps its cause, and the policy's end says so.
func TestARetryableErrorKeepsItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{Retry: Retry{Max: 2}})
		down := errors.New("price service is down")
		calls := 0
		f := func(context.Context, *Account, *Command, *Decision) error {
			if calls++; calls > 10 {
				return nil
			}
			return fmt.Errorf("%w (%w)", down, wow.Retryable)
		}
		_, err := do(t, g, "a", f)
		require.ErrorIs(t, err, down)
		require.Equal(t, "failed", wow.Code(err))
		require.Equal(t, 3, calls)
		calls = 9
		_, err = do(t, g, "a", f)
		require.NoError(t, err, "it went away on the second try")
	})
}

// The mailbox key is tenant, aggregate and ID: the same ID of two tenants is
// two aggregates.
func TestTenantsShareNothing(t *testing.T) {
	state := accountState
	state.Tenant = true
	a := accounts()
	a.State = &state
	r := New(Config{})
	r.AddAggregate(a)
	require.NoError(t, r.Start(t.Context()))
	defer r.Stop(context.Background())
	g := r.Gateway()
	_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.ErrorContains(t, err, "invalid: bank.account needs a tenant")
	for _, tenant := range []string{"x", "y"} {
		got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithTenant(tenant), WithRequest("r"))
		require.NoError(t, err)
		require.EqualValues(t, 1, got.Version)
		require.False(t, got.Repeated)
		s, version, err := g.Load(t.Context(), accountTarget("a"), &state, OfTenant(tenant))
		require.NoError(t, err)
		require.EqualValues(t, 1, version)
		require.EqualValues(t, 5, s.(*Account).Balance)
	}
}

// A command to an aggregate whose own handler waits for it is an error at once,
// also by way of another aggregate.
func TestSendingToOneselfFromInsideIsAnErrorAtOnce(t *testing.T) {
	g := bank(t, Config{})
	send := func(id string, f func(ctx context.Context, s *Account, in *Command, out *Decision) error) func(context.Context, *Account, *Command, *Decision) error {
		return func(ctx context.Context, _ *Account, _ *Command, _ *Decision) error {
			_, err := g.Send(ctx, Do{ID: id, F: f})
			return err
		}
	}
	_, err := do(t, g, "a", send("a", nil))
	require.ErrorIs(t, err, executor.ErrOwnKey)
	require.ErrorIs(t, err, wow.ErrInvalid)
	require.False(t, errors.As(err, new(*wow.Refusal)), "a programmer's mistake is no decision: %v", err)
	_, err = do(t, g, "a", send("b", send("c", send("a", nil))))
	require.ErrorIs(t, err, executor.ErrOwnKey)
	_, err = do(t, g, "a", send("b", send("c", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
		out.Add(Deposited{Amount: 1})
		return nil
	})))
	require.NoError(t, err)
	sum, _ := balance(t, g, "c")
	require.EqualValues(t, 1, sum)
}

// One aggregate that is stuck does not stop its context.
func TestAStuckAggregateLeavesRoomForOthers(t *testing.T) {
	g := bank(t, Config{Dispatch: executor.Config{Workers: 2, MaxInFlight: 16}})
	release := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, err := do(t, g, "stuck", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
				return out.Offload("", func(context.Context) error { <-release; return nil })
			})
			if err != nil {
				t.Error(i, err)
			}
		})
	}
	for range 100 {
		_, err := g.Send(t.Context(), Deposit{ID: "free", Amount: 1})
		require.NoError(t, err)
	}
	close(release)
	wg.Wait()
}

// Handlers that wait for commands of their own context could fill its window
// with waiters; the one that finds no room is told so.
func TestNestedCommandsDoNotDeadlockOnAFullWindow(t *testing.T) {
	g := bank(t, Config{Dispatch: executor.Config{MaxInFlight: 4}, PerAggregate: 4})
	var inside, overloaded atomic.Int32
	all := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			_, err := do(t, g, fmt.Sprint(i), func(ctx context.Context, _ *Account, _ *Command, out *Decision) error {
				return out.Offload("", func(ctx context.Context) error {
					if inside.Add(1) == 4 {
						close(all)
					}
					<-all
					_, err := g.Send(ctx, Deposit{ID: fmt.Sprint("other", i), Amount: 1})
					return err
				})
			})
			if errors.Is(err, wow.ErrOverloaded) {
				overloaded.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Positive(t, overloaded.Load())
}

// A panic, in a handler or in apply, fails its command alone: the state that
// may be half changed is not used, the stack is logged.
func TestAPanicDoesNotPoisonTheState(t *testing.T) {
	eachWay(t, func(t *testing.T, s store.Store) {
		logged := &records{}
		g := bank(t, Config{Store: s, Logger: slog.New(logged)})
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 10})
		require.NoError(t, err)
		for _, f := range []func(*Account, *Decision) error{
			func(s *Account, _ *Decision) error { s.Balance = -1; panic("in the handler") },
			func(_ *Account, out *Decision) error {
				out.Add(Deposited{Amount: 1}, Broken{"in apply"})
				return nil
			},
			func(s *Account, out *Decision) error {
				return out.Offload("", func(context.Context) error { s.Balance = -1; panic("on the pool") })
			},
			func(s *Account, out *Decision) error {
				return out.Offload("", func(context.Context) error {
					out.Add(Broken{"in apply, on the pool"})
					return nil
				})
			},
		} {
			_, err := do(t, g, "a", func(_ context.Context, s *Account, _ *Command, out *Decision) error { return f(s, out) })
			require.ErrorIs(t, err, wow.ErrFailed)
			got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
			require.NoError(t, err)
			_, err = do(t, g, "a", func(_ context.Context, s *Account, _ *Command, _ *Decision) error {
				require.Equal(t, 9+got.Version, s.Balance)
				return nil
			})
			require.NoError(t, err)
		}
		logged.mu.Lock()
		defer logged.mu.Unlock()
		stacks := 0
		for _, r := range logged.list {
			r.Attrs(func(a slog.Attr) bool {
				if a.Key == "stack" {
					stacks++
					require.Contains(t, a.Value.String(), "_test.go", "where it happened")
				}
				return true
			})
		}
		require.Equal(t, 4, stacks)
	})
}

// What is stored is what happened: an event shares nothing with the state, and
// what the encoding drops or replaces never happens.
func TestTheStateIsWhatTheStoreSays(t *testing.T) {
	g := bank(t, Config{})
	check := func(id string, want map[string]string) {
		t.Helper()
		for _, where := range []string{"in the mailbox", "loaded"} {
			var got map[string]string
			if where == "loaded" {
				s, _, err := g.Load(t.Context(), accountTarget(id), &accountState)
				require.NoError(t, err)
				got = s.(*Account).Tags
			} else {
				_, err := do(t, g, id, func(_ context.Context, s *Account, _ *Command, _ *Decision) error {
					got = s.Tags
					return nil
				})
				require.NoError(t, err)
			}
			require.Equal(t, want, got, where)
		}
	}
	tags := map[string]string{"k": "v"}
	_, err := g.Send(t.Context(), Tag{ID: "map", Tags: tags})
	require.NoError(t, err)
	tags["k"] = "changed by the sender"
	check("map", map[string]string{"k": "v"})

	_, err = do(t, g, "hidden", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
		out.Add(Tagged{hidden: "not encoded"})
		return nil
	})
	require.NoError(t, err)
	check("hidden", nil)

	_, err = do(t, g, "text", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
		out.Add(Noted{"a\xffb"})
		return nil
	})
	require.NoError(t, err)
	check("text", map[string]string{"text": "a\ufffdb"})
}

// A snapshot that does not decode is reported and the events are used.
func TestASnapshotThatDoesNotDecodeIsNoObstacle(t *testing.T) {
	s := memory.New()
	state := accountState
	state.Snapshot = 1 << 30 // used, never written here
	a := accounts()
	a.State = &state
	logged := &records{}
	r := New(Config{Store: s, Logger: slog.New(logged), Cache: CacheConfig{Entries: 1}})
	r.AddAggregate(a)
	require.NoError(t, r.Start(t.Context()))
	defer r.Stop(context.Background())
	g := r.Gateway()
	var last Receipt
	for range 3 {
		var err error
		last, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
	}
	load := func(opts ...LoadOption) int64 {
		got, _, err := g.Load(t.Context(), accountTarget("a"), &state, opts...)
		require.NoError(t, err)
		return got.(*Account).Balance
	}
	save := func(data string) {
		require.NoError(t, s.SaveSnapshot(t.Context(), &store.Snapshot{Target: accountTarget("a"), Revision: "1", Version: 3, Commit: last.Commit, Codec: store.JSON, Data: []byte(data)}))
	}
	save(`{"ID":"a","Balance":1000}`)
	require.EqualValues(t, 1000, load(), "the snapshot is used")
	require.EqualValues(t, 2, load(AtVersion(2)))
	_, err := g.Send(t.Context(), Deposit{ID: "other", Amount: 1}) // takes the only place in the cache
	require.NoError(t, err)
	_, err = g.Send(t.Context(), Withdraw{ID: "a", Amount: 900})
	require.NoError(t, err, "decided on the snapshot")
	save(`{"ID":"a","Bal`)
	require.EqualValues(t, 3-900, load())
	logged.mu.Lock()
	defer logged.mu.Unlock()
	require.Contains(t, logged.list[len(logged.list)-1].Message, "a snapshot cannot be read")
}

// An event that this program does not know is no reason to decide without it.
func TestAnUnknownEventInTheHistoryIsATypedError(t *testing.T) {
	s := memory.New()
	for i, e := range []store.Event{
		{Name: "from_the_future", Revision: 1, Codec: store.JSON, Data: []byte(`{}`)},
		{Name: "deposited", Revision: 2, Codec: store.JSON, Data: []byte(`{}`)},
		{Name: "deposited", Revision: 1, Codec: 77, Data: []byte(`{}`)},
	} {
		id := fmt.Sprint(i)
		require.Equal(t, store.Stored, s.AppendOne(&store.Commit{Target: accountTarget(id), Version: 1, ID: id, Events: []store.Event{e}}).Status)
	}
	g := bank(t, Config{Store: s})
	for i, says := range []string{`event "from_the_future" is not known`, `event "deposited" has revision 2, this program knows 1`, "codec 77"} {
		_, err := g.Send(t.Context(), Deposit{ID: fmt.Sprint(i), Amount: 1})
		require.ErrorIs(t, err, wow.ErrUnknownType)
		require.ErrorContains(t, err, says)
	}
}
