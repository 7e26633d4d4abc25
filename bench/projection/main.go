// Command projection measures how fast a projection with a database of its own
// reads a history, beside the same rows written by hand: a rebuild.
//
//	go run ./projection                          # SQLite; writes PROJECTION.md
//	WOW_POSTGRES=postgres://… go run ./projection   # PostgreSQL too
//	go run ./projection -quick                   # a moment of each: does it run?
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/bench/report"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/view"
)

func main() {
	quick := flag.Bool("quick", false, "run each once for a moment and write nothing")
	n := flag.Int("n", 1_000_000, "commits of the history")
	rounds := flag.Int("rounds", 3, "how often each is measured")
	out := flag.String("out", "PROJECTION.md", "the file to write")
	flag.Parse()
	if *quick {
		*n, *rounds = 2000, 1
	}
	if err := run(*n, *rounds, *quick, *out); err != nil {
		fmt.Fprintln(os.Stderr, "projection:", err)
		os.Exit(1)
	}
}

type added struct{ SKU, By string }

func (added) WowEvent() *wow.EventType { return &addedEvent }

var addedEvent = wow.EventType{Aggregates: []string{"bench.cart"}, Name: "added", Revision: 1,
	Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
		var e added
		err := decode(data, &e)
		return e, err
	}}

// history is n commits of one event each, of 1,000 aggregates.
func history(n int) (store.Store, error) {
	s := memory.New()
	versions := make([]int64, 1000)
	for at := 0; at < n; {
		var batch []*store.Commit
		for ; at < n && len(batch) < 256; at++ {
			k := at % len(versions)
			versions[k]++
			batch = append(batch, &store.Commit{Target: wow.Target{Aggregate: "bench.cart", ID: fmt.Sprint("c", k)}, Version: versions[k],
				ID: uuid.NewString(), DecidedAt: 1, Events: []store.Event{{Name: "added", Revision: 1, Codec: store.JSON, Data: []byte(`{"SKU":"tea","By":"ann"}`)}}})
		}
		for _, r := range s.Append(context.Background(), batch) {
			if r.Status != store.Stored {
				return nil, r.Err
			}
		}
	}
	return s, nil
}

// base is a database, empty each time.
type base struct {
	name    string
	dialect view.Dialect
	insert  string
	part    int // of the history: one n-th
	open    func() (*sql.DB, func(), error)
}

func bases() []base {
	all := []base{{"SQLite", view.SQLite, `INSERT INTO rows (cart, sku, by_whom) VALUES (?, ?, ?)`, 1, func() (*sql.DB, func(), error) {
		dir, err := os.MkdirTemp("", "wow-projection-")
		if err != nil {
			return nil, nil, err
		}
		db, err := sqlite.OpenViews(filepath.Join(dir, "views.db"))
		return db, func() { os.RemoveAll(dir) }, err
	}}}
	if url := os.Getenv("WOW_POSTGRES"); url != "" {
		all = append(all, base{"PostgreSQL", view.PostgreSQL, `INSERT INTO rows (cart, sku, by_whom) VALUES ($1, $2, $3)`, 10, func() (*sql.DB, func(), error) {
			db, err := sql.Open("pgx", url)
			if err == nil {
				_, err = db.Exec(`DROP TABLE IF EXISTS rows, wow_view, wow_view_active`)
			}
			return db, func() {}, err
		}})
	}
	return all
}

