package peer

import (
	"context"
	"time"

	"github.com/wowgen/wow/executor"
)

// wow is the executor of this repository, through what it exports: one
// executor, a lane per door.
type wow struct {
	e     *executor.Executor
	lanes []*executor.Lane[uint64, *Msg]
}

type outcome = executor.Outcome

// openWow opens the lanes; single declares that one goroutine sends, which saves
// a lock per message.
func openWow(c Config, window int, single bool, handle executor.Handler[uint64, *Msg]) *wow {
	e, err := executor.New(executor.Config{Workers: c.Workers, MaxInFlight: window})
	must(err)
	w := &wow{e: e}
	for range max(1, c.Lanes) {
		l, err := executor.Open(e, executor.LaneConfig[uint64, *Msg]{SingleSender: single}, handle)
		must(err)
		w.lanes = append(w.lanes, l)
	}
	return w
}

func newWow(window int, single bool) func(Handler, Config) Exec {
	return func(h Handler, c Config) Exec {
		return openWow(c, window, single, func(_ context.Context, _ uint64, m *Msg) outcome {
			h.Handle(m)
			return executor.Done(nil)
		})
	}
}

func (e *wow) Submit(m *Msg) { must(e.lanes[m.Lane].Submit(context.Background(), m.Key, m)) }

func (e *wow) Close() { must(e.e.Close(context.Background())) }

// wowShards has several lanes where others have one, for many senders.
type wowShards struct {
	e     *executor.Executor
	lanes []*executor.Shards[uint64, *Msg]
}

func newWowShards(h Handler, c Config) Exec {
	e, err := executor.New(executor.Config{Workers: c.Workers})
	must(err)
	w := &wowShards{e: e}
	for range max(1, c.Lanes) {
		s, err := executor.OpenShards(e, 4, executor.LaneConfig[uint64, *Msg]{MaxInFlight: 8192}, func(_ context.Context, _ uint64, m *Msg) outcome {
			h.Handle(m)
			return executor.Done(nil)
		})
		must(err)
		w.lanes = append(w.lanes, s)
	}
	return w
}

func (e *wowShards) Submit(m *Msg) { must(e.lanes[m.Lane].Submit(context.Background(), m.Key, m)) }

func (e *wowShards) Close() { must(e.e.Close(context.Background())) }

// wowBatch hands messages over 64 at a time, as a receiver of Kafka fetches or
// a replay does.
type wowBatch struct {
	*wow
	n     int
	batch [64]executor.Entry[uint64, *Msg]
}

func newWowBatch(h Handler, c Config) Exec {
	return &wowBatch{wow: newWow(8192, true)(h, c).(*wow)}
}

func (e *wowBatch) Submit(m *Msg) {
	e.batch[e.n] = executor.Entry[uint64, *Msg]{Key: m.Key, Msg: m}
	if e.n++; e.n == len(e.batch) {
		e.Flush()
	}
}

func (e *wowBatch) Flush() {
	_, err := e.lanes[0].SubmitBatch(context.Background(), e.batch[:e.n])
	must(err)
	e.n = 0
}

// The three ways of waiting. What a load gives as Workers is how much may be in
// flight: here that is the window, and the workers are few.

func newWowLater(h Handler, c Config) Exec {
	return openWow(Config{Lanes: c.Lanes}, c.Workers, true, func(ctx context.Context, _ uint64, m *Msg) outcome {
		o, later := executor.Later(ctx)
		time.AfterFunc(h.Wait(), func() {
			h.Finish(m)
			later.Complete(executor.Done(nil))
		})
		return o
	})
}

func newWowAwait(h Handler, c Config) Exec {
	return openWow(Config{Lanes: c.Lanes}, c.Workers, true, func(ctx context.Context, _ uint64, m *Msg) outcome {
		_, err := executor.Await(ctx, func(context.Context) (struct{}, error) {
			time.Sleep(h.Wait())
			return struct{}{}, nil
		})
		must(err)
		h.Finish(m)
		return executor.Done(nil)
	})
}

// newWowAgain asks to be run again after the wait.
func newWowAgain(h Handler, c Config) Exec {
	return openWow(Config{Lanes: c.Lanes}, c.Workers, true, func(_ context.Context, _ uint64, m *Msg) outcome {
		if m.Visited = !m.Visited; m.Visited {
			return executor.Again(h.Wait())
		}
		h.Finish(m)
		return executor.Done(nil)
	})
}
