package runtime

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
)

func TestTheZeroConfigWorks(t *testing.T) {
	c, err := Config{}.complete()
	require.NoError(t, err)
	require.Equal(t, 64, c.PerAggregate, "a quarter of the default window")
	require.Equal(t, Retry{Max: 10, Backoff: time.Millisecond}, c.Retry)
}

func TestStartReportsEveryFaultAtOnce(t *testing.T) {
	r := New(Config{
		Dispatch:        executor.Config{Workers: -1},
		Cache:           CacheConfig{Entries: -1, Bytes: 1},
		Commit:          CommitConfig{Batch: 5000},
		ShutdownTimeout: -1,
		Middleware:      []Middleware{nil},
	})
	r.AddAggregate(Aggregate{})
	a := accounts()
	a.Commands = append(a.Commands, a.Commands[0], CommandHandler{Command: &wow.CommandType{Aggregate: "bank.loan", Name: "lend"}})
	r.AddAggregate(a)
	r.AddAggregate(a)
	r.AddSaga(Saga{Name: "bank.saga.x", Sends: []*wow.CommandType{{Aggregate: "bank.loan", Name: "lend"}}})
	err := r.Start(t.Context())
	for _, want := range []string{
		"wow.dispatch.workers = -1", "wow.cache.entries = -1", "wow.cache.bytes = 1", "wow.commit.batch = 5000: must be between 1 and 4096",
		"wow.shutdown-timeout = -1ns", "Middleware[0] is nil",
		"an aggregate is registered without its state", "command bank.account.deposit has two handlers",
		"aggregate bank.account is to decide lend, a command of bank.loan", "aggregate bank.account is registered twice",
		"saga bank.saga.x sends bank.loan.lend, which nobody decides: register the aggregate bank.loan",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, r.Stop(t.Context()))
}

func TestAConfigIsReadFromYAMLThenFromTheEnvironment(t *testing.T) {
	c := Config{Propagate: []string{"x"}}
	require.NoError(t, c.Configure(strings.NewReader(`
wow:
  dispatch: {workers: 3, max-in-flight: 64}
  cache:
    idle: 90s
  propagate: [trace, user]
`), []string{"PATH=/bin", "WOW_DISPATCH_WORKERS=5", "WOW_DISPATCH_PER_AGGREGATE=7", "WOW_SHUTDOWN_TIMEOUT=10s"}))
	require.Equal(t, Config{
		Dispatch:        executor.Config{Workers: 5, MaxInFlight: 64},
		PerAggregate:    7,
		Cache:           CacheConfig{Idle: 90 * time.Second},
		Propagate:       []string{"trace", "user"},
		ShutdownTimeout: 10 * time.Second,
	}, c)
	require.NoError(t, c.Configure(strings.NewReader(""), nil))
}

func TestEveryFaultOfAConfigFileIsReportedAtOnce(t *testing.T) {
	c := Config{PerAggregate: 9}
	err := c.Configure(strings.NewReader("wow:\n  dispatch: {workers: many, worker: 1}\n  cache: {idle: 5}\nother: 1\n"),
		[]string{"WOW_WORKERS=1", "WOW_RETRY_MAX=x"})
	require.EqualError(t, err, `runtime: reading the configuration: line 2: wow.dispatch.workers = "many": want a whole number
line 2: wow.dispatch.worker: unknown setting
line 3: wow.cache.idle = "5": want a duration such as "250ms" or "30s"
line 4: other: unknown key: the settings stand under "wow"
WOW_WORKERS: unknown setting; did you mean dispatch.workers?
WOW_RETRY_MAX = "x": want a whole number`)
	require.Equal(t, Config{PerAggregate: 9}, c, "nothing is taken from a faulty configuration")
}

func TestMainDrainsOnASignal(t *testing.T) {
	r := New(Config{})
	r.AddAggregate(accounts())
	var receipt Receipt
	err := Main(t.Context(), r, func(ctx context.Context) (err error) {
		self, _ := os.FindProcess(os.Getpid())
		require.NoError(t, self.Signal(syscall.SIGTERM))
		<-ctx.Done()
		receipt, err = r.Gateway().Send(context.Background(), Deposit{ID: "a", Amount: 1}) // the intake is still open
		require.NoError(t, err)
		return ctx.Err()
	})
	require.NoError(t, err)
	require.Equal(t, int64(1), receipt.Version)
	_, err = r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.ErrorIs(t, err, wow.ErrStopping)
}

func TestMainReturnsTheErrorOfRun(t *testing.T) {
	r := New(Config{})
	require.ErrorIs(t, Main(t.Context(), r, func(context.Context) error { return os.ErrExist }), os.ErrExist)
}
