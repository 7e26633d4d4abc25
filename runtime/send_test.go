package runtime

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

func TestACommandIsAnsweredWithItsVersionAndPosition(t *testing.T) {
	g := bank(t, Config{})
	for i := range int64(3) {
		got, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 10})
		require.NoError(t, err)
		require.Len(t, got.Commit, 36)
		got.Commit = ""
		require.Equal(t, Receipt{Target: accountTarget("a"), Version: i + 1, Position: wow.Position{Seq: i + 1}, Stage: Processed}, got)
	}
	sum, version := balance(t, g, "a")
	require.Equal(t, []int64{30, 3}, []int64{sum, version})
}

func TestCommandsOfOneAggregateAreDecidedOneByOne(t *testing.T) {
	g := bank(t, Config{})
	const senders, each = 8, 500
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for i := range each {
				_, err := g.Send(t.Context(), Deposit{ID: string(rune('a' + i%3)), Amount: 1})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var sum, versions int64
	for _, id := range []string{"a", "b", "c"} {
		s, v := balance(t, g, id)
		sum, versions = sum+s, versions+v
	}
	require.Equal(t, int64(senders*each), sum)
	require.Equal(t, int64(senders*each), versions)
}

func TestARefusalReachesItsSenderAsItself(t *testing.T) {
	g := bank(t, Config{})
	_, err := g.Send(t.Context(), Deposit{ID: "a", Amount: 5})
	require.NoError(t, err)
	_, err = g.Send(t.Context(), Withdraw{ID: "a", Amount: 6})
	require.ErrorIs(t, err, errNoCover)
	require.Equal(t, "refused", wow.Code(err))
	_, err = g.Send(t.Context(), Deposit{ID: "a", Amount: -1})
	require.Equal(t, "negative", wow.Code(err))
	require.Equal(t, "-1 is no deposit", err.Error())
}

func TestAModeThatDoesNotFitIsRefused(t *testing.T) {
	g := bank(t, Config{})
	_, err := g.Send(t.Context(), Withdraw{ID: "a", Amount: 1})
	require.Equal(t, "not_found", wow.Code(err))
	require.EqualError(t, err, "bank.account/a does not exist, and withdraw needs it to")
	_, err = g.Send(t.Context(), OpenAccount{ID: "a", First: 1})
	require.NoError(t, err)
	_, err = g.Send(t.Context(), OpenAccount{ID: "a", First: 1})
	require.Equal(t, "already_exists", wow.Code(err))
}

func TestSendingBeforeStartAndAfterStopIsAnError(t *testing.T) {
	r := New(Config{})
	r.AddAggregate(accounts())
	_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.ErrorContains(t, err, "call Start first")
	require.NoError(t, r.Start(t.Context()))
	require.NoError(t, r.Stop(t.Context()))
	_, err = r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.ErrorIs(t, err, wow.ErrStopping)
	require.NoError(t, r.Stop(context.Background()), "stopping twice is fine")
	require.ErrorContains(t, r.Start(t.Context()), "lives once")
}

func TestSendJSON(t *testing.T) {
	g := bank(t, Config{})
	for _, name := range []string{"deposit", "account.deposit", "bank.account.deposit"} {
		_, err := g.SendJSON(t.Context(), name, "a", []byte(`{"Amount":2}`))
		require.NoError(t, err)
	}
	got, _ := balance(t, g, "a")
	require.Equal(t, int64(6), got)
	for _, tc := range []struct{ name, id, body, code, says string }{
		{"depos", "a", `{}`, "unknown_type", `there is no command "depos": the commands are bank.account.deposit, `},
		{"deposit", "a", `{"Amount":"x"}`, "invalid", "cannot unmarshal string"},
		{"deposit", "a", `{`, "invalid", "unexpected end of JSON input"},
		{"deposit", "a", `{"ID":"b"}`, "invalid", `the command is for "a", its body says "b"`},
		{"deposit", "", ``, "invalid", "has no ID"},
	} {
		_, err := g.SendJSON(t.Context(), tc.name, tc.id, []byte(tc.body))
		require.Equal(t, tc.code, wow.Code(err), tc)
		require.ErrorContains(t, err, tc.says)
	}
}

// A domain may choose the words that also name technical failures.
func TestARefusalIsADecisionWhateverItsCode(t *testing.T) {
	g := bank(t, Config{})
	for _, code := range []string{"canceled", "deadline_exceeded", "unknown_type", "conflict", "unknown_outcome", "overloaded", "stopping", "invalid", "failed", "parked"} {
		_, err := do(t, g, code, func(context.Context, *Account, *Command, *Decision) error {
			return wow.Refuse(code, "the account is %s", code)
		}, WithRequest("r"))
		require.EqualError(t, err, "the account is "+code)
		_, err = do(t, g, code, func(_ context.Context, _ *Account, _ *Command, out *Decision) error {
			out.Add(Deposited{Amount: 1})
			return nil
		}, WithRequest("r"))
		require.EqualError(t, err, "the account is "+code, "the request's outcome is known")
		require.Equal(t, code, wow.Code(err))
	}
}

func TestARefusalAlwaysHasACode(t *testing.T) {
	g := bank(t, Config{})
	for name, refusal := range map[string]error{
		"function": wow.Refuse("", "no"),
		"literal":  &wow.Refusal{Message: "no"},
		"wrapped":  fmt.Errorf("no: %w", &wow.Refusal{}),
	} {
		require.Equal(t, "refused", wow.Code(refusal), name)
		_, err := do(t, g, name, func(context.Context, *Account, *Command, *Decision) error { return refusal })
		require.Equal(t, "refused", wow.Code(err), name)
		require.Equal(t, "refused", wow.RefusalOf(err).Code, name)
	}
}

// What every try ended with is the cause of the failure, and no decision.
func TestATryThatIsGivenUpIsNoRefusal(t *testing.T) {
	g := bank(t, Config{Retry: Retry{Max: 1, Backoff: time.Nanosecond}})
	_, err := do(t, g, "a", func(context.Context, *Account, *Command, *Decision) error {
		return fmt.Errorf("%w (%w)", wow.Refuse("closed", "the bank is closed"), wow.Retryable)
	})
	require.Equal(t, "failed", wow.Code(err))
	require.False(t, isRefusal(err))
	require.EqualError(t, err, "runtime: deciding for do of bank.account/a: gave up after 2 tries: failed: the bank is closed (can be retried)")
}
