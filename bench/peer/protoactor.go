package peer

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// protoactor has an actor per key, spawned when it is first seen, and kept.
type protoactor struct {
	sys   *actor.ActorSystem
	props *actor.Props
	mu    sync.RWMutex
	m     map[uint64]*actor.PID
	left  atomic.Int64
	gone  chan struct{}
}

type keyActor struct {
	h Handler
	e *protoactor
}

func (a *keyActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *Msg:
		a.h.Handle(m)
	case *actor.Stopped:
		if a.e.left.Add(-1) == 0 {
			close(a.e.gone)
		}
	}
}

func newProtoactor(h Handler, c Config) Exec {
	return perLane(func(h Handler, _ Config) Exec {
		quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
		e := &protoactor{m: map[uint64]*actor.PID{}, gone: make(chan struct{})}
		e.sys = actor.NewActorSystem(actor.WithLoggerFactory(quiet))
		e.props = actor.PropsFromProducer(func() actor.Actor { return &keyActor{h, e} })
		return e
	})(h, c)
}

func (e *protoactor) Submit(m *Msg) {
	e.mu.RLock()
	pid := e.m[m.Key]
	e.mu.RUnlock()
	if pid == nil {
		pid = e.create(m.Key)
	}
	e.sys.Root.Send(pid, m)
}

func (e *protoactor) create(key uint64) *actor.PID {
	e.mu.Lock()
	defer e.mu.Unlock()
	pid := e.m[key]
	if pid == nil {
		pid = e.sys.Root.Spawn(e.props)
		e.m[key] = pid
	}
	return pid
}

func (e *protoactor) Close() {
	e.left.Store(int64(len(e.m)))
	for _, pid := range e.m {
		e.sys.Root.Stop(pid)
	}
	if len(e.m) > 0 {
		<-e.gone
	}
	e.sys.Shutdown()
}
