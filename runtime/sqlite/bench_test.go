package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

var modes = []struct {
	name        string
	synchronous sqlite.Synchronous
}{{"FULL", sqlite.Full}, {"NORMAL", sqlite.Normal}}

func BenchmarkStore(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.name, func(b *testing.B) {
			storetest.Bench(b, func(b testing.TB) store.Store {
				return open(b, filepath.Join(b.TempDir(), "shop.db"), sqlite.Config{Synchronous: mode.synchronous})
			})
		})
	}
}

// BenchmarkAgainstFloor appends the same events in turn to a bare table,
// through database/sql, and to the store: a batch here, a batch there, so that
// both meet the same machine. One operation is one batch; the ratio is what
// the contract costs, 1 is nothing.
func BenchmarkAgainstFloor(b *testing.B) {
	for _, mode := range modes {
		for _, batch := range []int{1, 64} {
			for _, requests := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/batch=%d/requests=%t", mode.name, batch, requests), func(b *testing.B) {
					floor := openFloor(b, mode.name)
					s := open(b, filepath.Join(b.TempDir(), "shop.db"), sqlite.Config{Synchronous: mode.synchronous})
					defer s.Close()
					var bare, whole time.Duration
					n := 0
					for b.Loop() {
						from := n
						start := time.Now()
						floor(from, batch)
						bare += time.Since(start)

						start = time.Now()
						for _, r := range s.Append(b.Context(), deposits(from, batch, requests)) {
							if r.Status != store.Stored {
								b.Fatal(r.Status, r.Err)
							}
						}
						whole += time.Since(start)
						n += batch
					}
					b.ReportMetric(float64(bare)/float64(n), "floor-ns/commit")
					b.ReportMetric(float64(whole)/float64(n), "store-ns/commit")
					b.ReportMetric(float64(bare)/float64(whole), "ratio")
				})
			}
		}
	}
}

const accounts = 1000

var note = append([]byte(`{"amount":100,"note":"`), append(bytes.Repeat([]byte("x"), 104), `"}`...)...)

// deposits makes a batch of the history.
func deposits(from, n int, requests bool) []*store.Commit {
	commits := make([]*store.Commit, n)
	for i := range commits {
		at := from + i
		commits[i] = &store.Commit{
			Target:  wow.Target{Aggregate: "bank.account", ID: fmt.Sprintf("account-%d", at%accounts)},
			Version: int64(at/accounts) + 1, ID: fmt.Sprintf("0198e0c4-7f00-7000-8000-%012d", at), DecidedAt: int64(at),
			Events: []store.Event{{Name: "deposited", Codec: store.JSON, Data: note}},
		}
		if requests {
			commits[i].Request = commits[i].ID
		}
	}
	return commits
}

// openFloor returns a function that inserts a batch of the history in a
// transaction of its own.
func openFloor(b *testing.B, mode string) func(from, n int) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "floor.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous("+mode+")&_txlock=immediate")
	must(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE events(pos INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL,
		type TEXT NOT NULL, ts INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(stream, version))`)
	must(err)
	conn, err := db.Conn(context.Background())
	must(err)
	insert, err := conn.PrepareContext(context.Background(), `INSERT INTO events(stream, version, type, ts, data) VALUES(?,?,?,?,?)`)
	must(err)
	b.Cleanup(func() {
		insert.Close()
		conn.Close()
		db.Close()
	})
	return func(from, n int) {
		if n == 1 { // autocommit: one insert, one transaction
			_, err := insert.Exec(fmt.Sprintf("account-%d", from%accounts), from/accounts+1, "deposited", time.Now().UnixNano(), note)
			must(err)
			return
		}
		tx, err := conn.BeginTx(context.Background(), nil)
		must(err)
		st := tx.Stmt(insert)
		for at := from; at < from+n; at++ {
			_, err := st.Exec(fmt.Sprintf("account-%d", at%accounts), at/accounts+1, "deposited", time.Now().UnixNano(), note)
			must(err)
		}
		must(tx.Commit())
	}
}
