package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/postgres"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b testing.TB) store.Store { return open(b, schema(b), postgres.Config{}) })
}

const accounts = 1000

var note = append([]byte(`{"amount":100,"note":"`), append(bytes.Repeat([]byte("x"), 104), `"}`...)...)

// BenchmarkAgainstFloor appends the same events in turn to a bare table, as
// one pipelined batch behind an advisory lock so that positions are in order,
// and to the store: a batch here, a batch there, so that both meet the same
// machine. One operation is one batch; the ratio is what the contract costs, 1
// is nothing.
func BenchmarkAgainstFloor(b *testing.B) {
	for _, batch := range []int{1, 64} {
		for _, requests := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/requests=%t", batch, requests), func(b *testing.B) {
				dsn := schema(b)
				floor := openFloor(b, dsn)
				s := open(b, dsn, postgres.Config{})
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
// transaction and a round trip of its own.
func openFloor(b *testing.B, dsn string) func(from, n int) {
	c := connect(b, dsn)
	if _, err := c.Exec(b.Context(), `CREATE TABLE events(pos BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream TEXT NOT NULL,
		version BIGINT NOT NULL, type TEXT NOT NULL, ts TIMESTAMPTZ NOT NULL, data BYTEA NOT NULL, UNIQUE(stream, version))`); err != nil {
		b.Fatal(err)
	}
	return func(from, n int) {
		var all pgx.Batch
		all.Queue(`SELECT pg_advisory_xact_lock(7)`)
		for at := from; at < from+n; at++ {
			all.Queue(`INSERT INTO events(stream, version, type, ts, data) VALUES($1,$2,$3,$4,$5)`,
				fmt.Sprintf("account-%d", at%accounts), at/accounts+1, "deposited", time.Now(), note)
		}
		if err := c.SendBatch(context.Background(), &all).Close(); err != nil {
			b.Fatal(err)
		}
	}
}
