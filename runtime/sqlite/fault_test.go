package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/store/frame"
)

var cart = wow.Target{Aggregate: "shop.cart", ID: "a"}

// appends returns the answer to one commit with some bytes of data.
func appends(t testing.TB, s *sqlite.Store, version int64, size int) store.Result {
	return s.Append(t.Context(), []*store.Commit{{
		Target: cart, Version: version, ID: fmt.Sprint("c", version),
		Events: []store.Event{{Name: "e", Codec: store.JSON, Data: bytes.Repeat([]byte{'x'}, size)}},
	}})[0]
}

func mustAppend(t testing.TB, s *sqlite.Store, versions ...int64) {
	t.Helper()
	for _, v := range versions {
		if r := appends(t, s, v, 100); r.Status != store.Stored {
			t.Fatalf("version %d: %s %v", v, r.Status, r.Err)
		}
	}
}

func tempFile(t testing.TB) string { return filepath.Join(t.TempDir(), "shop.db") }

// says requires an error to be one and to tell an operator something.
func says(t testing.TB, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// edit changes a closed file behind the store's back.
func edit(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Exec(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := r.RowsAffected(); n == 0 && strings.HasPrefix(query, "UPDATE") {
		t.Fatalf("%s: changed nothing", query)
	}
}

func TestAFileHasOneOwner(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	_, err := sqlite.Open(path, sqlite.Config{})
	says(t, err, sqlite.ErrInUse, path)
	mustAppend(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, reopened(t, path), 2)
}

func reopened(t testing.TB, path string) *sqlite.Store {
	s := open(t, path, sqlite.Config{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAFileOfAnotherProcessIsReadOnly(t *testing.T) {
	path := tempFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := child(ctx, path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "stored") {
	}
	go func() { // so that the child does not wait for its reader
		for lines.Scan() {
		}
	}()

	_, err = sqlite.Open(path, sqlite.Config{})
	says(t, err, sqlite.ErrInUse, "another process")

	s := open(t, path, sqlite.Config{ReadOnly: true})
	head := wow.Position{}
	for range 3 { // it follows what the owner appends
		if err := s.Wait(ctx, head); err != nil {
			t.Fatal(err)
		}
		if head, err = s.Head(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	if cs, err := s.Read(ctx, wow.Position{}, 10); err != nil || len(cs) == 0 {
		t.Errorf("read: %d commits, %v", len(cs), err)
	}
	if s.Sole() || s.ID() == "" {
		t.Errorf("sole %t, identity %q", s.Sole(), s.ID())
	}
	says(t, appends(t, s, 1, 1).Err, sqlite.ErrReadOnly, path)
	says(t, s.SaveCheckpoint(ctx, store.Checkpoint{Consumer: "c"}), sqlite.ErrReadOnly)
	waited := make(chan error)
	go func() { waited <- s.Wait(context.Background(), wow.Position{Seq: 1 << 40}) }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != store.ErrClosed {
		t.Errorf("wait: %v, want %v", err, store.ErrClosed)
	}

	cancel() // kills the child; its lock goes with it
	_ = cmd.Wait()
	if h, err := reopened(t, path).Head(t.Context(), 0); err != nil || h.Seq < head.Seq {
		t.Errorf("head %s after %s, %v", h, head, err)
	}
}

func TestWhatIsNoStoreIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	content := bytes.Repeat([]byte("not a database\n"), 500)
	if err := os.WriteFile(text, content, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(text, sqlite.Config{})
	says(t, err, sqlite.ErrForeign, text)
	if got, _ := os.ReadFile(text); !bytes.Equal(got, content) {
		t.Error("the file was changed")
	}

	other := filepath.Join(dir, "other.db")
	edit(t, other, "CREATE TABLE customers (id)")
	_, err = sqlite.Open(other, sqlite.Config{})
	says(t, err, sqlite.ErrForeign, other)
	_, err = sqlite.Open(other, sqlite.Config{ReadOnly: true})
	says(t, err, sqlite.ErrForeign, other)

	_, err = sqlite.Open(filepath.Join(dir, "missing", "shop.db"), sqlite.Config{})
	if err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory that is not there: %v", err)
	}
	_, err = sqlite.Open(filepath.Join(dir, "missing.db"), sqlite.Config{ReadOnly: true})
	says(t, err, os.ErrNotExist)
	if _, err = sqlite.Open(":memory:", sqlite.Config{}); err == nil || !strings.Contains(err.Error(), "package memory") {
		t.Errorf("memory: %v", err)
	}
}

func TestAFolderIsNoFile(t *testing.T) {
	_, err := sqlite.Open(t.TempDir(), sqlite.Config{})
	if err == nil || !strings.Contains(err.Error(), "it is a folder; name the file in it") {
		t.Errorf("opening a folder: %v", err)
	}
}

func TestStrangePathsAreFiles(t *testing.T) {
	for _, name := range []string{"a b.db", "100%.db", "what?.db", "c#.db", "ö.db", "file:x.db", "a&mode=ro.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path, sqlite.Config{})
		mustAppend(t, s, 1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestTablesOfANewerVersion(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	mustAppend(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "UPDATE wow_meta SET value = 99 WHERE name = 'version'")
	s = open(t, path, sqlite.Config{}) // whose steps this one may write past
	mustAppend(t, s, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "UPDATE wow_meta SET value = 99 WHERE name = 'writers'")
	_, err := sqlite.Open(path, sqlite.Config{})
	says(t, err, sqlite.ErrNewer, path, "99", "upgrade")
}

func TestAFullDiskStoresNothingAndHeals(t *testing.T) {
	s := reopened(t, tempFile(t))
	mustAppend(t, s, 1)
	if err := s.Exec("PRAGMA max_page_count=60"); err != nil {
		t.Fatal(err)
	}
	version := int64(2)
	var full store.Result
	for ; version < 100; version++ {
		if full = appends(t, s, version, 10_000); full.Status != store.Stored {
			break
		}
	}
	if full.Status != store.Failed {
		t.Fatalf("%s, want a definite failure", full.Status)
	}
	says(t, full.Err, sqlite.ErrFull, "nothing was stored")
	if h, err := s.Head(t.Context(), 0); err != nil || h.Seq != version-1 {
		t.Errorf("head %s, %v, want %d", h, err, version-1)
	}
	if _, err := s.Settle(t.Context(), []store.Settlement{{
		Target: cart, Version: version - 1, Keep: true,
		Outcome: store.Outcome{Kind: store.Refused, Request: "r", Message: strings.Repeat("x", 100_000)},
	}}); !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("settle: %v", err)
	}
	if err := s.Exec("PRAGMA max_page_count=100000"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, version, version+1)
	cs, err := s.Stream(t.Context(), cart, 0, 1000)
	if err != nil || int64(len(cs)) != version+1 {
		t.Errorf("stream of %d, %v", len(cs), err)
	}
}

func TestAFileThatTurnsReadOnlyHeals(t *testing.T) {
	s := reopened(t, tempFile(t))
	mustAppend(t, s, 1)
	if err := s.Exec("PRAGMA query_only=1"); err != nil {
		t.Fatal(err)
	}
	r := appends(t, s, 2, 1)
	if r.Status != store.Failed {
		t.Errorf("%s, want a definite failure", r.Status)
	}
	says(t, r.Err, sqlite.ErrReadOnly, "permissions")
	if err := s.Exec("PRAGMA query_only=0"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, 2)
}

func TestAChangedRowIsNamed(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	mustAppend(t, s, 1, 2, 3)
	if err := s.SaveSnapshot(t.Context(), &store.Snapshot{Target: cart, Revision: "r", Version: 2, Commit: "c2", Data: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "UPDATE wow_commits SET payload = CAST(replace(CAST(payload AS TEXT), 'xxx', 'xyx') AS BLOB) WHERE seq = 2")
	edit(t, path, "UPDATE wow_snapshots SET data = X'00'")
	s = reopened(t, path)
	_, err := s.Read(t.Context(), wow.Position{}, 10)
	says(t, err, frame.ErrCorrupt, path, "0/2", "shop.cart/a version 2")
	_, err = s.Stream(t.Context(), cart, 0, 10)
	says(t, err, frame.ErrCorrupt)
	_, err = s.Snapshot(t.Context(), cart, "r", 0)
	says(t, err, frame.ErrCorrupt, "shop.cart/a")
	if cs, err := s.Read(t.Context(), wow.Position{Seq: 2}, 10); err != nil || len(cs) != 1 {
		t.Errorf("what lies behind: %d commits, %v", len(cs), err)
	}
	mustAppend(t, s, 4)
}

func TestALostRowIsNoticed(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	mustAppend(t, s, 1, 2, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "DELETE FROM wow_commits WHERE seq = 2")
	s = reopened(t, path)
	_, err := s.Read(t.Context(), wow.Position{}, 10)
	says(t, err, frame.ErrCorrupt, "position 2 is missing")
	_, err = s.Stream(t.Context(), cart, 0, 10)
	says(t, err, frame.ErrCorrupt, "version 2 is missing")
}

func TestACorruptPageIsAnErrorNotACrash(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	for v := int64(1); v <= 50; v++ {
		if r := appends(t, s, v, 3000); r.Status != store.Stored {
			t.Fatal(r.Err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := len(b)/4096 - 10; page < len(b)/4096; page++ {
		copy(b[page*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err = sqlite.Open(path, sqlite.Config{})
	if err == nil {
		defer s.Close()
		_, err = s.Read(t.Context(), wow.Position{}, 1000)
	}
	says(t, err, sqlite.ErrDamaged, path, "backup")
}

func TestKeptOutcomesExpire(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{})
	settle := func(request string) store.Settled {
		t.Helper()
		got, err := s.Settle(t.Context(), []store.Settlement{{
			Target: cart, Keep: true, Outcome: store.Outcome{Kind: store.NoOp, Request: request},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	settle("old")
	settle("new")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "UPDATE wow_outcomes SET kept_at = ? WHERE request = 'old'", time.Now().Add(-store.OutcomeRetention-time.Second).UnixMicro())
	s = reopened(t, path)
	if got := settle("new"); got.First == nil {
		t.Error("an outcome was forgotten too early")
	}
	if got := settle("old"); got.First != nil {
		t.Errorf("the outcome %+v outlived its retention", got.First)
	}
}

func TestBatchesLargerThanAReadComeInPieces(t *testing.T) {
	s := reopened(t, tempFile(t))
	for v := int64(1); v <= 12; v++ {
		if r := appends(t, s, v, 900_000); r.Status != store.Stored {
			t.Fatal(r.Err)
		}
	}
	n := 0
	for at := (wow.Position{}); n < 12; {
		cs, err := s.Read(t.Context(), at, 1000)
		if err != nil || len(cs) == 0 || len(cs) > 10 {
			t.Fatalf("read behind %s: %d commits, %v", at, len(cs), err)
		}
		n += len(cs)
		at = cs[len(cs)-1].Position
	}
}

// TestAnAppendWaitsForAReaderThatHoldsItsLock: a reader that finds the index of
// the log half written takes the writer's lock for a moment. Seen about once in
// 100,000 appends beside eight readers; here the moment is made.
func TestAnAppendWaitsForAReaderThatHoldsItsLock(t *testing.T) {
	path := tempFile(t)
	s := open(t, path, sqlite.Config{Synchronous: sqlite.Normal})
	defer s.Close()
	mustAppend(t, s, 1)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan store.Result, 1)
	go func() { answer <- appends(t, s, 2, 100) }()
	select {
	case r := <-answer:
		t.Fatalf("answered while the lock was held: %v, %v", r.Status, r.Err)
	case <-time.After(20 * time.Millisecond):
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; r.Status != store.Stored {
		t.Errorf("then: %v, %v", r.Status, r.Err)
	}
}
