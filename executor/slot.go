package executor

import (
	"slices"
	"sync/atomic"
)

// States of a slot. A slot that has no carrier (an odd state) gets one from
// whoever brings work to it: see poke.
const (
	slotHeld    = 0 // a carrier runs on it
	slotParked  = 1 // nothing to do: its carrier waits among the spares
	slotSeating = 2 // its owner is about to seat a carrier
	slotVacant  = 3 // nothing to do but a handler that waits, and will be back
	slotClosed  = 4 // for good

	slotEmpty = 1 // the bit of the states without a carrier
)

const (
	pollEvery  = 16 // messages between two looks at the ports
	watchIdle  = 4  // ports that stay armed while a slot is parked
	keepSpares = 4  // carriers that wait for work, per slot
)

// A slot is a worker: the right to run one handler at a time, with the
// mailboxes bound to it. Its memory is plain and belongs to whoever owns the
// slot: the carrier that holds it or, between two carriers, the goroutine
// that won the CAS to slotSeating. Others talk to it through the atomic
// fields alone.
type slot struct {
	e  *Executor
	id int

	// The owner's.
	cur     *carrier // that runs on it, or did last
	active  []*port  // ports watched
	qhead   *box     // the run queue
	qtail   *box
	queued  int      // mailboxes in the run queue
	dirty   *port    // has completions that are not published
	pending *pend    // mailboxes that wait without a goroutine
	away    *carrier // handlers that wait, or stall, in one
	dropped *box     // mailboxes that do not run any more: Close gave up
	lent    bool     // vacant because of a stall, not of an Await
	spares  int      // carriers that wait on spare
	quit    bool     // Close has given up: start nothing more
	clock   clock
	spin    spinner
	parks   uint64
	_       [64]byte

	// Everybody's.
	inq    atomic.Pointer[port]    // ports that became active
	done   atomic.Pointer[pend]    // waits that are over, without a goroutine
	resume atomic.Pointer[carrier] // waits that are over, with one
	asks   atomic.Pointer[ask]     // questions of the inspector
	state  atomic.Uint32
	cost   atomic.Uint32 // ns per message, lately
	length atomic.Uint32 // of the run queue, lately
	wakes  atomic.Uint64
	spare  chan struct{} // a carrier that receives from it owns the slot

	_     [64]byte      // what follows is written twice a turn
	epoch atomic.Uint64 // odd: a turn is on, and the slot may be taken from it
	_     [56]byte
}

func newSlot(e *Executor, id int) *slot {
	s := &slot{e: e, id: id, spare: make(chan struct{}, 1)}
	s.cost.Store(unknownCost)
	s.clock.stop()
	s.state.Store(slotParked)
	return s
}

// poke gets a carrier for the slot if it has none.
func (s *slot) poke() {
	yield("slot.poke")
	st := s.state.Load()
	if st&slotEmpty != 0 && s.state.CompareAndSwap(st, slotSeating) {
		if s.lent {
			s.lent = false
			b := s.cur.box
			s.e.stalled(b.port.lane, b.port.lane.body.key(b.first), s.cur)
		}
		s.seat()
	}
}

// seat gives the slot, which the caller owns, to a spare or a new carrier.
// The send never blocks: a slot has one owner at a time, so at most one
// token is on its way, and the channel has room for one.
func (s *slot) seat() {
	s.wakes.Add(1)
	yield("slot.seat")
	if s.spares > 0 {
		s.spares--
		s.spare <- struct{}{}
		return
	}
	s.e.carriers.Go(newCarrier(s).carry)
}

// push puts a mailbox at the end of the run queue.
func (s *slot) push(b *box) {
	b.run = nil
	if s.qtail == nil {
		s.qhead = b
	} else {
		s.qtail.run = b
	}
	s.qtail = b
	s.queued++
}

// pop takes the first mailbox of the run queue, which is not empty.
func (s *slot) pop() *box {
	b := s.qhead
	if s.qhead = b.run; s.qhead == nil {
		s.qtail = nil
	}
	s.queued--
	return b
}

// poll takes in what others brought.
func (s *slot) poll() {
	if s.inq.Load() != nil {
		n := len(s.active)
		for p := s.inq.Swap(nil); p != nil; p = p.link {
			s.active = append(s.active, p)
		}
		slices.Reverse(s.active[n:]) // the list is newest first
	}
	now := s.e.tick.Load()
	for _, p := range s.active {
		if end := p.pub.Load(); p.head != end {
			s.accept(p, end, now)
		}
	}
	if s.done.Load() != nil {
		s.pollDone()
	}
	if s.resume.Load() != nil {
		s.pollResume()
	}
	if s.asks.Load() != nil {
		s.answer()
	}
	if n := uint32(s.queued); n != s.length.Load() {
		s.length.Store(n)
	}
	s.quit = s.e.gaveUp.Load()
}

// accept puts the messages of a port into their mailboxes. A mailbox that was
// empty goes to the run queue; any other is in it already, or waits, or is in a
// turn.
func (s *slot) accept(p *port, end uint64, now uint32) {
	boxes, links := p.lane.boxes, p.lane.links
	for ; p.head != end; p.head++ {
		m := p.ring[uint32(p.head)&p.mask]
		b := &boxes[m.box]
		if b.n == 0 {
			b.port, b.first, b.stamp = p, m.cell, now
			s.push(b)
		} else {
			links[b.last] = m.cell
		}
		b.last = m.cell
		b.n++
	}
}

// pollDone puts the mailboxes whose wait is over into the run queue. One
// whose handler has not even returned yet (possible when the slot was taken
// from it) is only noted: its carrier will see the note.
func (s *slot) pollDone() {
	for p := s.done.Swap(nil); p != nil; {
		next := p.link
		if p.waiting {
			s.unpend(p)
			p.ready = true
			s.push(p.box)
		} else {
			p.arrived = true
		}
		p = next
	}
}

// pollResume puts the carriers that want their slot back into the run queue,
// in the order in which they came. The list is newest first.
func (s *slot) pollResume() {
	var oldest *carrier
	for c := s.resume.Swap(nil); c != nil; {
		next := c.link
		c.link = oldest
		oldest, c = c, next
	}
	for c := oldest; c != nil; {
		next := c.link
		c.ticket.carrier = c
		s.push(&c.ticket)
		c = next
	}
}

// complete tells the sender that n messages of a mailbox are finished, soon:
// completions are published in batches, and when the slot turns to another
// lane or has nothing else to do.
func (s *slot) complete(p *port, d chain) {
	if s.dirty != p {
		s.flush(true)
		s.dirty = p
	}
	p.back[p.btail&p.mask] = d
	p.btail++
	p.ended += uint64(d.n)
	if p.unpub += d.n; p.unpub >= p.lane.every {
		s.flush(false)
	}
}

// flush publishes completions. dry means that no more of the lane may follow
// soon.
//
// A sender that waits for credit sets a flag and looks at finished once more;
// here finished is stored and the flag is looked at: one of the two sees.
func (s *slot) flush(dry bool) {
	p := s.dirty
	if p == nil {
		return
	}
	if p.unpub != 0 {
		p.unpub = 0
		p.finished.Store(p.ended)
		yield("slot.flush")
	} else if !dry {
		return
	}
	if f := p.lane.flags.Load(); f != 0 {
		p.lane.attend(f, p.ended >= p.until.Load() || dry && p.ended > p.asked.Load())
	}
}
