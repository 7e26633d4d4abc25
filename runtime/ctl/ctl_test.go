package ctl_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/example/shop/domain"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/ctl"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
)

type fixed int

func (p fixed) Price(context.Context, string) (int, error) { return int(p), nil }

// shop runs carts on a store: n commits to each of two carts.
func shop(t *testing.T, s store.Store, n int) *wowrt.Runtime {
	t.Helper()
	r := wowrt.New(wowrt.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	domain.RegisterCart(r, &domain.CartHandlers{Prices: fixed(100)})
	require.NoError(t, r.Start(t.Context()))
	carts := domain.NewCartClient(r.Gateway())
	for i := range n {
		for _, id := range []string{"c1", "c/2"} {
			last, err := carts.AddItem(t.Context(), domain.AddItem{CartID: id, SKU: fmt.Sprint("s", i%3), Qty: 1},
				wowrt.WithRequest(fmt.Sprint("r", i)))
			require.NoError(t, err)
			require.NoError(t, r.Gateway().Wait(t.Context(), last.Position, wowrt.Snapshotted))
		}
	}
	require.NoError(t, r.Stop(t.Context()))
	return r
}

func open(t *testing.T) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	s, err := sqlite.Open(path, sqlite.Config{Synchronous: sqlite.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, path
}

// run runs a command and returns what it printed.
func run(t *testing.T, p ctl.Program, code int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	got := p.Run(t.Context(), args, &o, &e)
	require.Equal(t, code, got, "%v: %s%s", args, o.String(), e.String())
	return o.String(), e.String()
}

func TestStreamsShowAndStateTellWhatThereIs(t *testing.T) {
	s, _ := open(t)
	p := ctl.Program{Store: s, States: ctl.States(shop(t, s, 5))}
	out, _ := run(t, p, ctl.Fine, "streams", "shop.cart")
	require.Equal(t, 2, strings.Count(out, "version      5"), out)
	require.Contains(t, out, "shop.cart/c/2")

	out, _ = run(t, p, ctl.Fine, "show", "-after", "3", "shop.cart/c1")
	require.Equal(t, 2, strings.Count(out, "\n"))
	var l struct {
		Version int
		Events  []struct{ Name string }
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&l))
	require.Equal(t, 4, l.Version)
	require.Equal(t, "item_added", l.Events[0].Name)

	out, _ = run(t, p, ctl.Fine, "state", "-version", "2", "shop.cart/c1")
	require.Contains(t, out, `"version": 2`)
	require.NotContains(t, out, `"s2"`)
	_, errs := run(t, p, ctl.Wrong, "state", "-at", time.Now().Add(-time.Hour).Format(time.RFC3339), "shop.cart/c1")
	require.Contains(t, errs, "there is no shop.cart/c1 as early as that")

	p.States = nil
	_, errs = run(t, p, ctl.Wrong, "state", "shop.cart/c1")
	require.Contains(t, errs, "run this in the app that decides it")
}

func TestAHistoryThatIsExportedAndImportedIsTheSame(t *testing.T) {
	s, _ := open(t)
	shop(t, s, 120)
	dir := t.TempDir()
	file := filepath.Join(dir, "history.jsonl")
	out, _ := run(t, ctl.Program{Store: s}, ctl.Fine, "export")
	require.NoError(t, os.WriteFile(file, []byte(out), 0o644))

	other := memory.New()
	defer other.Close()
	p := ctl.Program{Store: other}
	cut := filepath.Join(dir, "cut.jsonl") // an import that was cut off
	require.NoError(t, os.WriteFile(cut, []byte(strings.Join(strings.SplitAfter(out, "\n")[:100], "")), 0o644))
	got, _ := run(t, p, ctl.Fine, "import", cut)
	require.Equal(t, "100 commits stored, 0 were there already\n", got)
	got, _ = run(t, p, ctl.Fine, "import", file)
	require.Equal(t, "140 commits stored, 100 were there already\n", got)

	again, _ := run(t, p, ctl.Fine, "export")
	require.Equal(t, withoutStoredAt(t, out), withoutStoredAt(t, again))
	p.States = ctl.States(shop(t, other, 0))
	got, _ = run(t, p, ctl.Fine, "verify")
	require.Contains(t, got, "240 commits of 2 aggregates")

	// A request of the exported history still gets its first answer.
	r := wowrt.New(wowrt.Config{Store: other, Logger: slog.New(slog.DiscardHandler)})
	domain.RegisterCart(r, &domain.CartHandlers{Prices: fixed(100)})
	require.NoError(t, r.Start(t.Context()))
	defer func() { require.NoError(t, r.Stop(context.Background())) }()
	rc, err := domain.NewCartClient(r.Gateway()).AddItem(t.Context(), domain.AddItem{CartID: "c1", SKU: "s0", Qty: 1}, wowrt.WithRequest("r0"))
	require.NoError(t, err)
	require.EqualValues(t, 1, rc.Version)
}

func withoutStoredAt(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for l := range strings.Lines(text) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(l), &m))
		delete(m, "storedAt")
		all = append(all, m)
	}
	return all
}

