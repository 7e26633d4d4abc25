package runtime

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/view"
)

type noUnpark struct {
	store.Store
	down atomic.Bool
	slow atomic.Bool
}

func (s *noUnpark) Unpark(ctx context.Context, consumer, function string, at wow.Position, c *store.Checkpoint) error {
	if s.down.Swap(false) {
		return errors.New("connection reset")
	}
	return s.Store.Unpark(ctx, consumer, function, at, c)
}

func (s *noUnpark) Read(ctx context.Context, after wow.Position, limit int) ([]*store.Commit, error) {
	if s.slow.Load() {
		time.Sleep(300 * time.Millisecond)
	}
	return s.Store.Read(ctx, after, limit)
}

type viewBench struct {
	db     *sql.DB
	broken atomic.Bool
	die    atomic.Bool // a transaction that parks something is not committed
}

func (vb *viewBench) start(t *testing.T, s store.Store) *bench {
	v, err := view.Open(t.Context(), vb.db, view.SQLite, "test.projection.p", s.ID())
	require.NoError(t, err)
	p := projecting(func(ctx context.Context, in *Recorded, _ *Reaction) error {
		if vb.broken.Load() && in.Target.ID == "a" {
			return wow.Permanent
		}
		_, err := view.Tx(ctx).Exec(`INSERT INTO counts (id, n) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET n = n + 1`, in.Target.ID)
		return err
	})
	p.Transaction = &Transaction{Resume: v.Resume, Run: func(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
		return v.Run(ctx, done, func(ctx context.Context) error {
			if err := handle(ctx); err != nil {
				return err
			}
			if vb.die.Load() && done.Seq >= 2 {
				return errors.New("the process dies here, before the commit")
			}
			return nil
		})
	}}
	return started(t, s, only(p))
}

func newViewBench(t *testing.T) *viewBench {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "v.db")+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE counts (id TEXT PRIMARY KEY, n INT)`)
	require.NoError(t, err)
	return &viewBench{db: db}
}

func (vb *viewBench) count(t *testing.T, id string) (n int) {
	require.NoError(t, vb.db.QueryRow(`SELECT COALESCE(MAX(n), 0) FROM counts WHERE id = ?`, id).Scan(&n))
	return n
}

// The answer of Unpark is lost (or the process dies before it): it counts once.
func TestARetryOfAViewCountsOnce(t *testing.T) {
	vb, s := newViewBench(t), &noUnpark{Store: memoryStore(t)}
	vb.broken.Store(true)
	b := vb.start(t, s)
	b.append("a", tallyAdded{1})
	b.settled("test.projection.p")
	vb.broken.Store(false)
	s.down.Store(true)
	c := Consumer{b.cs.all[0]}
	require.ErrorContains(t, c.Retry(t.Context(), tallyTarget("a")), "connection reset")
	require.Equal(t, 1, vb.count(t, "a"))
	s.down.Store(false)
	require.NoError(t, c.Retry(t.Context(), tallyTarget("a")))
	require.Equal(t, 1, vb.count(t, "a"))
	require.Empty(t, parkedOf(t, b, "a"))
}

// Parked behind, process dies before the view's commit, the next one retries
// before it comes to the commit: it counts once.
func TestAWishBeforeTheFeedCountsOnce(t *testing.T) {
	vb, s := newViewBench(t), &noUnpark{Store: memoryStore(t)}
	vb.broken.Store(true)
	b := vb.start(t, s)
	b.append("a", tallyAdded{1})
	b.settled("test.projection.p")
	vb.die.Store(true)
	b.append("a", tallyAdded{1})
	time.Sleep(200 * time.Millisecond)
	b.stop()
	vb.broken.Store(false)
	vb.die.Store(false)
	require.NoError(t, Ask(t.Context(), s, "test.projection.p", Wish{Do: WishRetry, Target: tallyTarget("a")}))
	s.slow.Store(true) // the wish is first
	again := vb.start(t, s)
	again.settled("test.projection.p")
	for end := time.Now().Add(10 * time.Second); vb.count(t, "a") < 2 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	require.Equal(t, 2, vb.count(t, "a"), "two commits")
}

// A Resume that hangs ends the renewals of all.
func TestAResumeThatHangsStopsNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryStore(t)
		gate := make(chan struct{})
		var hang atomic.Bool
		begin := func(owner string) *bench {
			p := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
			q := projecting(func(context.Context, *Recorded, *Reaction) error { return nil })
			q.Name = "test.projection.q"
			q.Transaction = &Transaction{
				Resume: func(ctx context.Context, shard int32) (wow.Position, error) {
					if owner == "a" && hang.Load() {
						select { // its database does not answer
						case <-gate:
						case <-ctx.Done():
						}
					}
					return wow.Position{}, nil
				},
				Run: func(ctx context.Context, _ wow.Position, f func(context.Context) error) error { return f(ctx) },
			}
			b := newBench(t, &shared{Store: s}, Handlers{Projections: []Projection{p, q}})
			b.env.owner = owner
			b.start()
			return b
		}
		a, b := begin("a"), begin("b")
		time.Sleep(20 * time.Second)
		require.Equal(t, map[string]string{"test.projection.p": "a", "test.projection.q": "b"}, owners(t, a, b))
		hang.Store(true)
		b.stop()
		time.Sleep(5 * time.Second) // a takes q, and its Resume hangs
		c := begin("c")
		time.Sleep(30 * time.Second)
		by := owners(t, a, c) // fails when two run one
		require.Len(t, by, 2)
		close(gate)
		time.Sleep(10 * time.Second)
	})
}

// Two runtimes on one store in memory.
func TestTwoRuntimesOnOneStoreKeepWhatTheyHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := memoryStore(t), new(handled)
		begin := func(name string) *bench {
			p := projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
				h.note(name, "p", &in.EventMeta)
				return nil
			})
			b := newBench(t, s, only(p))
			b.env.owner = name
			b.start()
			return b
		}
		a, b := begin("a"), begin("b")
		for i := range 60 {
			time.Sleep(time.Second)
			a.append(fmt.Sprint("k", i%3), tallyAdded{1})
		}
		time.Sleep(20 * time.Second)
		owners(t, a, b)
		h.check(t, 60)
	})
}

// What a handler sends over the bus has no propagated metadata.
func TestMetadataGoesOnOverTheBus(t *testing.T) {
	for _, both := range []bool{true, false} {
		t.Run(fmt.Sprint("registered here too: ", both), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := memoryStore(t), new(bus.Local)
				d := overBus(t, s, b, true)
				r := New(Config{Store: &shared{Store: s}, Bus: b, Logger: slog.New(slog.DiscardHandler), Propagate: []string{"trace"}})
				if both {
					r.AddAggregate(accounts())
				}
				r.AddProcessor(Processor{Name: "bank.processor.p", Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
					OnEvent: func(ctx context.Context, in *Recorded, _ *Reaction) error {
						if in.Target.ID == "a" {
							_, err := r.Gateway().Send(ctx, Deposit{ID: "b", Amount: 1})
							return err
						}
						return nil
					}})
				require.NoError(t, r.Start(t.Context()))
				defer r.Stop(context.Background())
				_, err := d.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 5}, WithMetadata(map[string]string{"trace": "t1"}))
				require.NoError(t, err)
				time.Sleep(time.Minute)
				history, err := s.Stream(t.Context(), accountTarget("b"), 0, 10)
				require.NoError(t, err)
				require.Len(t, history, 1)
				require.Equal(t, "t1", history[0].Metadata["trace"])
			})
		})
	}
}
