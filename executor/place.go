package executor

// What a new mailbox's place is worth, in ns of expected wait.
const (
	wakeCost    = 20_000 // of a goroutine on another thread: what the waker itself loses
	unknownCost = 2_000  // of a message, before any was measured
	maxProbes   = 8      // slots looked at for one mailbox
)

// place chooses the slot for a new mailbox and returns the lane's port to it:
// the one it used last while the wait there is shorter than a wake takes, else
// the one with the shortest. So a slot that runs and has nothing queued wins
// over a parked one, which wins over a busy one, as a wake costs the waker
// about as much as 20 us of waiting cost the message.
//
// It may take completions back: the caller looks into its tables afterwards.
func (l *lane) place() *port {
	slots := l.e.slots
	home := slots[l.home]
	if p := l.ports[l.home].Load(); p != nil && home.wait(p.out) < wakeCost {
		return p
	}
	l.takeBack()
	best, least := l.home, home.wait(l.outAt(l.home))
	for range min(len(slots)-1, maxProbes) {
		if l.probe++; l.probe >= len(slots) {
			l.probe = 0
		}
		if w := slots[l.probe].wait(l.outAt(l.probe)); w < least {
			best, least = l.probe, w
		}
	}
	l.home = best
	if p := l.ports[best].Load(); p != nil {
		return p
	}
	p := newPort(l, slots[best])
	l.used = append(l.used, p)
	l.ports[best].Store(p)
	return p
}

// outAt is how many messages the lane has at a slot.
func (l *lane) outAt(i int) uint32 {
	if p := l.ports[i].Load(); p != nil {
		return p.out
	}
	return 0
}

// wait is the time, in ns, that a new mailbox would wait, if the asking lane
// has out messages at the slot.
func (s *slot) wait(out uint32) int64 {
	w := int64(max(out, s.length.Load())) * int64(s.cost.Load())
	if s.state.Load()&slotEmpty != 0 {
		w += wakeCost
	}
	return w
}

const (
	clockMin = 2  // messages of a stretch before its first reading of the clock
	clockMax = 64 // messages between two readings
)

// A clock measures what a message costs a slot, without reading the time more
// often than it must.
type clock struct {
	messages int // since the last reading
	due      int // at how many to read
	streak   int // messages since the slot was last idle, before the last reading
	last     int64
	cost     int64
}

func (c *clock) stop() { *c = clock{due: clockMin, cost: c.cost} }

// measure is called when a reading is due. The cost follows the minimum: a
// preemption must not look like a slow handler, or mailboxes would flip from
// worker to worker.
func (s *slot) measure() {
	c, now := &s.clock, nanotime()
	if c.last != 0 {
		switch cost := (now - c.last) / int64(c.messages); {
		case c.cost == 0:
			c.cost = cost
		case cost < c.cost:
			c.cost = (c.cost + cost) / 2
		default:
			c.cost += (cost-c.cost)/16 + 1
		}
		if cost := uint32(min(c.cost, 1<<30)); cost != s.cost.Load() {
			s.cost.Store(cost)
		}
		c.due = min(2*c.due, clockMax)
	}
	c.streak += c.messages
	c.last, c.messages = now, 0
	if tick := uint32(now / 1e6); s.e.cfg.StallAfter < 0 && tick != s.e.tick.Load() {
		s.e.tick.Store(tick)
	}
}
