package load

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow/bench/peer"
)

// Ping is how the sender of one message at a time waits for it (W6).
type Ping string

// The ways of waiting.
const (
	Parks Ping = "W6 parks" // on a channel: the worker may have its core
	Runs  Ping = "W6 runs"  // it spins, as a loop that polls a broker does: another core must answer
	Gaps  Ping = "W6 gaps"  // it spins, and computes for 95 us between messages: at most 10,000 a second
)

// About says what the sender does.
func (k Ping) About() string {
	switch k {
	case Parks:
		return "one message at a time, the sender parks until it is handled: p50"
	case Runs:
		return "the same, the sender keeps running: p50"
	default:
		return "the same with 95 us of other work between messages: p50"
	}
}

// Suits reports whether the peer can be pinged that way.
func (k Ping) Suits(p peer.Peer) bool {
	return !p.Is(peer.Waits) && !(p.Is(peer.Inline) && k != Parks)
}

// ponger is the handler of a ping.
type ponger struct {
	msgs []peer.Msg
	ch   chan struct{} // if the sender parks
	n    uint64
	seen atomic.Uint64
}

func (h *ponger) Handle(*peer.Msg) {
	h.n++
	if h.ch != nil {
		h.ch <- struct{}{}
	} else {
		h.seen.Store(h.n)
	}
}
func (h *ponger) Finish(m *peer.Msg)      { h.Handle(m) }
func (h *ponger) Wait() time.Duration     { return 0 }
func (h *ponger) Msg(id uint32) *peer.Msg { return &h.msgs[id] }
func (h *ponger) await(n uint64, park bool) {
	if park {
		<-h.ch
		return
	}
	for turns := 0; h.seen.Load() != n; turns++ {
		if turns > 1<<22 {
			runtime.Gosched() // a peer that never got a core of its own
		}
	}
}

// Latency times round trips over 1,000 keys, which exist beforehand.
func Latency(k Ping, p peer.Peer, atLeast time.Duration) (Result, error) {
	const keys = 1000
	h := &ponger{msgs: make([]peer.Msg, keys)}
	for i := range h.msgs {
		h.msgs[i].Key, h.msgs[i].ID = keyOf(uint32(i)), uint32(i)
	}
	if k == Parks {
		h.ch = make(chan struct{}, 1)
	}
	ex := p.New(h, peer.Config{Workers: runtime.GOMAXPROCS(0), Lanes: 1})
	f, _ := ex.(peer.Flusher)
	sent := uint64(0)
	one := func() time.Duration {
		m := &h.msgs[sent%keys]
		sent++
		t := time.Now()
		ex.Submit(m)
		if f != nil {
			f.Flush()
		}
		h.await(sent, k == Parks)
		return time.Since(t)
	}
	for range keys {
		one()
	}
	took := make([]time.Duration, 0, 1<<18)
	runtime.GC()
	start, cpu := time.Now(), cpuTime()
	for time.Since(start) < atLeast && len(took) < cap(took) {
		if k == Gaps {
			for t := time.Now(); time.Since(t) < 95*time.Microsecond; {
			}
		}
		took = append(took, one())
	}
	wall := time.Since(start)
	cpu = cpuTime() - cpu
	ex.Close()
	slices.Sort(took)
	n := len(took)
	return Result{N: n, Wall: float64(wall) / float64(n), CPU: float64(cpu) / float64(n),
		P50: float64(took[n/2]), P99: float64(took[n*99/100])}, nil
}
