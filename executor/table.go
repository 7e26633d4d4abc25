package executor

import (
	"sync"
	"sync/atomic"
)

// A lane is what the executor knows of a Lane. Its tables are made when the
// first message is admitted, each port when a slot is first used: an unused
// lane is a few hundred bytes.
//
// The sender's side (embedded) is one writer's at a time: of whoever holds
// mu, or of the single sender of a lane that declared one.
type lane struct {
	e          *Executor
	name       string
	body       body
	window     uint32 // credits
	throughput uint32
	every      uint32 // completions published together by a slot
	perKey     uint32 // 0: no bound
	overflow   uint32 // messages beyond perKey that the lane holds
	single     bool   // one sender: no lock
	plain      bool   // keys are numbers: there is no need to clear them

	// Shared with the slots. Who owns a box, a link or a message's cell is
	// handed over by the rings.
	boxes []box
	links []uint32 // by cell: the next of the mailbox, of the chain or of the free list

	ports []atomic.Pointer[port] // by slot
	chunk atomic.Uint32          // messages that a turn takes on at a time

	_  [64]byte
	mu laneLock
	sender

	_      [64]byte
	flags  atomic.Uint32 // what a slot that publishes completions must do besides
	spilt  atomic.Uint32 // messages in the overflow
	closed atomic.Bool   // no more admissions
	wake   chan struct{} // a token: there may be credit; see window.go
	stop   chan struct{} // closed with closed
	once   sync.Once
	empty  chan struct{} // closed when the lane is closed and nothing is left

	reported atomic.Bool // its first stall
	stalls   atomic.Uint64
	blocked  atomic.Uint64 // admissions that had to wait
}

// sender is the sending side's memory.
type sender struct {
	avail    uint32 // credits
	free     uint32 // the first free cell; there are as many as credits and room in the overflow
	vacant   uint32 // the first free entry, + 1
	shift    uint   // of a hash, to a bucket
	buckets  []uint32
	entries  []entry
	spills   []spill // by entry, in lanes with a bound per key
	hungry   uint32  // the first entry with messages in the overflow and below its bound, + 1
	used     []*port
	touched  []*port // ports with unpublished messages, in a batch
	home     int     // slot that new mailboxes go to
	probe    int     // slot looked at last
	waiters  uint32  // senders that wait for room
	reserved uint32  // of them, those that wait for a credit
	herd     chan struct{}
	inside   []*insider // handlers of this lane that wait for room in it
}

// entry is the sender's side of a mailbox. Two keys with the same 64-bit hash
// share a mailbox: that costs parallelism, and breaks no promise.
type entry struct {
	hash   uint64
	next   uint32 // in the bucket or among the free ones, + 1
	bucket uint32
	out    uint32 // messages sent and not taken back
	slot   uint32
}

// prepare makes the tables.
func (l *lane) prepare() {
	n := l.window + l.overflow
	size := uint32(4)
	l.shift = 64 - 3
	for size < n {
		size *= 2
		l.shift--
	}
	l.body.allot(n)
	l.buckets = make([]uint32, 2*size)
	l.entries = make([]entry, n)
	l.boxes = make([]box, n)
	l.links = make([]uint32, n)
	for i := range n {
		l.boxes[i].index = i
		l.links[i] = i + 1
		l.entries[i].next = i + 2
	}
	l.entries[n-1].next = 0
	l.free, l.vacant, l.avail = 0, 1, l.window
	if l.perKey > 0 {
		l.spills = make([]spill, n)
	}
}

// lock and unlock guard the sender's side.
func (l *lane) lock() {
	if !l.single {
		l.mu.Lock()
	}
}

func (l *lane) unlock() {
	if !l.single {
		l.mu.Unlock()
	}
}

// find returns the entry of a hash, or nil.
func (l *lane) find(hash uint64) (*entry, uint32) {
	for i := l.buckets[hash>>l.shift]; i != 0; {
		e := &l.entries[i-1]
		if e.hash == hash {
			return e, i - 1
		}
		i = e.next
	}
	return nil, 0
}

