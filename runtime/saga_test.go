package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
)

// post takes what sagas send, as the command side would: a request takes effect
// once, and answers as it did the first time.
type post struct {
	mu      sync.Mutex
	answers map[string]error // by request
	effects []string         // "target N", in order
	sends   int
	decide  func(cmd tallySet) error // nil: accept
	fail    func(cmd tallySet) error // before anything happens
}

func (p *post) send(_ context.Context, cmd wow.Sendable, request string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sends++
	c := cmd.(tallySet)
	if p.fail != nil {
		if err := p.fail(c); err != nil {
			return err
		}
	}
	if err, known := p.answers[request]; known {
		return err
	}
	var err error
	if p.decide != nil {
		err = p.decide(c)
	}
	if p.answers == nil {
		p.answers = map[string]error{}
	}
	p.answers[request] = err
	if err == nil {
		p.effects = append(p.effects, fmt.Sprint(c.ID, " ", c.N))
	}
	return err
}

// doubling is a saga that answers each added with two commands, and each
// refusal with a third.
func doubling(refused bool) Saga {
	s := Saga{
		Name:      "test.saga.s",
		Functions: []Function{{Name: "on_added", Event: &tallyAddedType, Retry: Retry{Max: 3}}},
		OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			n := in.Event.(tallyAdded).N
			out.Send(tallySet{"x", n}, tallySet{"y", n})
			return nil
		},
	}
	if refused {
		s.Functions = append(s.Functions, Function{Name: "on_set_refused", Refused: &tallySetType})
		s.OnRefused = func(_ context.Context, in *RefusedCommand, out *Outbox) error {
			out.Send(tallySet{"z", in.Body.(tallySet).N})
			return nil
		}
	}
	return s
}

func sagaBench(t *testing.T, p *post, s Saga) *bench {
	b := newBench(t, memoryStore(t), Handlers{})
	b.env.send = p.send
	if err := b.cs.build(Handlers{Sagas: []Saga{s}}); err != nil {
		t.Fatal(err)
	}
	b.start()
	return b
}

func TestASagasRetryFindsItsFirstCommandDoneAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, failed := &post{}, false
		p.fail = func(c tallySet) error {
			if c.ID == "y" && !failed {
				failed = true
				return wow.ErrUnknownOutcome
			}
			return nil
		}
		b := sagaBench(t, p, doubling(false))
		b.append("a", tallyAdded{7})
		b.settled("test.saga.s")
		if want := []string{"x 7", "y 7"}; !slices.Equal(p.effects, want) {
			t.Errorf("effects %q, want %q", p.effects, want)
		}
		if p.sends != 4 {
			t.Errorf("%d sends, want 4: the first command twice, the second twice", p.sends)
		}
		b.stop()
	})
}

func TestASagasCommandsTakeEffectOnceWhenItsMessageComesAgain(t *testing.T) {
	s := memoryStore(t)
	p := &post{decide: func(c tallySet) error {
		if c.ID == "y" {
			return wow.Refuse("full", "no room")
		}
		return nil
	}}
	for life := range 3 {
		// Each life but the last loses its checkpoint: it is stopped before one is
		// stored, and the next sees the same commits.
		b := newBench(t, s, Handlers{})
		b.env.send = p.send
		require.NoError(t, b.cs.build(Handlers{Sagas: []Saga{doubling(true)}}))
		b.start()
		if life == 0 {
			b.append("a", tallyAdded{7}, tallyAdded{8})
		}
		b.settled("test.saga.s")
		if life < 2 {
			b.cs.all[0].feeds[0].lost.Store(true) // it may store nothing any more
		}
		b.stop()
	}
	require.Equal(t, []string{"x 7", "z 7", "x 8", "z 8"}, p.effects)
	require.Len(t, p.answers, 6)
	require.Equal(t, 18, p.sends)
}

func TestRequestIDsOfASagaAreFrozen(t *testing.T) {
	// These are stored: a change would send the commands of old commits again.
	require.Equal(t, "0c86dd20-0ac4-84d5-be03-88c2d9f9f06b", sagaRequest("shop.saga.checkout", "on_order_placed", "0198e0c4-7f00-7000-8000-000000000001/0", 0))
	seen := map[string]bool{}
	for _, consumer := range []string{"a", "b"} {
		for _, function := range []string{"f", "g"} {
			for _, cause := range []string{"c/0", "c/1", "c/state"} {
				for i := range 3 {
					seen[sagaRequest(consumer, function, cause, i)] = true
				}
			}
		}
	}
	require.Len(t, seen, 2*2*3*3)
}