func run(n, rounds int, quick bool, out string) error {
	began, load := time.Now(), report.Load()
	t := report.Table{
		Title: fmt.Sprintf("A history of %s commits, one row each", report.Integer(float64(n))),
		Note: "Up to 256 commits in a transaction, each row by its own statement, from a store in memory. Medians of interleaved rounds; ours with\n" +
			"[– / ratio to the hand-written floor]. PostgreSQL has a tenth of the history.",
	}
	rows := []report.Row{{Name: "batched inserts by hand", Kind: report.Floor}, {Name: "projection with a view", Kind: report.Ours}}
	for _, b := range bases() {
		s, err := history(max(1, n/b.part))
		if err != nil {
			return err
		}
		col := len(t.Columns)
		t.Columns = append(t.Columns, report.Column{Name: "commits/s, " + b.name, More: true, Format: report.Rate})
		for i := range rows {
			rows[i].Samples = append(rows[i].Samples, nil)
		}
		for range rounds {
			for i, f := range []func(base, *sql.DB, store.Store, int) error{byHand, projected} {
				rate, err := measure(b, s, max(1, n/b.part), f)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", b.name, rows[i].Name, err)
				}
				rows[i].Samples[col] = append(rows[i].Samples[col], rate)
				fmt.Fprintf(os.Stderr, "%s, %s: %.0f commits/s\n", b.name, rows[i].Name, rate)
			}
		}
	}
	t.Rows = rows
	text := report.Head(strings.TrimSpace("go run ./projection "+strings.Join(os.Args[1:], " ")), began, load) + "\n" + t.Markdown()
	if quick {
		_, err := io.WriteString(os.Stdout, text)
		return err
	}
	return os.WriteFile(out, []byte("# A projection beside batched inserts\n\n"+text), 0o644)
}

// measure returns commits per second.
func measure(b base, s store.Store, n int, f func(base, *sql.DB, store.Store, int) error) (float64, error) {
	db, done, err := b.open()
	if err != nil {
		return 0, err
	}
	defer done()
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE rows (cart TEXT NOT NULL, sku TEXT NOT NULL, by_whom TEXT NOT NULL)`); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := f(b, db, s, n); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	var got int
	if err := db.QueryRow(`SELECT count(*) FROM rows`).Scan(&got); err != nil || got != n {
		return 0, fmt.Errorf("%d rows of %d: %w", got, n, err)
	}
	return float64(n) / took.Seconds(), nil
}

// byHand is the loop that one would write: read, decode, insert, and keep the
// position in the same transaction.
func byHand(b base, db *sql.DB, s store.Store, n int) error {
	ctx := context.Background()
	if _, err := db.Exec(`CREATE TABLE wow_view (name TEXT PRIMARY KEY, seq BIGINT NOT NULL)`); err != nil {
		return err
	}
	if _, err := db.Exec(`INSERT INTO wow_view VALUES ('v', 0)`); err != nil {
		return err
	}
	move := `UPDATE wow_view SET seq = ? WHERE name = 'v'`
	if b.dialect == view.PostgreSQL {
		move = `UPDATE wow_view SET seq = $1 WHERE name = 'v'`
	}
	for at := (wow.Position{}); at.Seq < int64(n); {
		commits, err := s.Read(ctx, at, 256)
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		at = commits[len(commits)-1].Position
		if _, err := tx.ExecContext(ctx, move, at.Seq); err != nil {
			return err
		}
		for _, c := range commits {
			var e added
			if err := json.Unmarshal(c.Events[0].Data, &e); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, b.insert, c.Target.ID, e.SKU, e.By); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// projected is ours.
func projected(b base, db *sql.DB, s store.Store, n int) error {
	ctx := context.Background()
	v, err := view.Open(ctx, db, b.dialect, "bench.projection.rows", s.ID())
	if err != nil {
		return err
	}
	r := wowrt.New(wowrt.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	r.AddProjection(wowrt.Projection{
		Name: "bench.projection.rows", Functions: []wowrt.Function{{Name: "on_added", Event: &addedEvent}},
		Transaction: &wowrt.Transaction{Resume: v.Resume, Run: v.Run},
		OnEvent: func(ctx context.Context, in *wowrt.Recorded, _ *wowrt.Reaction) error {
			e := in.Event.(added)
			_, err := view.Tx(ctx).ExecContext(ctx, b.insert, in.Target.ID, e.SKU, e.By)
			return err
		},
	})
	if err := r.Start(ctx); err != nil {
		return err
	}
	err = r.Gateway().Wait(ctx, wow.Position{Seq: int64(n)}, wowrt.Projected)
	return errors.Join(err, r.Stop(ctx))
}
