package view_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/view"
)

// each runs a test on every database there is.
func each(t *testing.T, f func(t *testing.T, db *sql.DB, d view.Dialect)) {
	t.Run("SQLite", func(t *testing.T) {
		db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "views.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		f(t, db, view.SQLite)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := os.Getenv("WOW_POSTGRES")
		if url == "" {
			if os.Getenv("WOW_POSTGRES_REQUIRED") != "" {
				t.Fatal("WOW_POSTGRES is not set, and WOW_POSTGRES_REQUIRED is")
			}
			t.Skip("SKIPPED: WOW_POSTGRES is not set to the URL of a PostgreSQL server; .ci/run starts one")
		}
		db, err := sql.Open("pgx", url)
		require.NoError(t, err)
		for _, table := range []string{"wow_view", "wow_view_active", "sold"} {
			_, err = db.Exec(`DROP TABLE IF EXISTS ` + table)
			require.NoError(t, err)
		}
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		f(t, db, view.PostgreSQL)
	})
}

func open(t *testing.T, db *sql.DB, d view.Dialect, history string) *view.View {
	t.Helper()
	v, err := view.Open(t.Context(), db, d, "shop.projection.sales", history)
	require.NoError(t, err)
	return v
}

func sold(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(`SELECT COALESCE(SUM(n), 0) FROM sold`).Scan(&n))
	return n
}

// sell adds a row in the view's transaction.
func sell(ctx context.Context) error {
	_, err := view.Tx(ctx).ExecContext(ctx, `INSERT INTO sold (n) VALUES (1)`)
	return err
}

func at(seq int64) wow.Position { return wow.Position{Seq: seq} }

func TestRowsAndProgressAreStoredOrLostTogether(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		_, err := db.Exec(`CREATE TABLE sold (n INTEGER)`)
		require.NoError(t, err)
		v := open(t, db, d, "h1")
		got, err := v.Resume(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, at(0), got)

		require.NoError(t, v.Run(t.Context(), at(3), sell))
		boom := errors.New("boom")
		require.ErrorIs(t, v.Run(t.Context(), at(5), func(ctx context.Context) error {
			require.NoError(t, sell(ctx))
			return boom
		}), boom)
		ended, end := context.WithCancel(t.Context())
		require.ErrorIs(t, v.Run(ended, at(5), func(ctx context.Context) error {
			require.NoError(t, sell(ctx))
			end()
			return ctx.Err()
		}), context.Canceled)
		require.Equal(t, 1, sold(t, db))

		again := open(t, db, d, "h1") // as after a restart
		got, err = again.Resume(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, at(3), got)
		require.NoError(t, again.Run(t.Context(), at(4), sell))
		require.Equal(t, 2, sold(t, db))

		other, err := again.Resume(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, wow.Position{Shard: 1}, other, "each shard has a progress of its own")
	})
}

func TestALateKeeperWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		_, err := db.Exec(`CREATE TABLE sold (n INTEGER)`)
		require.NoError(t, err)
		late, next := open(t, db, d, "h1"), open(t, db, d, "h1")
		for _, v := range []*view.View{late, next} {
			_, err := v.Resume(t.Context(), 0)
			require.NoError(t, err)
		}
		require.NoError(t, next.Run(t.Context(), at(1), sell))
		require.ErrorIs(t, late.Run(t.Context(), at(1), sell), view.ErrMoved)
		require.Equal(t, 1, sold(t, db))

		got, err := late.Resume(t.Context(), 0) // it may go on where the other stands
		require.NoError(t, err)
		require.Equal(t, at(1), got)
		require.NoError(t, late.Run(t.Context(), at(2), sell))
	})
}

func TestRowsOfAnotherHistoryAreNotMixedIn(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		v := open(t, db, d, "h1")
		_, err := v.Resume(t.Context(), 0)
		require.NoError(t, err)
		_, err = open(t, db, d, "h2").Resume(t.Context(), 0)
		require.ErrorIs(t, err, view.ErrHistory)
	})
}

func TestMistakesOfTheProgramAreTold(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "views.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = view.Open(t.Context(), db, view.SQLite, "", "h1")
	require.ErrorContains(t, err, "need a name")
	require.PanicsWithValue(t, "view: Tx is for the functions of a projection whose Run is that of a View, with the context they are given; wowgen explain NAME says whether a projection has one",
		func() { view.Tx(t.Context()) })
	require.NoError(t, db.Close())
	_, err = view.Open(t.Context(), db, view.SQLite, "v", "h1")
	require.ErrorContains(t, err, "view: opening \"v\": ")
}
