package view_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/view"
)

type counted struct{ N int }

func (counted) WowEvent() *wow.EventType { return &countedEvent }

var countedEvent = wow.EventType{Aggregates: []string{"gen.counter"}, Name: "counted", Revision: 1,
	Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
		var e counted
		err := decode(data, &e)
		return e, err
	}}

// notAlone is a store that several processes write to.
type notAlone struct{ store.Store }

func (notAlone) Sole() bool { return false }

// release is a process with one generation of a view that counts.
type release struct {
	r        *wowrt.Runtime
	v        *view.View
	table    string
	replayed atomic.Int64 // commits handled while it did not answer
	live     atomic.Int64 // and while it did
	swapped  atomic.Int64 // the generation that it took over from
}

func begin(t *testing.T, db *sql.DB, d view.Dialect, s store.Store, number int) *release {
	t.Helper()
	rel := new(release)
	g := view.Generation{Number: number}
	rel.table = g.Table("counts")
	g.Prepare = func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+rel.table+` (id TEXT PRIMARY KEY, n BIGINT NOT NULL)`)
		return err
	}
	g.Swap = func(ctx context.Context, tx *sql.Tx, old int) error {
		rel.swapped.Store(int64(old))
		return nil
	}
	var err error
	rel.v, err = view.OpenGeneration(t.Context(), db, d, "gen.projection.counts", s.ID(), g)
	require.NoError(t, err)
	add := map[view.Dialect]string{view.SQLite: "(?, ?)", view.PostgreSQL: "($1, $2)"}[d]
	rel.r = wowrt.New(wowrt.Config{Store: notAlone{s}, Logger: slog.New(slog.DiscardHandler)})
	rel.r.AddProjection(wowrt.Projection{
		Name: "gen.projection.counts", Generation: number,
		Functions:   []wowrt.Function{{Name: "on_counted", Event: &countedEvent}},
		Transaction: &wowrt.Transaction{Resume: rel.v.Resume, Run: rel.v.Run},
		OnEvent: func(ctx context.Context, in *wowrt.Recorded, _ *wowrt.Reaction) error {
			if view.Replaying(ctx) {
				rel.replayed.Add(1)
			} else {
				rel.live.Add(1)
			}
			_, err := view.Tx(ctx).ExecContext(ctx, `INSERT INTO `+rel.table+` AS old (id, n) VALUES `+add+
				` ON CONFLICT (id) DO UPDATE SET n = old.n + excluded.n`, in.Target.ID, in.Event.(counted).N)
			return err
		},
	})
	require.NoError(t, rel.r.Start(t.Context()))
	return rel
}

func rows(t *testing.T, db *sql.DB, table string) map[string]int {
	t.Helper()
	found, err := db.Query(`SELECT id, n FROM ` + table)
	require.NoError(t, err)
	defer found.Close()
	all := map[string]int{}
	for found.Next() {
		var id string
		var n int
		require.NoError(t, found.Scan(&id, &n))
		all[id] = n
	}
	require.NoError(t, found.Err())
	return all
}