func TestARefusalWithoutAMethodParksUnlessIgnored(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		p := &post{decide: func(tallySet) error { return wow.Refuse("full", "no room") }}
		s := doubling(false)
		s.IgnoreRefused = ignore
		b := sagaBench(t, p, s)
		b.append("a", tallyAdded{7})
		b.settled("test.saga.s")
		list, err := Consumer{b.cs.all[0]}.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
		require.NoError(t, err)
		if ignore {
			require.Empty(t, list)
			require.Equal(t, 2, p.sends)
			continue
		}
		require.Len(t, list, 1)
		require.Equal(t, 1, list[0].Attempts)
		require.Contains(t, list[0].Error, "runtime.tallySet was refused by test.tally/x, and no method takes that: no room")
	}
}

func TestAnInvalidCommandOfASagaIsParkedAtOnce(t *testing.T) {
	p := &post{fail: func(tallySet) error { return fmt.Errorf("no such field: %w", wow.ErrInvalid) }}
	b := sagaBench(t, p, doubling(false))
	b.append("a", tallyAdded{7})
	b.settled("test.saga.s")
	require.Equal(t, 1, p.sends)
	require.Equal(t, []string{"1 on_added"}, parkedOf(t, b, "a"))
}

// TestAChainOfSagasThatNeverEndsIsCut has a saga whose command makes the event
// that makes it send the command.
func TestAChainOfSagasThatNeverEndsIsCut(t *testing.T) {
	var sent atomic.Int64
	r := New(Config{Logger: slog.New(slog.DiscardHandler)})
	r.AddAggregate(accounts())
	r.AddSaga(Saga{
		Name:      "bank.saga.loop",
		Functions: []Function{{Name: "on_deposited", Event: &depositedEvent}},
		Sends:     []*wow.CommandType{&depositCommand},
		OnEvent: func(_ context.Context, in *Recorded, out *Outbox) error {
			sent.Add(1)
			out.Send(Deposit{ID: in.Target.ID + "i", Amount: 1})
			return nil
		},
	})
	require.NoError(t, r.Start(t.Context()))
	defer r.Stop(context.Background())
	_, err := r.Gateway().Send(t.Context(), Deposit{ID: "a", Amount: 1})
	require.NoError(t, err)
	c, err := r.Consumer("bank.saga.loop")
	require.NoError(t, err)
	// The first command comes from outside, so commit 101 holds the 100th of the
	// chain, and the saga's command for it would be the 101st.
	for seq := int64(1); seq <= chainMax+1; seq++ {
		require.NoError(t, r.Store().Wait(t.Context(), wow.Position{Seq: seq - 1}))
		if err = r.Gateway().Wait(t.Context(), wow.Position{Seq: seq}, SagaHandled); seq <= chainMax {
			require.NoError(t, err)
		}
	}
	require.ErrorIs(t, err, wow.ErrParked)
	list, err := c.Parked(t.Context(), wow.Target{}, wow.Position{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, strings.Contains(list[0].Error, "number 101 of a chain"), list[0].Error)
	head, err := r.Store().Head(t.Context(), 0)
	require.NoError(t, err)
	require.EqualValues(t, chainMax+1, head.Seq)
	require.EqualValues(t, chainMax+1, sent.Load())
}

func TestASagaThatPanicsParksAndOthersGoOn(t *testing.T) {
	p := &post{}
	s := doubling(true)
	s.Functions[0].Retry.Max = -1
	handle := s.OnEvent
	s.OnEvent = func(ctx context.Context, in *Recorded, out *Outbox) error {
		if in.Target.ID == "a" {
			panic(errors.New("boom"))
		}
		return handle(ctx, in, out)
	}
	b := sagaBench(t, p, s)
	b.append("a", tallyAdded{7})
	b.append("b", tallyAdded{8})
	b.settled("test.saga.s")
	require.Equal(t, []string{"x 8", "y 8"}, p.effects)
	require.Equal(t, []string{"1 on_added"}, parkedOf(t, b, "a"))
}