// send puts a message that has room on its way and returns the port that is to
// be published and notified, or nil if the message went to the overflow.
func (l *lane) send(hash uint64, cell uint32) *port {
	e, i := l.find(hash)
	if e == nil {
		l.avail-- // before place, which may spend credits on the overflow
		p := l.place()
		b := uint32(hash >> l.shift)
		i = l.vacant - 1
		e = &l.entries[i]
		l.vacant = e.next
		*e = entry{hash: hash, next: l.buckets[b], bucket: b, slot: uint32(p.slot.id)}
		l.buckets[b] = i + 1
		p.put(e, i, cell)
		return p
	}
	if l.perKey > 0 && l.spill(e, i, cell) {
		return nil
	}
	l.avail--
	p := l.ports[e.slot].Load()
	p.put(e, i, cell)
	return p
}

// put writes a message that has a credit.
func (p *port) put(e *entry, box, cell uint32) {
	e.out++
	p.out++
	p.ring[uint32(p.tail)&p.mask] = envelope{cell, box}
	p.tail++
}

// takeBack reads the completions that the slots have published: credits and
// cells come back, and a mailbox with nothing outstanding leaves the table. If
// senders wait, one is told: the slot that published may think that it need
// not, as what it published is no news any more.
func (l *lane) takeBack() {
	had := l.avail
	for _, p := range l.used {
		if p.out == 0 {
			continue
		}
		for end := p.finished.Load(); p.taken != end; p.bhead++ {
			d := p.back[p.bhead&p.mask]
			p.taken += uint64(d.n)
			p.out -= d.n
			l.avail += d.n
			l.links[d.last] = l.free
			l.free = d.first
			e := &l.entries[d.box]
			e.out -= d.n
			if l.perKey > 0 && l.spills[d.box].n > 0 {
				l.starve(d.box)
			} else if e.out == 0 {
				l.remove(e, d.box)
			}
		}
	}
	if l.avail > had && l.waiters > 0 {
		l.token()
	}
	if l.hungry != 0 {
		l.feed()
	}
}

// remove takes an entry out of the table.
func (l *lane) remove(e *entry, i uint32) {
	b := &l.buckets[e.bucket]
	for *b != i+1 {
		b = &l.entries[*b-1].next
	}
	*b = e.next
	e.next = l.vacant
	l.vacant = i + 1
}

// spill is the overflow of one mailbox: messages beyond the bound per key, in
// order, which have a cell and no credit.
type spill struct {
	first, last, n uint32
	next           uint32 // in lane.hungry, + 1
	hungry         bool
}

// full reports whether a message of the entry would go to the overflow.
func (l *lane) full(i uint32) bool { return l.entries[i].out >= l.perKey || l.spills[i].n > 0 }

// spill puts a message into the overflow if its key is at its bound. What is
// behind such messages goes there too, for the order.
func (l *lane) spill(e *entry, i, cell uint32) bool {
	if !l.full(i) {
		return false
	}
	s := &l.spills[i]
	if s.n == 0 {
		s.first = cell
	} else {
		l.links[s.last] = cell
	}
	s.last = cell
	s.n++
	// The flag is set after the count: a slot that sees it finds the message.
	//
	//	sender: at its bound, spills       slot: publishes what the key had
	//	sender: sets the flag              slot: looks at the flag, sees none
	//
	// The second look at completions finds what the slot did not tell.
	if l.spilt.Add(1) == 1 {
		l.flags.Or(flagSpilt)
		yield("table.spilt")
		l.takeBack()
	}
	return true
}

// starve notes that the entry may send from its overflow.
func (l *lane) starve(i uint32) {
	if s := &l.spills[i]; !s.hungry {
		s.hungry, s.next = true, l.hungry
		l.hungry = i + 1
	}
}

// feed sends from the overflow while there are credits.
func (l *lane) feed() {
	for l.hungry != 0 && l.avail > 0 {
		i := l.hungry - 1
		e, s := &l.entries[i], &l.spills[i]
		for l.avail > 0 && s.n > 0 && e.out < l.perKey {
			cell := s.first
			s.first = l.links[cell]
			s.n--
			l.avail--
			p := l.ports[e.slot].Load()
			p.put(e, i, cell)
			p.publish()
			p.notify()
			if l.spilt.Add(^uint32(0)) == 0 { // after publish: a lane with either is not empty
				l.flags.And(^uint32(flagSpilt))
			}
		}
		if s.n > 0 && e.out < l.perKey {
			return // no credits: first in line next time
		}
		l.hungry, s.hungry = s.next, false
	}
}
