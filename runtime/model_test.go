package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/memory"
	"github.com/wowgen/wow/runtime/store"
)

// model is what the command side promises, in a map: balances, versions, and
// the first answer of each request.
type model struct {
	accounts map[string]*account
	answers  map[string]answer // by account and request
}

type account struct {
	balance, version int64
}

type answer struct {
	code    string
	version int64
}

// send is what the answer to a command must be.
func (m *model) send(cmd wow.Sendable, request string, expected int64) answer {
	id := cmd.WowTarget().ID
	if first, ok := m.answers[id+"/"+request]; ok && request != "" {
		return first
	}
	a := m.accounts[id]
	if a == nil {
		a = &account{}
		m.accounts[id] = a
	}
	got := m.decide(a, cmd, expected)
	if request != "" && got.code != "conflict" {
		m.answers[id+"/"+request] = got
	}
	return got
}

func (m *model) decide(a *account, cmd wow.Sendable, expected int64) answer {
	_, create := cmd.(OpenAccount)
	withdraw, exists := cmd.(Withdraw)
	switch {
	case exists && a.version == 0:
		return answer{code: "not_found"}
	case create && a.version > 0:
		return answer{code: "already_exists"}
	case expected != 0 && expected != a.version:
		return answer{code: "conflict"}
	}
	switch c := cmd.(type) {
	case OpenAccount:
		a.balance += c.First
	case Deposit:
		if c.Amount < 0 {
			return answer{code: "negative"}
		}
		if c.Amount == 0 {
			return answer{version: a.version}
		}
		a.balance += c.Amount
	case Withdraw:
		if a.balance < c.Amount {
			return answer{code: "refused"}
		}
		a.balance -= withdraw.Amount
	}
	a.version++
	return answer{version: a.version}
}

// TestCommandPathAgainstItsModel runs random commands on two nodes with tiny
// caches and one store, which now and then loses an answer.
func TestCommandPathAgainstItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s store.Store = memory.New()
		nodes := 1
		if rapid.Bool().Draw(t, "committer") {
			lossy := &faulty{Store: s}
			n := 0
			lossy.append = func(es []*store.Commit, next func([]*store.Commit) []store.Result) []store.Result {
				results := next(es)
				if n++; n%5 == 0 {
					return all(es, store.Result{Status: store.Unknown, Err: errors.New("lost")})
				}
				return results
			}
			s, nodes = lossy, 2
		}
		var gs []*Gateway
		for range nodes {
			r := New(Config{Store: s, Cache: CacheConfig{Entries: 2}})
			r.AddAggregate(accounts())
			if err := r.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			defer r.Stop(context.Background())
			gs = append(gs, r.Gateway())
		}
		m := &model{accounts: map[string]*account{}, answers: map[string]answer{}}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for id, a := range m.accounts {
					got, version, err := gs[0].Load(context.Background(), accountTarget(id), &accountState)
					if err != nil || version != a.version || got.(*Account).Balance != a.balance {
						t.Fatalf("%s is %v at version %d (%v), want %+v", id, got, version, err, *a)
					}
				}
			},
			"send": func(t *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")
				amount := rapid.Int64Range(-1, 5).Draw(t, "amount")
				cmd := rapid.SampledFrom([]wow.Sendable{Deposit{ID: id, Amount: amount}, OpenAccount{ID: id, First: amount}, Withdraw{ID: id, Amount: max(amount, 0)}}).Draw(t, "cmd")
				request := rapid.SampledFrom([]string{"", "", "r1", "r2", "r3"}).Draw(t, "request")
				expected := rapid.SampledFrom([]int64{0, 0, 0, 1, 2}).Draw(t, "expected")
				node := rapid.SampledFrom(gs).Draw(t, "node")
				want := m.send(cmd, request, expected)
				receipt, err := node.Send(context.Background(), cmd, WithRequest(request), WithVersion(expected))
				if got := (answer{wow.Code(err), receipt.Version}); got != want {
					t.Fatalf("%+v request %q expected %d: got %+v (%v), want %+v", cmd, request, expected, got, err, want)
				}
			},
		})
	})
}

// bankModel is what one account looks like to many clients at once: each
// command takes effect at one point between its sending and its answer.
var bankModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(wow.Sendable).WowTarget().ID
			by[id] = append(by[id], op)
		}
		var all [][]porcupine.Operation
		for _, ops := range by {
			all = append(all, ops)
		}
		return all
	},
	Init: func() any { return account{} },
	Step: func(state, input, output any) (bool, any) {
		a := state.(account)
		got := output.(answer)
		if read, ok := input.(look); ok {
			_ = read
			return got == (answer{fmt.Sprint(a.balance), a.version}), a
		}
		want := (&model{}).decide(&a, input.(wow.Sendable), 0)
		return got == want, a
	},
}

// look is a Load in a history.
type look struct{ Deposit }

// TestHistoriesAreLinearizable records what clients of two nodes see, and has a
// checker look for an order that explains it.
func TestHistoriesAreLinearizable(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		s := newFaulty()
		nodes := []*Gateway{bank(t, Config{Store: s}), bank(t, Config{Store: s})}
		start := time.Now()
		var mu sync.Mutex
		var history []porcupine.Operation
		var wg sync.WaitGroup
		for client := range 4 {
			wg.Go(func() {
				for i := range 6 {
					n := round*100 + client*10 + i
					id := string(rune('a' + n%2))
					var in wow.Sendable
					switch n % 5 {
					case 0:
						in = OpenAccount{ID: id, First: 2}
					case 1, 2:
						in = Deposit{ID: id, Amount: int64(n % 3)}
					case 3:
						in = Withdraw{ID: id, Amount: int64(n % 7)}
					case 4:
						in = look{Deposit{ID: id}}
					}
					op := porcupine.Operation{ClientId: client, Input: in, Call: time.Since(start).Nanoseconds()}
					g := nodes[(client+i)%2]
					if _, ok := in.(look); ok {
						s, version, err := g.Load(t.Context(), accountTarget(id), &accountState)
						if err != nil {
							t.Error(err)
							return
						}
						op.Output = answer{fmt.Sprint(s.(*Account).Balance), version}
					} else {
						receipt, err := g.Send(t.Context(), in)
						op.Output = answer{wow.Code(err), receipt.Version}
					}
					op.Return = time.Since(start).Nanoseconds()
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.True(t, porcupine.CheckOperations(bankModel, history), "no order explains %+v", history)
	}
}
