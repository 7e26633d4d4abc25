package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

const (
	// server is the DSN of a database in which tests may make schemas.
	server = "WOW_POSTGRES"
	// required makes tests without one fail.
	required = "WOW_POSTGRES_REQUIRED"
	// childSchema is the DSN that a process of this test works on until it is
	// killed.
	childSchema = "WOW_POSTGRES_CHILD"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childSchema); dsn != "" {
		s, err := postgres.Open(context.Background(), dsn, postgres.Config{})
		if err == nil {
			err = storetest.CrashChild(s, os.Stdout)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if dsn := os.Getenv(childConsumers); dsn != "" {
		if err := runConsumers(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(server) == "" {
		fmt.Fprintf(os.Stderr, "\n*** runtime/postgres is NOT tested: %s is not set.\n*** Run: %s=$(.ci/postgres start) go test ./runtime/postgres\n\n", server, server)
		if os.Getenv(required) != "" {
			fmt.Fprintf(os.Stderr, "*** %s is set: this is a failure.\n", required)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// schema makes a schema of the test's own and returns the DSN of it.
func schema(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv(server)
	if dsn == "" {
		t.Skipf("needs a PostgreSQL server: %s=$(.ci/postgres start)", server)
	}
	name := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, dsn, "CREATE SCHEMA "+name)
	t.Cleanup(func() { run(t, dsn, "DROP SCHEMA "+name+" CASCADE") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s: %v", server, err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// connect returns a plain connection.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// run runs SQL behind the store's back.
func run(t testing.TB, dsn, query string, args ...any) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	r, err := c.Exec(ctx, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return r.RowsAffected()
}

func open(t testing.TB, dsn string, c postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	schema(t) // says loudly what is missing
	dsns := map[store.Store]string{}
	storetest.Run(t, func(t testing.TB) store.Store {
		dsn := schema(t)
		s := open(t, dsn, postgres.Config{})
		dsns[s] = dsn
		return s
	}, storetest.Options{
		Load: 0.3,
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, dsns[s], postgres.Config{})
			dsns[again] = dsns[s]
			return again
		},
	})
}

func TestKilledProcessesLoseNothingTheyAcknowledged(t *testing.T) {
	dsn := schema(t)
	storetest.Crash(t, storetest.CrashCycles(), func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), childSchema+"="+dsn)
		return cmd
	}, func(t testing.TB) store.Store { return open(t, dsn, postgres.Config{}) })
}