func TestAnImportTellsAllMistakesAndStoresNothing(t *testing.T) {
	s := memory.New()
	defer s.Close()
	src := memory.New()
	defer src.Close()
	shop(t, src, 2)
	out, _ := run(t, ctl.Program{Store: src}, ctl.Fine, "export")
	l := strings.SplitAfter(out, "\n")
	bad := l[0] + "{\"position\":\n" + strings.Replace(l[2], `"version":2`, `"version":7`, 1) + strings.Replace(l[1], `"commit":"`, `"commit":"","x":"`, 1)
	file := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(bad), 0o644))
	_, errs := run(t, ctl.Program{Store: s}, ctl.Wrong, "import", file)
	for _, want := range []string{"nothing was stored", "bad.jsonl:2: it is no commit", "bad.jsonl:3: shop.cart/c1 goes on with version 7, want 2", "bad.jsonl:4: it is no commit"} {
		require.Contains(t, errs, want)
	}
	head, err := s.Head(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, head.Seq)
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte{'x'}, 3<<20), 0o644))
	_, errs = run(t, ctl.Program{Store: s}, ctl.Wrong, "import", file)
	require.Contains(t, errs, "bad.jsonl:1: the line is longer than 1843200 bytes, and no commit is")

	// Another commit in its place is not overwritten.
	shop(t, s, 1)
	require.NoError(t, os.WriteFile(file, []byte(out), 0o644))
	_, errs = run(t, ctl.Program{Store: s}, ctl.Wrong, "import", file)
	require.Contains(t, errs, "has another version 1 than the file")
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	for name, spoil := range map[string]struct{ statement, want string }{
		"a byte":     {`UPDATE wow_commits SET payload = CAST(replace(CAST(payload AS TEXT), 's1', 's9') AS BLOB) WHERE seq = 3`, "checksum"},
		"a commit":   {`DELETE FROM wow_commits WHERE seq = 4`, "4"},
		"a snapshot": {`UPDATE wow_snapshots SET data = CAST(replace(CAST(data AS TEXT), '"Qty":', '"Qty":1') AS BLOB)`, "snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := open(t)
			r := shop(t, s, 101)
			p := ctl.Program{Store: s, States: ctl.States(r)}
			out, _ := run(t, p, ctl.Fine, "verify")
			require.Contains(t, out, "2 replayed, 2 snapshots compared")
			require.NoError(t, s.Close())

			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			changed, err := db.Exec(spoil.statement)
			require.NoError(t, err)
			n, err := changed.RowsAffected()
			require.NoError(t, err)
			require.Positive(t, n)
			require.NoError(t, db.Close())

			look, err := sqlite.Open(path, sqlite.Config{ReadOnly: true})
			require.NoError(t, err)
			defer look.Close()
			p.Store = look
			_, errs := run(t, p, ctl.Wrong, "verify")
			require.Contains(t, errs, spoil.want)
		})
	}
}

func TestABackupTakesTheStoresPlace(t *testing.T) {
	s, _ := open(t)
	shop(t, s, 3)
	file := filepath.Join(t.TempDir(), "it's a copy.db")
	run(t, ctl.Program{Store: s}, ctl.Fine, "backup", file)
	_, errs := run(t, ctl.Program{Store: s}, ctl.Wrong, "backup", file)
	require.Contains(t, errs, "exists: name a new file")
	before, _ := run(t, ctl.Program{Store: s}, ctl.Fine, "export")

	copied, err := sqlite.Open(file, sqlite.Config{})
	require.NoError(t, err)
	defer copied.Close()
	require.Equal(t, s.ID(), copied.ID())
	after, _ := run(t, ctl.Program{Store: copied}, ctl.Fine, "export")
	require.Equal(t, before, after)
	shop(t, copied, 4) // it goes on
	run(t, ctl.Program{Store: copied}, ctl.Fine, "verify")
}

