package runtime

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/memory"
)

// What a handler's context and a command's metadata carry, and middleware.

func TestASenderThatLeavesFirstIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{})
		release := make(chan struct{})
		block := func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			return out.Offload("", func(context.Context) error { <-release; return nil })
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := do(t, g, "a", block); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var ran atomic.Bool
		_, err := g.Send(ctx, Do{ID: "a", F: func(context.Context, *Account, *Command, *Decision) error { ran.Store(true); return nil }})
		require.EqualError(t, err, "runtime: do was not run by bank.account/a: context deadline exceeded")
		require.Equal(t, "deadline_exceeded", wow.Code(err))
		close(release)
		wg.Wait()
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		require.False(t, ran.Load())
	})
}

func TestASenderThatLeavesLaterGetsAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		seen := make(chan error, 1)
		_, err := g.Send(ctx, Do{ID: "a", F: func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			return out.Offload("", func(ctx context.Context) error {
				at, ok := ctx.Deadline()
				require.True(t, ok)
				require.Equal(t, time.Second, time.Until(at))
				<-ctx.Done()
				seen <- ctx.Err()
				time.Sleep(time.Second) // it does not hurry
				out.Add(Deposited{Amount: 1})
				return nil
			})
		}})
		require.ErrorIs(t, err, wow.ErrUnknownOutcome)
		require.ErrorIs(t, <-seen, context.DeadlineExceeded)
		_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
		_, version := balance(t, g, "a")
		require.EqualValues(t, 2, version, "it did take effect")
	})
}

func TestAHandlersTimeoutIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{})
		a := accounts()
		for i := range a.Commands {
			a.Commands[i].Timeout = time.Second
		}
		r.AddAggregate(a)
		require.NoError(t, r.Start(t.Context()))
		_, err := do(t, r.Gateway(), "a", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			return out.Offload("", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}, WithRequest("r"))
		require.Equal(t, "deadline_exceeded", wow.Code(err))
		got, err := do(t, r.Gateway(), "a", func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			out.Add(Deposited{Amount: 1})
			return nil
		}, WithRequest("r"))
		require.NoError(t, err, "a technical failure is not the request's outcome")
		require.False(t, got.Repeated)
		require.NoError(t, r.Stop(context.Background()))
	})
}

func TestAwaitInAHandlerHoldsNoWorker(t *testing.T) {
	g := bank(t, Config{Dispatch: executor.Config{Workers: 1}})
	release := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := do(t, g, "a", func(ctx context.Context, s *Account, _ *Command, out *Decision) error {
			_, err := wow.Await(ctx, func(ctx context.Context) (int, error) { <-release; return 0, nil })
			out.Add(Deposited{Amount: 1})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	for range 10 {
		_, err := g.Send(t.Context(), Deposit{ID: "b", Amount: 1})
		require.NoError(t, err)
	}
	close(release)
	wg.Wait()
	sum, _ := balance(t, g, "a")
	require.EqualValues(t, 1, sum)
}

func TestAContextThatAHandlerKeepsIsOfNoUseLater(t *testing.T) {
	g := bank(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var kept context.Context
	_, err := g.Send(ctx, Do{ID: "a", F: func(ctx context.Context, _ *Account, _ *Command, _ *Decision) error {
		kept = ctx
		return ctx.Err()
	}})
	require.NoError(t, err)
	<-kept.Done()
	_, err = g.Send(t.Context(), Deposit{ID: "b", Amount: 1})
	require.NoError(t, err)
	require.Equal(t, accountTarget("a"), causeOf(kept).target, "it is still about its own command")
}

// What a handler sends belongs to the conversation of what it handles.
func TestCorrelationCausationAndMetadataGoOn(t *testing.T) {
	s := memory.New()
	g := bank(t, Config{Store: s, Propagate: []string{"user"}})
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "of the sender")
	outer, err := g.Send(ctx, Do{ID: "a", F: func(ctx context.Context, _ *Account, in *Command, out *Decision) error {
		require.Equal(t, "of the sender", ctx.Value(key{}))
		out.Add(Deposited{Amount: 1})
		_, err := g.Send(ctx, Deposit{ID: "b", Amount: 1}, WithMetadata(map[string]string{"own": "y"}))
		return err
	}}, WithMetadata(map[string]string{"user": "u1", "secret": "x"}))
	require.NoError(t, err)
	a, err := s.Stream(t.Context(), accountTarget("a"), 0, 1)
	require.NoError(t, err)
	b, err := s.Stream(t.Context(), accountTarget("b"), 0, 1)
	require.NoError(t, err)
	require.Equal(t, outer.Commit, a[0].Correlation, "a conversation has the ID of the commit that began it")
	require.Empty(t, a[0].Causation)
	require.Equal(t, outer.Commit, b[0].Correlation)
	require.Equal(t, outer.Commit, b[0].Causation)
	require.Equal(t, map[string]string{"user": "u1", "own": "y"}, b[0].Metadata)
	_, err = g.Send(t.Context(), Deposit{ID: "c", Amount: 1}, WithCorrelation("mine"))
	require.NoError(t, err)
	c, err := s.Stream(t.Context(), accountTarget("c"), 0, 1)
	require.NoError(t, err)
	require.Equal(t, "mine", c[0].Correlation)
}

func TestMiddlewareSeesEachCommandTypedAndItsAnswer(t *testing.T) {
	var log []string
	audit := func(next Next) Next {
		return func(ctx context.Context, c *Command) (Receipt, error) {
			c.Metadata = map[string]string{"user": "u1"}
			got, err := next(ctx, c)
			log = append(log, c.Body.WowCommand().Name+" "+wow.Code(err))
			return got, err
		}
	}
	limit := On(func(ctx context.Context, c *wow.Command[Deposit], next func(context.Context) (Receipt, error)) (Receipt, error) {
		if c.Data.Amount > 100 {
			return Receipt{}, wow.Refuse("limit", "%d is too much", c.Data.Amount)
		}
		c.Data.Amount *= 2
		return next(ctx)
	})
	s := memory.New()
	g := bank(t, Config{Store: s, Middleware: []Middleware{audit, limit}})
	_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 4})
	require.NoError(t, err)
	_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: 101})
	require.Equal(t, "limit", wow.Code(err))
	_, err = g.SendJSON(t.Context(), "withdraw", "a", []byte(`{"Amount":3}`))
	require.NoError(t, err)
	sum, _ := balance(t, g, "a")
	require.EqualValues(t, 8-3, sum)
	require.Equal(t, []string{"deposit ", "deposit limit", "withdraw "}, log)
	commits, err := s.Stream(t.Context(), accountTarget("a"), 0, 1)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"user": "u1"}, commits[0].Metadata)
}

func TestLoadGivesAStateOfTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := bank(t, Config{})
		var times []time.Time
		for i := range 5 {
			_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: int64(i + 1)})
			require.NoError(t, err)
			times = append(times, time.Now())
			time.Sleep(time.Minute)
		}
		load := func(opts ...LoadOption) []int64 {
			s, version, err := g.Load(t.Context(), accountTarget("a"), &accountState, opts...)
			require.NoError(t, err)
			sum := s.(*Account).Balance
			s.(*Account).Balance = -1 // nobody else sees it
			return []int64{sum, version}
		}
		require.Equal(t, []int64{15, 5}, load())
		require.Equal(t, []int64{15, 5}, load(AtVersion(99)))
		require.Equal(t, []int64{3, 2}, load(AtVersion(2)))
		require.Equal(t, []int64{6, 3}, load(AtTime(times[2].Add(time.Second))))
		require.Equal(t, []int64{0, 0}, load(AtTime(times[0].Add(-time.Hour))))
		none, version, err := g.Load(t.Context(), accountTarget("none"), &accountState)
		require.NoError(t, err)
		require.Zero(t, version)
		require.Equal(t, &Account{ID: "none"}, none)
		other := accountState
		_, _, err = g.Load(t.Context(), accountTarget("a"), &other)
		require.ErrorIs(t, err, wow.ErrUnknownType)
		_, _, err = g.Load(t.Context(), accountTarget(""), &accountState)
		require.ErrorIs(t, err, wow.ErrInvalid)
	})
}

func TestTimeOfACommitIsNeverBeforeThatOfItsPredecessor(t *testing.T) {
	now := time.UnixMicro(1_000_000)
	s := memory.New()
	g := bank(t, Config{Store: s, Now: func() time.Time { return now }})
	for _, step := range []time.Duration{0, time.Second, -time.Minute, 0} {
		now = now.Add(step)
		_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 1})
		require.NoError(t, err)
	}
	commits, err := s.Stream(t.Context(), accountTarget("a"), 0, 10)
	require.NoError(t, err)
	var at []int64
	for _, c := range commits {
		at = append(at, c.DecidedAt)
	}
	require.Equal(t, []int64{1_000_000, 2_000_000, 2_000_000, 2_000_000}, at)
}

func TestAnUnhandledCommandIsATypedError(t *testing.T) {
	a := accounts()
	a.Decide = func(_ context.Context, _ wow.State, in *Command, _ *Decision) error { return Unhandled(in) }
	r := New(Config{})
	r.AddAggregate(a)
	require.NoError(t, r.Start(t.Context()))
	defer r.Stop(context.Background())
	_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a"})
	require.ErrorIs(t, err, wow.ErrUnknownType)
	require.False(t, errors.Is(err, &wow.Refusal{Code: "refused"}))
}
