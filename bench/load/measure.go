package load

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wowgen/wow/bench/peer"
)

// Result is what one measurement found, per message.
type Result struct {
	N      int     `json:"n"`
	Wall   float64 `json:"wall"` // ns
	CPU    float64 `json:"cpu"`  // ns of the process
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"` // allocated
	P50    float64 `json:"p50"`   // ns, of round trips
	P99    float64 `json:"p99"`
	Kept   float64 `json:"kept"` // bytes that an idle key keeps
}

// Measure runs the workload in growing phases on one peer; the first that lasts
// at least as long as it should, or whose successor would, counts.
func Measure(w Workload, p peer.Peer, atLeast time.Duration) (Result, error) {
	s := open(w, p, runtime.GOMAXPROCS(0), false)
	n := w.Keys
	if !w.Once {
		n = min(1000, 2*w.Keys)
		if w.Slot > 0 {
			n = w.Slot
		}
		for {
			took := max(s.phase(n), time.Microsecond)
			next := int(float64(n) * min(float64(atLeast)/float64(took), 20))
			if took >= atLeast/20 {
				n = max(next, n)
				break
			}
			n = max(next, 2*n)
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	wall := s.phase(n)
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	s.ex.Close()
	per := func(x float64) float64 { return x / float64(n) }
	return Result{N: n, Wall: per(float64(wall)), CPU: per(float64(cpu)),
		Allocs: per(float64(after.Mallocs - before.Mallocs)), Bytes: per(float64(after.TotalAlloc - before.TotalAlloc)),
	}, s.verify(p)
}

// Check sends n messages, each in flight with a Msg of its own, and verifies
// counts, order and that handlers of a key never overlap.
func Check(w Workload, p peer.Peer, n int) error {
	if w.Once {
		w.Keys, w.InAll = n, max(1, n/5)
	}
	s := open(w, p, 4, true)
	if !w.Once {
		s.phase(n / 3)
		n -= n / 3
	}
	s.phase(n)
	s.ex.Close()
	return s.verify(p)
}

// cpuTime is the CPU time of the process: a busy neighbour hardly moves it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot happen: the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spin computes for n rounds.
//
//go:noinline
func spin(n int) {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1
	}
	if x == 42 {
		sink.Add(1)
	}
}

var sink atomic.Uint64

// spinsFor is the rounds that last as long as d on this machine when nothing
// interferes: the best of twenty tries counts.
func spinsFor(d time.Duration) int { return int(float64(d) * perNanosecond()) }

var perNanosecond = sync.OnceValue(func() float64 {
	const n = 200_000
	tries := make([]time.Duration, 20)
	for i := range tries {
		t := time.Now()
		spin(n)
		tries[i] = time.Since(t)
	}
	return n / float64(slices.Min(tries))
})
