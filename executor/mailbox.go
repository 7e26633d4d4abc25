package executor

// A box is a mailbox: the unfinished messages of one key, oldest first, as the
// worker sees them. It belongs to the slot that it is bound to from the first
// message that the slot reads to the last completion that the slot publishes.
// The sender's view of the same mailbox is an entry.
//
// A box that has messages is in exactly one place: the run queue of its slot,
// a carrier's turn, or, while its first message waits without a goroutine,
// slot.pending.
type box struct {
	port  *port
	run   *box   // next in the run queue
	pend  *pend  // nil until a message of the box waits for the first time
	first uint32 // cell of the oldest message, if n > 0
	last  uint32 // cell of the newest
	n     uint32 // messages held, those of a turn included
	index uint32 // in lane.boxes
	stamp uint32 // ms, when the oldest became the oldest

	carrier *carrier // not nil: no mailbox but a carrier that wants its slot back
}

// body is the part of a lane that knows the types of keys and messages.
type body interface {
	allot(n uint32)              // makes the cells
	run(c *carrier) (waits bool) // handles the messages of a turn
	clear(first, n uint32)       // forgets the keys of a chain
	forget(cell uint32)          // forgets a message
	key(cell uint32) any         // for reports
}
