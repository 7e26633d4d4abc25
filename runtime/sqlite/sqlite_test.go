package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string, c sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	paths := map[store.Store]string{}
	storetest.Run(t, func(t testing.TB) store.Store {
		path := filepath.Join(t.TempDir(), "shop.db")
		s := open(t, path, sqlite.Config{Synchronous: sqlite.Normal})
		paths[s] = path
		return s
	}, storetest.Options{
		Load: 0.3,
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, paths[s], sqlite.Config{})
			paths[again] = paths[s]
			return again
		},
	})
}
