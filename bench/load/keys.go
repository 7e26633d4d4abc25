package load

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow/bench/peer"
)

// Idle measures what a peer keeps of a key that has nothing to do: heap and
// stacks per key after 100,000 keys had a message each.
func Idle(p peer.Peer) (Result, error) {
	const keys = 100_000
	w := Workload{Name: "idle keys", Keys: keys, Producers: 1, InAll: 8192, Once: true}
	s := open(w, p, runtime.GOMAXPROCS(0), false)
	s.phase(1000) // what the peer has anyway, such as idle workers
	before := kept()
	s.phase(keys - 1000)
	for range 3 {
		runtime.Gosched()
	}
	after := kept()
	s.ex.Close()
	return Result{N: keys, Kept: max(0, float64(after-before)/(keys-1000))}, s.verify(p)
}

func kept() int64 {
	debug.FreeOSMemory()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// sleeper is the handler of Stall: key 0 sleeps without saying so, the others
// note how long after its start they got their turn.
type sleeper struct {
	msgs  []peer.Msg
	sleep time.Duration
	began time.Time
	slept chan struct{}
	left  atomic.Int64
	over  chan struct{}
	worst atomic.Int64
}

func (h *sleeper) Handle(m *peer.Msg) {
	if m.ID == 0 {
		h.began = time.Now()
		close(h.slept)
		time.Sleep(h.sleep)
	} else {
		h.worst.Store(max(h.worst.Load(), int64(time.Since(h.began))))
	}
	if h.left.Add(-1) == 0 {
		close(h.over)
	}
}
func (h *sleeper) Finish(m *peer.Msg)      { h.Handle(m) }
func (h *sleeper) Wait() time.Duration     { return 0 }
func (h *sleeper) Msg(id uint32) *peer.Msg { return &h.msgs[id] }

// Stall measures how long the messages of 49 other keys wait on one worker when
// a handler blocks for 20 ms: P50 is the median of the worst neighbours.
func Stall(p peer.Peer, rounds int) (Result, error) {
	worst := make([]time.Duration, rounds)
	for i := range worst {
		h := &sleeper{msgs: make([]peer.Msg, 50), sleep: 20 * time.Millisecond, slept: make(chan struct{}), over: make(chan struct{})}
		h.left.Store(int64(len(h.msgs)))
		for j := range h.msgs {
			h.msgs[j].Key, h.msgs[j].ID = keyOf(uint32(j)), uint32(j)
		}
		ex := p.New(h, peer.Config{Workers: 1, Lanes: 1})
		ex.Submit(&h.msgs[0])
		f, _ := ex.(peer.Flusher)
		if f != nil {
			f.Flush()
		}
		<-h.slept
		for j := 1; j < len(h.msgs); j++ {
			ex.Submit(&h.msgs[j])
		}
		if f != nil {
			f.Flush()
		}
		<-h.over
		worst[i] = time.Duration(h.worst.Load())
		ex.Close()
	}
	slices.Sort(worst)
	return Result{N: rounds, P50: float64(worst[rounds/2]), P99: float64(worst[rounds-1])}, nil
}
