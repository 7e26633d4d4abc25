package executor

import "sync/atomic"

// A port joins a lane to one slot. Messages go down a ring and completions
// come back up another, each with one writer and one reader. Neither ring can
// be full: an entry in either stands for at least one message that the sender
// has not taken back, and of those there are at most as many as the window
// has credits, which is what the rings are made for. So neither side ever
// asks the other for room.
//
// The fields are in four groups, by writer, a cache line or more apart.
type port struct {
	lane *lane
	body body // the lane's
	slot *slot
	link *port      // next in slot.inq, for whoever armed the port
	ring []envelope // the messages, sender to slot
	back []chain    // the completions, slot to sender
	mask uint32     // of both rings
	_    [64]byte

	// The sender's.
	tail  uint64        // messages written to ring
	taken uint64        // messages taken back from back
	bhead uint32        // entries read from back
	out   uint32        // messages written and not taken back
	dirty bool          // tail is not published yet (in a batch)
	pub   atomic.Uint64 // tail, published
	armed atomic.Uint32 // 1: the slot watches the port, or will: it is in slot.inq
	asked atomic.Uint64 // how many a sender that waits for credit has taken back: it is woken
	until atomic.Uint64 // when so many have finished, or, if the slot runs dry, more than asked
	_     [64]byte

	// The slot's.
	head  uint64 // messages read from ring
	ended uint64 // messages written to back
	btail uint32 // entries written to back
	unpub uint32 // messages written to back and not published
	_     [64]byte

	finished atomic.Uint64 // ended, published
	_        [56]byte
}

// envelope is a message on its way: its cell and its mailbox, both indexes
// into the lane's arrays.
type envelope struct{ cell, box uint32 }

// chain is n finished messages of one mailbox. Their cells are linked from
// first to last by lane.links.
type chain struct{ box, n, first, last uint32 }

func newPort(l *lane, s *slot) *port {
	size := 1
	for size < int(l.window) {
		size *= 2
	}
	return &port{lane: l, body: l.body, slot: s, ring: make([]envelope, size), back: make([]chain, size), mask: uint32(size - 1)}
}

// publish shows the slot what was written. The caller calls notify next,
// outside the lane's lock.
func (p *port) publish() {
	p.dirty = false
	p.pub.Store(p.tail)
}

// notify makes sure that somebody will look at the port. Any goroutine may call
// it after a publish.
//
// A slot that watches a port finds new messages by itself while it is held; a
// parked one must be woken, and one that has stopped watching must be told. The
// two lost wake-ups that could happen are each closed by a look after a store:
//
//	notify: (pub is stored)                 leaver: state = parked
//	notify: reads state, sees held          leaver: reads pub, sees the old one
//
// cannot both be, as stores and loads of sync/atomic have one order. The
// same holds for armed = 0 against pub in slot.disarm; there the two may both
// see, and the CAS on armed decides who puts the port into inq.
func (p *port) notify() {
	yield("port.notify")
	if p.armed.Load() == 0 {
		p.arm()
		return
	}
	if p.slot.state.Load()&slotEmpty != 0 {
		p.slot.poke()
	}
}

// arm puts the port into the slot's list of ports to watch, once.
func (p *port) arm() {
	if !p.armed.CompareAndSwap(0, 1) {
		return
	}
	yield("port.arm")
	s := p.slot
	for {
		p.link = s.inq.Load()
		if s.inq.CompareAndSwap(p.link, p) {
			break
		}
	}
	s.poke()
}

// load is how many messages the slot has of the lane. Any goroutine may ask.
func (p *port) load() uint64 {
	f := p.finished.Load() // before pub, so that the difference is never negative
	return p.pub.Load() - f
}
