package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
)

// ledger is a database with transactions: rows, and the progress of the
// projection that writes them.
type ledger struct {
	rows     []string // "aggregate version", in the order of their commits
	progress int64
	commits  int
	broken   func() (before, after bool) // a commit that fails, or whose answer is lost
}

type ledgerTx struct{ rows []string }

type ledgerKey struct{}

func (l *ledger) transaction() *Transaction {
	return &Transaction{
		Resume: func(context.Context, int32) (wow.Position, error) { return wow.Position{Seq: l.progress}, nil },
		Run: func(ctx context.Context, done wow.Position, handle func(context.Context) error) error {
			tx := &ledgerTx{}
			if err := handle(context.WithValue(ctx, ledgerKey{}, tx)); err != nil {
				return err
			}
			before, after := false, false
			if l.broken != nil {
				before, after = l.broken()
			}
			if before {
				return errors.New("connection reset")
			}
			if done.Seq < l.progress {
				return fmt.Errorf("the progress goes back from %d to %d", l.progress, done.Seq)
			}
			l.rows, l.progress = append(l.rows, tx.rows...), done.Seq
			l.commits++
			if after {
				return errors.New("connection reset after the commit")
			}
			return nil
		},
	}
}

// writing is a projection into a ledger. fail says what fails.
func writing(l *ledger, fail func(in *Recorded) error) Projection {
	p := projecting(func(ctx context.Context, in *Recorded, _ *Reaction) error {
		tx := ctx.Value(ledgerKey{}).(*ledgerTx)
		tx.rows = append(tx.rows, fmt.Sprint(in.Target.ID, " ", in.Version))
		return fail(in)
	})
	for i := range p.Functions {
		p.Functions[i].Retry = Retry{Max: 2}
	}
	p.Transaction = l.transaction()
	return p
}

func fine(*Recorded) error { return nil }

func TestATransactionalProjectionTakesManyCommitsInOneTransaction(t *testing.T) {
	l := &ledger{}
	p := writing(l, fine)
	b := newBench(t, memoryStore(t), only(p))
	for range 1000 {
		b.append("a", tallyAdded{1})
		b.append("b", tallyLabel{"not for it"})
	}
	b.start()
	b.settled(p.Name)
	b.stop()
	require.Len(t, l.rows, 1000)
	require.EqualValues(t, 2000, l.progress)
	require.LessOrEqual(t, l.commits, 2000/tailBatch+5)
}

func TestATransactionalProjectionParksTheCulpritAndKeepsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, mended := &ledger{}, false
		p := writing(l, func(in *Recorded) error {
			if e, ok := in.Event.(tallyRemoved); ok && e.N == 13 && !mended {
				return errBroken
			}
			return nil
		})
		b := newBench(t, memoryStore(t), only(p))
		b.append("a", tallyAdded{1})
		b.append("b", tallyAdded{1}, tallyRemoved{13}, tallyAdded{1})
		b.append("b", tallyAdded{1})
		b.append("a", tallyAdded{1})
		b.start()
		b.settled(p.Name)
		require.Equal(t, []string{"a 1", "a 2"}, l.rows, "nothing of the commit that failed half-way is there")
		require.Equal(t, []string{"2", "3"}, parkedOf(t, b, "b"))
		list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), tallyTarget("b"), wow.Position{}, 1)
		require.NoError(t, err)
		require.Equal(t, "on_removed: the shelf is broken", list[0].Error)
		require.Equal(t, 3, list[0].Attempts)
		require.EqualValues(t, 4, l.progress)

		c := Consumer{b.cs.all[0]}
		require.ErrorIs(t, c.Retry(t.Context(), tallyTarget("b")), errBroken)
		require.Equal(t, []string{"a 1", "a 2"}, l.rows)
		mended = true
		require.NoError(t, c.Retry(t.Context(), tallyTarget("b")))
		b.append("b", tallyAdded{1})
		b.settled(p.Name)
		require.Equal(t, []string{"a 1", "a 2", "b 1", "b 1", "b 1", "b 2", "b 3"}, l.rows)
		b.stop()
	})
}

func TestADatabaseThatDoesNotAnswerParksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		l := &ledger{broken: func() (bool, bool) { return down.Load(), false }}
		p := writing(l, fine)
		b := started(t, memoryStore(t), only(p))
		b.append("a", tallyAdded{1})
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, l.rows)
		down.Store(false)
		b.settled(p.Name)
		require.Equal(t, []string{"a 1"}, l.rows)
		require.Empty(t, parkedOf(t, b, "a"))
		b.stop()
	})
}

// TestP8EffectAndProgressOfATransactionalProjectionAreOne runs lives that end in
// the middle, over a database that loses commits and answers. In the end each
// commit has taken effect exactly once, in the order of positions.
func TestP8EffectAndProgressOfATransactionalProjectionAreOne(t *testing.T) {
	for run := range 40 {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(8, uint64(run)))
			history := memory.New()
			defer history.Close()
			l := &ledger{}
			var want []string
			const lives = 6
			for life := range lives {
				m := &mortal{Store: history, t: t}
				m.calls.Store(int64(1 + rng.IntN(60)))
				if life == lives-1 {
					m.calls.Store(1 << 40)
				}
				l.broken = func() (bool, bool) {
					if m.dead.Load() {
						return true, false
					}
					before, after := rand.IntN(10) == 0, rand.IntN(10) == 0
					if rand.IntN(15) == 0 && life < lives-1 {
						m.dead.Store(true)
					}
					return before, after
				}
				p := writing(l, func(*Recorded) error {
					if rand.IntN(20) == 0 {
						return errBroken
					}
					return nil
				})
				for i := range p.Functions {
					p.Functions[i].Retry.Max = 1000
				}
				b := newBench(t, m, Handlers{})
				require.NoError(t, b.cs.build(only(p)))
				if b.cs.open(t.Context()) != nil {
					b.die()
					continue
				}
				b.cs.start(t.Context())
				b.store = history
				for range 30 {
					for range rng.IntN(4) {
						c := b.append(fmt.Sprint(rng.IntN(3)), tallyAdded{1})
						want = append(want, fmt.Sprint(c.Target.ID, " ", c.Version))
					}
					time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
				}
				b.store = m
				if life < lives-1 {
					b.die()
					continue
				}
				b.settled(p.Name)
				b.stop()
			}
			if !slices.Equal(l.rows, want) {
				t.Errorf("run %d: rows %v, want %v", run, l.rows, want)
			}
		})
	}
}
