package sqlite_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

// childFile is the file that a process of this test works on until it is
// killed.
const childFile = "WOW_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		s, err := sqlite.Open(path, sqlite.Config{})
		if err == nil {
			err = storetest.CrashChild(s, os.Stdout)
		}
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// child runs this test as a process that appends to a file.
func child(ctx context.Context, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	return cmd
}

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

func TestKilledProcessesLoseNothingTheyAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	storetest.Crash(t, storetest.CrashCycles(),
		func(ctx context.Context) *exec.Cmd { return child(ctx, path) },
		func(t testing.TB) store.Store { return open(t, path, sqlite.Config{}) })
}
