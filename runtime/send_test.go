package runtime

import (
	"context"
	"sync"
	"testing"

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
