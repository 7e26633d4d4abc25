package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/runtime/sqlite"
)

// Two writers and a reader at once: nobody is told that the database is locked.
func TestADatabaseForViewsMakesWritersWait(t *testing.T) {
	db, err := sqlite.OpenViews(filepath.Join(t.TempDir(), "a folder & more", "v?.db"))
	require.ErrorContains(t, err, "for views")
	require.Nil(t, db)
	db, err = sqlite.OpenViews(filepath.Join(t.TempDir(), "v? &1.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE n (k INTEGER PRIMARY KEY, n INTEGER)`)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 50 {
				tx, err := db.Begin()
				if err == nil {
					var n int
					_ = tx.QueryRow(`SELECT count(*) FROM n`).Scan(&n)
					if _, err = tx.Exec(`INSERT INTO n VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1`); err == nil {
						err = tx.Commit()
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	var n int
	require.NoError(t, db.QueryRow(`SELECT n FROM n`).Scan(&n))
	require.Equal(t, 150, n)
}
