package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
	"github.com/wowgen/wow/runtime/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(testing.TB) store.Store { return memory.New() }

func TestContract(t *testing.T) { storetest.Run(t, open, storetest.Options{}) }

// single has every batch of one go the short way.
type single struct{ *memory.Store }

func (s single) Append(ctx context.Context, entries []*store.Commit) []store.Result {
	if len(entries) == 1 && ctx.Err() == nil {
		return []store.Result{s.AppendOne(entries[0])}
	}
	return s.Store.Append(ctx, entries)
}

func TestContractOfAppendOne(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Store { return single{memory.New()} }, storetest.Options{Load: 0.2})
}

func BenchmarkStore(b *testing.B) { storetest.Bench(b, open) }

func TestKeptOutcomesExpireAndCommitsDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		target := wow.Target{Aggregate: "shop.cart", ID: "a"}
		commit := func(version int64, id string) store.Result {
			return s.Append(t.Context(), []*store.Commit{{
				Target: target, Version: version, ID: id, Request: id, Events: []store.Event{{Name: "e"}},
			}})[0]
		}
		settle := func(request string) store.Settled {
			t.Helper()
			got, err := s.Settle(t.Context(), []store.Settlement{{
				Target: target, Version: 1, Keep: true, Outcome: store.Outcome{Kind: store.NoOp, Request: request, Version: 1},
			}})
			if err != nil {
				t.Fatal(err)
			}
			return got[0]
		}
		commit(1, "r1")
		settle("r2")
		time.Sleep(store.OutcomeRetention)
		if got := settle("r2"); got.First == nil {
			t.Error("the outcome was forgotten too early")
		}
		time.Sleep(time.Second)
		if got := settle("r3"); got.First != nil {
			t.Errorf("r3 came to %+v before", got.First)
		}
		if got := settle("r2"); got.First != nil {
			t.Errorf("the outcome %+v outlived its retention", got.First)
		}
		if got := commit(2, "r1"); got.Status != store.Stored || got.Position.Seq != 1 {
			t.Errorf("the commit's request came to %+v", got)
		}
	})
}

func TestAppendWakesWhoWaitsAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		woken := make(chan int64, 2)
		for _, after := range []int64{0, 1} {
			go func() {
				if err := s.Wait(t.Context(), wow.Position{Seq: after}); err != nil {
					t.Error(err)
				}
				woken <- after
			}()
		}
		synctest.Wait() // both wait
		for version := range int64(2) {
			s.Append(t.Context(), []*store.Commit{{
				Target:  wow.Target{Aggregate: "shop.cart", ID: "a"},
				Version: version + 1, ID: string(rune('a' + version)), Events: []store.Event{{Name: "e"}},
			}})
			synctest.Wait()
			if n := len(woken); n != 1 {
				t.Fatalf("append %d woke %d, want 1", version+1, n)
			}
			if got := <-woken; got != version {
				t.Errorf("append %d woke the one behind %d", version+1, got)
			}
		}
	})
}

func TestAppendOfOneCommitAllocatesItsAnswerOnly(t *testing.T) {
	s := memory.New()
	version := int64(0)
	batch := make([]*store.Commit, 1)
	commits, events := make([]store.Commit, 3000), []store.Event{{Name: "e"}}
	got := testing.AllocsPerRun(len(commits)-1, func() {
		commits[version] = store.Commit{
			Target: wow.Target{Aggregate: "shop.cart", ID: "a"}, Version: version + 1, ID: "c", Events: events,
		}
		batch[0] = &commits[version]
		version++
		if r := s.Append(t.Context(), batch); r[0].Status != store.Stored {
			t.Fatal(r[0])
		}
	})
	if got > 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
