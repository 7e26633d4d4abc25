// Package peer holds the ways there are to handle messages one at a time per
// key and different keys in parallel, one family per file, behind one small
// interface, so that all of them run the same load.
//
// They are written as somebody would write them who wants them fast: sharded
// locks, batches, recycled queues. A comparison against straw is worth nothing.
package peer

import (
	"sync/atomic"
	"time"
)

// Msg is what is submitted. Unless its peer is Intrusive, one Msg stands for
// all submissions of a key and may be in flight many times at once, so that the
// harness adds no cache misses of its own: a peer must not link through it.
type Msg struct {
	Key     uint64
	Lane    uint32              // the door it goes through, below Config.Lanes
	ID      uint32              // for peers that carry bytes: see Handler.Msg
	Next    atomic.Pointer[Msg] // the peer's, if it is Intrusive
	Visited bool                // the peer's, while the message is being handled
}

// Handler is the load's side. Calls for one key must not overlap, and each must
// happen before the next.
type Handler interface {
	// Handle does everything, waiting included.
	Handle(m *Msg)
	// Wait is how long handling m waits; 0 for most loads. A peer that can wait
	// without a goroutine does so and then calls Finish instead of Handle.
	Wait() time.Duration
	// Finish is Handle without the waiting.
	Finish(m *Msg)
	// Msg finds a message by its ID.
	Msg(id uint32) *Msg
}

// Exec runs messages. Submit may block; many goroutines may call it. Close is
// called when everything submitted has been handled, and leaves no goroutine.
type Exec interface {
	Submit(m *Msg)
	Close()
}

// Flusher is an Exec that may hold submitted messages back until Flush; the
// load calls it before it waits. Only for peers that are Single.
type Flusher interface{ Flush() }

// Config is what the load tells the peer.
type Config struct {
	Workers int // GOMAXPROCS, or the number of messages in flight where handlers wait
	Lanes   int // doors with a key space each; 1 for most loads
}

// Traits say what a peer promises and which loads suit it.
type Traits uint

// The traits.
const (
	Floor     Traits = 1 << iota // no contender: it leaves out what costs
	Ours                         // the executor of this repository
	Unordered                    // keeps calls of a key apart but not in order
	Parallel                     // may even overlap calls of a key
	Single                       // takes one sender
	Inline                       // handles on the sender's goroutine
	Intrusive                    // wants a Msg of its own per submission in flight
	Waits                        // only of interest where handlers wait
	Spends                       // keeps kilobytes per key for good
)

// Peer is one way of doing it.
type Peer struct {
	Name   string
	Traits Traits
	New    func(h Handler, c Config) Exec
}

// Is reports whether p has all of the traits.
func (p Peer) Is(t Traits) bool { return p.Traits&t == t }

// Any reports whether p has one of the traits.
func (p Peer) Any(t Traits) bool { return p.Traits&t != 0 }

// All lists the peers: floors, others, ours.
func All() []Peer {
	return []Peer{
		{"inline call", Floor | Inline, newInline},
		{"SPSC ring", Floor | Single, newSPSC},
		{"MPSC queue", Floor | Intrusive, newMPSC},
		{"goroutine per message", Floor | Waits | Unordered | Parallel, newGoPerMessage},
		{"AfterFunc per message", Floor | Waits | Unordered | Parallel, newAfterFunc},

		{"sharded channels", 0, newSharded},
		{"ready queue of strands", 0, newReadyQueue},
		{"client-go workqueue", 0, newWorkqueue},
		{"pond, strands", 0, newPond},
		{"strands, goroutine per active key", 0, newStrands},
		{"ants, strands", 0, newAnts},
		{"goroutine and channel per key", Spends, newGoPerKey},
		{"protoactor-go", Spends, newProtoactor},
		{"watermill gochannel", Spends | Unordered, newWatermill},

		{"wow", Ours, newWow(256, false)},
		{"wow, window 8192", Ours, newWow(8192, false)},
		{"wow, single sender", Ours | Single, newWow(256, true)},
		{"wow, single sender, window 8192", Ours | Single, newWow(8192, true)},
		{"wow, 4 shards, window 8192", Ours, newWowShards},
		{"wow, batches of 64, window 8192", Ours | Single, newWowBatch},
		{"wow, Later and a timer", Ours | Waits, newWowLater},
		{"wow, Again after", Ours | Waits, newWowAgain},
		{"wow, Await", Ours | Waits, newWowAwait},
	}
}

// mix is the hash that all hand-written peers share.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// doors gives every lane an Exec of its own, for peers that know no lanes.
type doors []Exec

func perLane(newOne func(Handler, Config) Exec) func(Handler, Config) Exec {
	return func(h Handler, c Config) Exec {
		if c.Lanes <= 1 {
			return newOne(h, c)
		}
		d := make(doors, c.Lanes)
		for i := range d {
			d[i] = newOne(h, Config{Workers: c.Workers, Lanes: 1})
		}
		return d
	}
}

func (d doors) Submit(m *Msg) { d[m.Lane].Submit(m) }

func (d doors) Close() {
	for _, e := range d {
		e.Close()
	}
}
