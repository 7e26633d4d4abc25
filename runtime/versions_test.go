package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// Two releases of one domain, on one store. The second has another shape of an
// event, an upcaster from the first, and an event that the first does not know.

type (
	paidV1 struct{ Euros int64 }
	paidV2 struct{ Cents int64 }
	gifted struct{ Cents int64 }
	pay    struct {
		ID     string
		Amount int64
		Gift   bool
	}
	till struct{ ID string }
)

var (
	paidTypeV1 = wow.EventType{Aggregates: []string{"roll.till"}, Name: "paid", Revision: 1, Decode: decodeOf[paidV1]}
	paidTypeV2 = wow.EventType{Aggregates: []string{"roll.till"}, Name: "paid", Revision: 2, Decode: decodeOf[paidV2],
		Older: []*wow.EventType{{Name: "paid", Revision: 1, Decode: func(decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
			var old paidV1
			err := decode(data, &old)
			return paidV2{old.Euros * 100}, err
		}}}}
	giftedType = wow.EventType{Aggregates: []string{"roll.till"}, Name: "gifted", Revision: 1, Decode: decodeOf[gifted]}
	payTypes   = map[int]*wow.CommandType{}
	tillTypes  = map[int]*wow.StateType{}
)

func decodeOf[E wow.DomainEvent](decode wow.Unmarshal, data []byte) (wow.DomainEvent, error) {
	var e E
	err := decode(data, &e)
	return e, err
}

func (paidV1) WowEvent() *wow.EventType  { return &paidTypeV1 }
func (paidV2) WowEvent() *wow.EventType  { return &paidTypeV2 }
func (gifted) WowEvent() *wow.EventType  { return &giftedType }
func (*till) WowState() *wow.StateType   { return tillTypes[1] }
func (pay) WowCommand() *wow.CommandType { return payTypes[1] }
func (p pay) WowTarget() wow.Target      { return wow.Target{Aggregate: "roll.till", ID: p.ID} }

// newer is the same command in the second release.
type newer struct{ pay }

func (newer) WowCommand() *wow.CommandType { return payTypes[2] }

func init() {
	for release := 1; release <= 2; release++ {
		payTypes[release] = &wow.CommandType{Aggregate: "roll.till", Name: "pay", Mode: wow.Upsert,
			Decode: func(decode wow.Unmarshal, key string, body []byte) (wow.Sendable, error) { return pay{}, nil }}
		events := []*wow.EventType{&paidTypeV1}
		if release == 2 {
			events = []*wow.EventType{&paidTypeV2, &giftedType}
		}
		tillTypes[release] = &wow.StateType{Aggregate: "roll.till", Revision: fmt.Sprint(release), Events: events,
			New:    func(t wow.Target) wow.State { return &till{t.ID} },
			Decode: func(decode wow.Unmarshal, data []byte) (wow.State, error) { s := new(till); return s, decode(data, s) },
			Apply: func(s wow.State, e wow.DomainEvent, m *wow.EventMeta) bool {
				switch e.(type) {
				case paidV1:
					return release == 1
				case paidV2, gifted:
					return release == 2
				}
				return false
			}}
	}
}

// counted is how much a release's processor has seen of each till, in cents.
type countedTills struct {
	mu    sync.Mutex
	cents map[string]int64
}

func (c *countedTills) add(id string, cents int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cents[id] += cents
}

func rolled(t *testing.T, s store.Store, release int, seen *countedTills) *Runtime {
	r := New(Config{Store: &shared{Store: s}, Logger: slog.New(slog.DiscardHandler)})
	r.AddAggregate(Aggregate{State: tillTypes[release], Commands: []CommandHandler{{Command: payTypes[release]}},
		Decide: func(_ context.Context, _ wow.State, in *Command, out *Decision) error {
			switch c := in.Body.(type) {
			case pay:
				out.Add(paidV1{c.Amount})
			case newer:
				if c.Gift {
					out.Add(gifted{c.Amount * 100})
				} else {
					out.Add(paidV2{c.Amount * 100})
				}
			}
			return nil
		}})
	p := Processor{Name: "roll.processor.count", OnEvent: func(_ context.Context, in *Recorded, _ *Reaction) error {
		switch e := in.Event.(type) {
		case paidV1:
			seen.add(in.Target.ID, e.Euros*100)
		case paidV2:
			seen.add(in.Target.ID, e.Cents)
		case gifted:
			seen.add(in.Target.ID, e.Cents)
		}
		return nil
	}}
	p.Functions = []Function{{Name: "on_paid", Event: &paidTypeV1}}
	if release == 2 {
		p.Functions = []Function{{Name: "on_paid", Event: &paidTypeV2}, {Name: "on_gifted", Event: &giftedType}}
	}
	r.AddProcessor(p)
	require.NoError(t, r.Start(t.Context()))
	return r
}

// While the new release rolls out the old one runs the consumer and meets what it
// does not know: it waits, and the new one handles it when the old one goes.
// Nothing is parked, nothing is lost, and each decides on what it can read.
func TestTwoReleasesSideBySideOnOneStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := memoryStore(t), &countedTills{cents: map[string]int64{}}
		old := rolled(t, s, 1, seen)
		for i := range 10 {
			_, err := old.Gateway().Send(t.Context(), pay{ID: fmt.Sprint("t", i%3), Amount: 1})
			require.NoError(t, err)
		}
		next := rolled(t, s, 2, seen)
		// The new release reads the old one's history, and writes its own.
		_, err := next.Gateway().Send(t.Context(), newer{pay{ID: "t0", Amount: 2}})
		require.NoError(t, err)
		// The old one cannot decide on that, says so, and goes on with others.
		_, err = old.Gateway().Send(t.Context(), pay{ID: "t0", Amount: 1})
		require.ErrorIs(t, err, wow.ErrUnknownType)
		_, err = old.Gateway().Send(t.Context(), pay{ID: "t1", Amount: 1})
		require.NoError(t, err)
		_, err = next.Gateway().Send(t.Context(), newer{pay{ID: "t2", Amount: 3, Gift: true}})
		require.NoError(t, err)
		time.Sleep(time.Minute)

		require.NoError(t, old.Stop(t.Context()))
		time.Sleep(time.Minute)
		c, err := next.Consumer("roll.processor.count")
		require.NoError(t, err)
		st, err := c.Status(t.Context())
		require.NoError(t, err)
		require.Zero(t, st.Lag)
		require.Zero(t, st.Parked)
		_, err = next.Gateway().Send(t.Context(), newer{pay{ID: "t0", Amount: 5}})
		require.NoError(t, err)
		time.Sleep(time.Second)
		seen.mu.Lock()
		require.GreaterOrEqual(t, seen.cents["t0"], int64(400+200+500), "each at least once")
		require.GreaterOrEqual(t, seen.cents["t1"], int64(300+100))
		seen.mu.Unlock()
		require.NoError(t, next.Stop(t.Context()))
	})
}