// A second release counts anew beside the first, while commits go on, and takes
// over; the first stops. In the end the rows are those of the history.
func TestARebuildUnderLoadEndsWithTheSameRowsAsTheLiveOne(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		for _, table := range []string{"counts", "counts_2"} {
			_, err := db.Exec(`DROP TABLE IF EXISTS ` + table)
			require.NoError(t, err)
		}
		s := memory.New()
		want, versions := map[string]int{}, map[string]int64{}
		add := func(n int) {
			t.Helper()
			var batch []*store.Commit
			for i := range n {
				id := fmt.Sprint("k", i%17)
				versions[id]++
				event := store.Event{Name: "counted", Revision: 1, Codec: store.JSON, Data: fmt.Appendf(nil, `{"N":%d}`, i%5)}
				if i%10 == 9 {
					event.Name = "other" // that nobody counts
				} else {
					want[id] += i % 5
				}
				batch = append(batch, &store.Commit{Target: wow.Target{Aggregate: "gen.counter", ID: id}, Version: versions[id],
					ID: uuid.NewString(), DecidedAt: time.Now().UnixMicro(), Events: []store.Event{event}})
			}
			for _, r := range s.Append(t.Context(), batch) {
				require.Equal(t, store.Stored, r.Status, r.Err)
			}
		}
		eventually := func(what string, ok func() bool) {
			t.Helper()
			for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("not within a minute: %s", what)
				}
			}
		}
		active := func(v *view.View) int {
			n, err := v.Active(t.Context())
			require.NoError(t, err)
			return n
		}
		stop := func(r *release) { require.NoError(t, r.r.Stop(context.Background())) }

		old := begin(t, db, d, s, 1)
		add(20_000)
		eventually("the first release has counted", func() bool { return old.live.Load() == 18_000 })
		require.Equal(t, 1, active(old.v))

		next := begin(t, db, d, s, 2)
		for active(next.v) == 1 {
			add(20) // neither waits for the other
			time.Sleep(5 * time.Millisecond)
		}
		require.EqualValues(t, 1, next.swapped.Load())
		require.GreaterOrEqual(t, next.replayed.Load(), int64(18_000))
		replayed := next.replayed.Load()
		for range 20 {
			add(50)
		}
		caughtUp := func(r *release) func() bool {
			c, err := r.r.Consumer("gen.projection.counts@2")
			require.NoError(t, err)
			return func() bool {
				st, err := c.Status(t.Context())
				require.NoError(t, err)
				return st.Lag == 0
			}
		}
		eventually("the second release has counted all", caughtUp(next))
		require.Equal(t, want, rows(t, db, "counts_2"))
		require.Positive(t, next.live.Load())
		require.Equal(t, replayed, next.replayed.Load(), "it answers, so it does not replay")

		c, err := old.r.Consumer("gen.projection.counts")
		require.NoError(t, err)
		eventually("the first release has stopped", func() bool {
			st, err := c.Status(t.Context())
			require.NoError(t, err)
			return st.Unhealthy != ""
		})
		st, err := c.Status(t.Context())
		require.NoError(t, err)
		require.Contains(t, st.Unhealthy, "a newer generation has taken over")
		before := rows(t, db, "counts")
		stop(next)
		add(100)
		stop(old)
		require.Equal(t, before, rows(t, db, "counts"), "the first changes nothing any more")

		again := begin(t, db, d, s, 2) // a restart goes on
		eventually("the rest is counted", caughtUp(again))
		require.Equal(t, want, rows(t, db, "counts_2"))
		require.EqualValues(t, 90, again.live.Load())
		require.Zero(t, again.replayed.Load())
		stop(again)
	})
}

// A rebuild that died after it had asked the live one to wait holds it up for a
// while only.
func TestARebuildThatDiesHoldsNobodyUpForLong(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		v, err := view.OpenGeneration(t.Context(), db, d, "v", "h", view.Generation{Number: 1})
		require.NoError(t, err)
		_, err = v.Resume(t.Context(), 0)
		require.NoError(t, err)
		nothing := func(context.Context) error { return nil }
		require.NoError(t, v.Run(t.Context(), at(1), nothing))
		want := func(until int64) {
			_, err := db.Exec(fmt.Sprintf(`UPDATE wow_view_active SET wanted = 2, until = %d WHERE name = 'v'`, until))
			require.NoError(t, err)
		}
		want(math.MaxInt64)
		require.ErrorIs(t, v.Run(t.Context(), at(2), nothing), view.ErrWaits)
		want(time.Now().Add(-time.Second).UnixMicro())
		require.NoError(t, v.Run(t.Context(), at(2), nothing))
	})
}

// Rows from before there were generations are those of the first.
func TestAViewFromBeforeGenerationsIsTheFirst(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d view.Dialect) {
		v := open(t, db, d, "h")
		_, err := v.Resume(t.Context(), 0)
		require.NoError(t, err)
		_, err = db.Exec(`DROP TABLE wow_view_active`)
		require.NoError(t, err)
		next, err := view.OpenGeneration(t.Context(), db, d, "shop.projection.sales", "h", view.Generation{Number: 3})
		require.NoError(t, err)
		active, err := next.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, active)
		fresh, err := view.OpenGeneration(t.Context(), db, d, "shop.projection.new", "h", view.Generation{Number: 3})
		require.NoError(t, err)
		active, err = fresh.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, active, "the first that there is answers at once")
		_, err = view.OpenGeneration(t.Context(), db, d, "x", "h", view.Generation{})
		require.ErrorContains(t, err, "generations begin with 1")
	})
}
