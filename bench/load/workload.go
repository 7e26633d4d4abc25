// Package load puts the same load on every peer and measures what it costs.
//
// Every peer is bounded alike, by the load: so many messages in flight per key,
// or in all. A sender without credit parks; credits come back in batches. What
// that costs is in every figure, and alone in the figure of the inline call.
package load

import (
	"strconv"
	"time"

	"github.com/wowgen/wow/bench/peer"
)

// Workload says which messages are sent, how many at once, and what handling
// one takes.
type Workload struct {
	Name  string
	About string

	Keys      int
	Producers int
	Lanes     int  // doors, each with a part of the keys; 0 is one
	Hot       bool // 90% of the messages go to one key, else all keys take turns

	PerKey int // in flight per key and producer, credits of 16
	InAll  int // >0: in flight in all, credits of 16 too; needs one producer

	Once bool          // each key gets exactly one message
	Work time.Duration // the handler computes that long
	Wait time.Duration // the handler waits that long
	Slot int           // with Wait: in flight in all, exactly
}

// creditBatch is how many messages of a key are handled before the sender is
// told, unless it is told each time because it counts over all keys.
const creditBatch = 16

// All lists the workloads.
func All() []Workload {
	w := []Workload{
		{Name: "W1", About: "1 sender, 1,000 keys in turn, 256 in flight per key", Keys: 1000, Producers: 1, PerKey: 256},
		{Name: "W1b", About: "the same, 256 in flight in all", Keys: 1000, Producers: 1, InAll: 256},
		{Name: "W1us", About: "W1 with handlers of 1 us", Keys: 1000, Producers: 1, PerKey: 256, Work: time.Microsecond},
		{Name: "W2", About: "90% of the messages on one key of 1,000", Keys: 1000, Producers: 1, PerKey: 256, Hot: true},
		{Name: "W3", About: "1,000,000 keys, one message each, 8,192 in flight in all", Keys: 1_000_000, Producers: 1, InAll: 8192, Once: true},
		{Name: "W4", About: "8 senders, 1,000 keys, 32 in flight per key and sender", Keys: 1000, Producers: 8, PerKey: 32},
		{Name: "W7", About: "6 senders over 120 lanes (20 contexts x 6 kinds of dispatcher), 12,000 keys, 16 in flight per key and sender", Keys: 12_000, Producers: 6, PerKey: 16, Lanes: 120},
		{Name: "W5/256", About: "handlers wait 1 ms, 10,000 keys, 256 in flight in all", Keys: 10_000, Producers: 1, PerKey: 256, Wait: time.Millisecond, Slot: 256},
		{Name: "W5/4096", About: "handlers wait 1 ms, 10,000 keys, 4,096 in flight in all", Keys: 10_000, Producers: 1, PerKey: 256, Wait: time.Millisecond, Slot: 4096},
	}
	for n := 1; n <= 1_000_000; n *= 10 {
		w = append(w, Workload{Name: Cardinality(n), Keys: n, Producers: 1, InAll: 8192,
			About: strconv.Itoa(n) + " keys in turn, 8,192 in flight in all"})
	}
	return w
}

// Cardinality names the workload that goes over n keys in turn.
func Cardinality(n int) string { return "K/" + strconv.Itoa(n) }

// Suits reports whether the workload makes sense for the peer.
func (w Workload) Suits(p peer.Peer) bool {
	switch {
	case p.Is(peer.Single) && (w.Producers > 1 || w.Lanes > 1),
		p.Is(peer.Inline) && (w.Producers > 1 || w.Wait > 0),
		p.Is(peer.Waits) != (w.Wait > 0) && p.Any(peer.Waits|peer.Ours|peer.Floor), // floors and ours come in kinds
		p.Is(peer.Floor) && w.Lanes > 1,
		p.Is(peer.Spends) && (w.Keys > 100_000 || w.Lanes > 1):
		return false
	}
	return true
}

// order is the indices of the keys in the order in which they are sent, over
// and over.
func (w Workload) order() []uint32 {
	if !w.Hot {
		o := make([]uint32, w.Keys)
		for i := range o {
			o[i] = uint32(i)
		}
		return o
	}
	o := make([]uint32, 0, 1<<16)
	x, next := uint64(1), uint32(1)
	for len(o) < cap(o) { // a fixed mix, the same in every run
		x = x*6364136223846793005 + 1442695040888963407
		if (x>>33)%10 != 0 {
			o = append(o, 0)
			continue
		}
		o = append(o, next)
		if next++; int(next) == w.Keys {
			next = 1
		}
	}
	return o
}

// keyOf gives keys that are neither dense nor ordered.
func keyOf(i uint32) uint64 { return (uint64(i) + 1) * 0xD1342543DE82EF95 }

// distinct is how many messages of one key and sender can be in flight, rounded
// up to a power of two and doubled, so that each can have a Msg of its own.
func (w Workload) distinct() int {
	n := w.PerKey
	if w.InAll > 0 {
		n = (w.InAll+creditBatch)/w.Keys + 2
	}
	d := 2
	for d < 2*n {
		d *= 2
	}
	return d
}