func TestParkedListsWhatWasSetAside(t *testing.T) {
	s := memory.New()
	defer s.Close()
	shop(t, s, 1)
	commits, err := s.Stream(t.Context(), wow.Target{Aggregate: "shop.cart", ID: "c1"}, 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.Park(t.Context(), []store.Parked{{Consumer: "shop.projection.x", Function: "on_item_added", Commit: commits[0], Error: "boom", Attempts: 3, At: 1}}, nil))
	out, _ := run(t, ctl.Program{Store: s}, ctl.Fine, "parked", "shop.projection.x")
	require.Contains(t, out, "shop.cart/c1 version 1  on_item_added  3 attempts")
	require.Contains(t, out, "boom")
}

func TestTheCommandLineIsExplained(t *testing.T) {
	s := memory.New()
	defer s.Close()
	p := ctl.Program{Store: s}
	out, _ := run(t, p, ctl.Fine, "-h")
	for _, c := range []string{"streams", "show", "state", "export", "import", "verify", "parked", "backup"} {
		require.Contains(t, out, "wowctl "+c)
		help, _ := run(t, p, ctl.Fine, c, "-h")
		require.Contains(t, help, "Example:")
	}
	for _, args := range [][]string{{}, {"shwo"}, {"show"}, {"show", "a", "b"}, {"show", "cart"}, {"show", "-x", "shop.cart/1"}, {"verify", "x"}} {
		run(t, p, ctl.Usage, args...)
	}
	_, errs := run(t, p, ctl.Wrong, "show", "shop.cart/nobody")
	require.Contains(t, errs, "there is no shop.cart/nobody")
	_, errs = run(t, p, ctl.Wrong, "backup", "x")
	require.Contains(t, errs, "pg_dump")
}

// An operator asks from outside while the app runs.
func TestParkedMessagesAreRetriedSkippedAndEditedFromOutside(t *testing.T) {
	s := memory.New()
	var mended atomic.Bool
	r := wowrt.New(wowrt.Config{Store: notAlone{s}, Logger: slog.New(slog.DiscardHandler)})
	domain.RegisterCart(r, &domain.CartHandlers{Prices: fixed(100)})
	r.AddProcessor(wowrt.Processor{
		Name:      "shop.processor.picky",
		Functions: []wowrt.Function{{Name: "on_item_added", Event: domain.ItemAdded{}.WowEvent()}},
		OnEvent: func(_ context.Context, in *wowrt.Recorded, _ *wowrt.Reaction) error {
			if !mended.Load() && in.Event.(domain.ItemAdded).Qty == 13 {
				return wow.Permanent
			}
			return nil
		},
	})
	require.NoError(t, r.Start(t.Context()))
	defer func() { require.NoError(t, r.Stop(context.Background())) }()
	carts := domain.NewCartClient(r.Gateway())
	at := map[string]string{}
	for _, id := range []string{"a", "b", "c"} {
		receipt, err := carts.AddItem(t.Context(), domain.AddItem{CartID: id, SKU: "tea", Qty: 13}, wowrt.WaitFor(wowrt.EventHandled))
		require.ErrorIs(t, err, wow.ErrParked)
		at[id] = receipt.Position.String()
	}
	p := ctl.Program{Store: s, In: strings.NewReader(`{"SKU":"tea","Qty":12}`)}
	const c = "shop.processor.picky"
	_, errs := run(t, p, ctl.Wrong, "retry", c, "shop.cart/a")
	require.Contains(t, errs, "done, and it failed: position 0/1: is permanent")
	out, _ := run(t, p, ctl.Fine, "edit", c, "shop.cart/a", at["a"], "0", "-")
	require.Contains(t, out, "done: 0 messages of shop.cart/a are parked now")
	out, _ = run(t, p, ctl.Fine, "skip", c, "shop.cart/b", at["b"])
	require.Contains(t, out, "done: 0 messages")
	mended.Store(true)
	out, _ = run(t, p, ctl.Fine, "retry", c, "shop.cart/c")
	require.Contains(t, out, "done: 0 messages")
	_, errs = run(t, p, ctl.Wrong, "retry", c, "shop.cart/c")
	require.Contains(t, errs, "nothing is parked of shop.cart/c")
	_, errs = run(t, p, ctl.Usage, "skip", c, "shop.cart/c", "17")
	require.Contains(t, errs, "such as 0/17")
	_, errs = run(t, p, ctl.Usage, "edit", c, "shop.cart/c", "0/1", "x", "-")
	require.Contains(t, errs, "a number from 0 on")
}

// notAlone is a store that other processes write to as well.
type notAlone struct{ store.Store }

func (notAlone) Sole() bool { return false }
