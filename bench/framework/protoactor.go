package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/persistence"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// persistent is a persistent actor per account with the in-memory provider; the
// caller waits on a future, the event goes to an actor that projects.
type persistent struct {
	sys    *actor.ActorSystem
	props  *actor.Props
	mu     sync.Mutex
	actors [accounts]*actor.PID
	n, sum atomic.Int64
}

type payIn struct{ amount int64 }

type accountActor struct {
	persistence.Mixin
	balance    int64
	projection *actor.PID
}

func (a *accountActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *payIn:
		sender, event := c.Sender(), wrapperspb.Int64(m.amount) // PersistReceive may forget the sender
		a.PersistReceive(event)
		a.balance += m.amount
		c.Send(a.projection, event)
		c.Send(sender, true)
	case *wrapperspb.Int64Value:
		a.balance += m.Value
	}
}

type memory struct{ state persistence.ProviderState }

func (m *memory) GetState() persistence.ProviderState { return m.state }

func openProtoactor() (system, error) {
	s := &persistent{}
	s.sys = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	projection := s.sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*wrapperspb.Int64Value); ok {
			s.sum.Add(m.Value)
			s.n.Add(1)
		}
	}))
	store := &memory{persistence.NewInMemoryProvider(1 << 30)}
	s.props = actor.PropsFromProducer(func() actor.Actor { return &accountActor{projection: projection} },
		actor.WithReceiverMiddleware(persistence.Using(store)))
	for i := range s.actors {
		pid, err := s.sys.Root.SpawnNamed(s.props, "account-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		s.actors[i] = pid
	}
	// The provider's first insert is a race of its own: one actor at a time.
	for i := range s.actors {
		if err := s.deposit(context.Background(), i, 0); err != nil {
			return nil, err
		}
	}
	for s.n.Load() < accounts {
		time.Sleep(time.Millisecond)
	}
	s.n.Store(0)
	return s, nil
}

func (s *persistent) deposit(_ context.Context, account int, amount int64) error {
	_, err := s.sys.Root.RequestFuture(s.actors[account], &payIn{amount}, 10*time.Second).Result()
	return err
}

func (s *persistent) projected() (int64, int64) { return s.n.Load(), s.sum.Load() }

func (s *persistent) close() error { s.sys.Shutdown(); return nil }
