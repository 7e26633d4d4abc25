package postgres_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/view"
)

func together(fs ...func() error) []error {
	var wg sync.WaitGroup
	errs := make([]error, len(fs))
	start := make(chan struct{})
	for i, f := range fs {
		wg.Go(func() { <-start; errs[i] = f() })
	}
	close(start)
	wg.Wait()
	return errs
}

// Aggregates of one saga set and take back timers.
func TestTimersSetInAnyOrderDoNotDeadlock(t *testing.T) {
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{})
	one := func(seq int64, names ...string) []store.Timer {
		var all []store.Timer
		for _, n := range names {
			all = append(all, store.Timer{Consumer: "saga", Name: n, Position: wow.Position{Seq: seq}, Due: seq, Data: []byte("{}")})
		}
		return all
	}
	n, first := 0, ""
	for i := range int64(60) {
		for _, err := range together(
			func() error { return s.SetTimers(context.Background(), one(2*i+1, "x", "y")) },
			func() error { return s.SetTimers(context.Background(), one(2*i+2, "y", "x")) },
		) {
			if err != nil {
				n++
				first = err.Error()
			}
		}
		if n > 0 {
			break
		}
	}
	if n > 0 {
		t.Error("names in different order:", first)
	}
}

// Marks: each process of its own aggregate, with its own name.
func TestMarksThatAreForgottenDoNotDeadlock(t *testing.T) {
	dsn := schema(t)
	s := opened(t, dsn, postgres.Config{})
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`INSERT INTO wow_checkpoints (consumer, shard, segment, epoch, seq) VALUES ('saga', 0, 0, 1, 0)`)
	require.NoError(t, err)
	n, first := 0, ""
	for i := range int64(80) {
		seq := 10 * (i + 1)
		for j, name := range []string{"a", "b", "c", "d"} { // taken back
			require.NoError(t, s.SetTimers(t.Context(), []store.Timer{{Consumer: "saga", Name: name, Position: wow.Position{Seq: seq + int64(j)}}}))
		}
		_, err = db.Exec(`UPDATE wow_checkpoints SET seq = $1 WHERE consumer = 'saga'`, seq+4) // the saga's checkpoint moves on
		require.NoError(t, err)
		var fs []func() error
		for j, name := range []string{"a", "b", "c", "d"} { // and set again
			fs = append(fs, func() error {
				return s.SetTimers(context.Background(), []store.Timer{{Consumer: "saga", Name: name, Position: wow.Position{Seq: seq + 5 + int64(j)}, Due: 1 << 60, Data: []byte("{}")}})
			})
		}
		for _, err := range together(fs...) {
			if err != nil {
				n++
				first = err.Error()
			}
		}
		if n > 0 {
			break
		}
	}
	if n > 0 {
		t.Error(n, "of 4:", first)
	}
}

// Processes that open a view in a new database at the same time.
func TestViewsOpenedAtOnceDoNotCollide(t *testing.T) {
	for range 5 {
		dsn := schema(t)
		var fs []func() error
		for i := range 4 {
			db, err := sql.Open("pgx", dsn)
			require.NoError(t, err)
			defer db.Close()
			require.NoError(t, db.Ping())
			fs = append(fs, func() error {
				_, err := view.OpenGeneration(context.Background(), db, view.PostgreSQL, "v", "h", view.Generation{Number: 1 + i%2})
				return err
			})
		}
		for _, err := range together(fs...) {
			if err != nil {
				t.Error(strings.TrimSpace(err.Error()))
				return
			}
		}
	}
}

// held has two calls meet at a row that a third session holds for a moment.
func held(t *testing.T, dsn, lock string, fs ...func() error) []error {
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec(lock)
	require.NoError(t, err)
	time.AfterFunc(1500*time.Millisecond, func() {
		_ = tx.Rollback()
	})
	return together(fs...)
}

// Three processes were cut off; two come back at the same time.
func TestClaimsOfThoseWhoComeBackDoNotDeadlock(t *testing.T) {
	dsn := schema(t)
	a, b := opened(t, dsn, postgres.Config{}), opened(t, dsn, postgres.Config{})
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`INSERT INTO wow_owners VALUES ('z', now() - interval '1 s'), ('a', now() - interval '1 s'), ('b', now() - interval '1 s')`)
	require.NoError(t, err)
	segs := []store.Segment{{Consumer: "c"}}
	for _, err := range held(t, dsn, `SELECT 1 FROM wow_owners WHERE owner = 'z' FOR UPDATE`,
		func() error { _, err := a.Claim(context.Background(), "a", time.Minute, segs, 1); return err },
		func() error { _, err := b.Claim(context.Background(), "b", time.Minute, segs, 1); return err }) {
		if err != nil {
			t.Error(err)
		}
	}
}
