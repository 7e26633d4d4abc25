package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/sqlite"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

func BenchmarkStore(b *testing.B) {
	for name, mode := range map[string]sqlite.Synchronous{"full": sqlite.Full, "normal": sqlite.Normal} {
		b.Run(name, func(b *testing.B) {
			storetest.Bench(b, func(b testing.TB) store.Store {
				return open(b, filepath.Join(b.TempDir(), "shop.db"), sqlite.Config{Synchronous: mode})
			})
		})
	}
}

var note = append([]byte(`{"amount":100,"note":"`), append(bytes.Repeat([]byte("x"), 104), `"}`...)...)

// BenchmarkAgainstFloor appends the same events, 64 a transaction to 1,000
// aggregates, once as plain inserts through database/sql and once through the
// store: the ratio is what the contract costs.
func BenchmarkAgainstFloor(b *testing.B) {
	const batch, aggregates = 64, 1000
	for mode, synchronous := range map[string]sqlite.Synchronous{"FULL": sqlite.Full, "NORMAL": sqlite.Normal} {
		b.Run("floor/"+mode, func(b *testing.B) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "floor.db")+
				"?_pragma=journal_mode(WAL)&_pragma=synchronous("+mode+")&_txlock=immediate")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			if _, err := db.Exec(`CREATE TABLE events(pos INTEGER PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL,
				type TEXT NOT NULL, ts INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(stream, version))`); err != nil {
				b.Fatal(err)
			}
			insert, err := db.Prepare(`INSERT INTO events(stream, version, type, ts, data) VALUES(?,?,?,?,?)`)
			if err != nil {
				b.Fatal(err)
			}
			defer insert.Close()
			b.ReportAllocs()
			for n := 0; n < b.N; {
				tx, err := db.Begin()
				if err != nil {
					b.Fatal(err)
				}
				st := tx.Stmt(insert)
				for i := 0; i < batch && n < b.N; i++ {
					if _, err := st.Exec(fmt.Sprintf("account-%d", n%aggregates), n/aggregates+1, "deposited", n, note); err != nil {
						b.Fatal(err)
					}
					n++
				}
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, requests := range []bool{false, true} {
			b.Run(fmt.Sprintf("store/%s/requests=%t", mode, requests), func(b *testing.B) {
				s := open(b, filepath.Join(b.TempDir(), "shop.db"), sqlite.Config{Synchronous: synchronous})
				defer s.Close()
				b.ReportAllocs()
				for n := 0; n < b.N; {
					var entries []*store.Commit
					for i := 0; i < batch && n < b.N; i++ {
						c := &store.Commit{
							Target:  wow.Target{Aggregate: "bank.account", ID: fmt.Sprintf("account-%d", n%aggregates)},
							Version: int64(n/aggregates) + 1, ID: fmt.Sprintf("0198e0c4-7f00-7000-8000-%012d", n), DecidedAt: int64(n),
							Events: []store.Event{{Name: "deposited", Codec: store.JSON, Data: note}},
						}
						if requests {
							c.Request = c.ID
						}
						entries = append(entries, c)
						n++
					}
					for _, r := range s.Append(b.Context(), entries) {
						if r.Status != store.Stored {
							b.Fatal(r.Status, r.Err)
						}
					}
				}
			})
		}
	}
}
