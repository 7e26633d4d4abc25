package load

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wowgen/wow/bench/peer"
)

// flow is what the handler of a key tells one of the key's senders. It fills a
// cache line, which only one worker writes at a time.
type flow struct {
	handled uint64        // plain on purpose: under -race, handlers of a key that overlap are a report
	target  uint64        // handled at the end of the phase
	public  atomic.Uint64 // handled, as told to the sender
	asleep  atomic.Uint32 // the sender waits for wake
	wake    chan struct{}
	count   *uint64 // handled over all senders, plain too; own if there is one sender
	own     uint64
	_       [8]byte
}

// account is the sender's side of a flow.
type account struct {
	sent   uint64
	credit uint64 // handled, as far as the sender knows
	base   uint64 // sent before this phase
}

// session is a peer under a workload. It goes on in phases: each sends a number
// of messages and ends when all of them have been handled.
type session struct {
	w        Workload
	ex       peer.Exec
	order    []uint32
	flows    []flow // senders x keys
	accounts []account
	msgs     []peer.Msg
	shift    uint     // log2 of the Msgs per flow
	cursors  []int    // of each sender, in order
	counts   []uint64 // per key, if there is more than one sender
	mask     uint64   // credits are told when handled & mask is 0
	slots    chan struct{}
	spins    int
	left     atomic.Int64 // flows that have not reached their target
	over     chan struct{}
	check    *oracle // nil while it is timed
}

// oracle notices handlers of a key that overlap and messages out of order.
type oracle struct {
	busy     []atomic.Int32 // per flow's key
	keys     int
	ordered  bool
	overlaps atomic.Int64
	disorder atomic.Int64
}

func open(w Workload, p peer.Peer, workers int, checked bool) *session {
	s := &session{w: w, order: w.order(), mask: creditBatch - 1}
	per := 1
	if checked || p.Is(peer.Intrusive) {
		per = w.distinct()
	}
	for 1<<s.shift < per {
		s.shift++
	}
	if w.InAll > 0 {
		s.mask = 0
	}
	n := w.Producers * w.Keys
	s.flows, s.accounts = make([]flow, n), make([]account, n)
	s.msgs, s.cursors = make([]peer.Msg, n*per), make([]int, w.Producers)
	if w.Producers > 1 {
		s.counts = make([]uint64, w.Keys)
	}
	for p := range w.Producers {
		s.cursors[p] = p * len(s.order) / w.Producers
		wake := make(chan struct{}, 1)
		for k := range w.Keys {
			i := p*w.Keys + k
			f := &s.flows[i]
			f.wake, f.count = wake, &f.own
			if s.counts != nil {
				f.count = &s.counts[k]
			}
			for j := i * per; j < (i+1)*per; j++ {
				s.msgs[j].Key, s.msgs[j].ID = keyOf(uint32(k)), uint32(j)
				s.msgs[j].Lane = uint32(k % max(1, w.Lanes))
			}
		}
	}
	if w.Slot > 0 {
		s.slots, workers = make(chan struct{}, w.Slot), w.Slot
	}
	if w.Work > 0 {
		s.spins = spinsFor(w.Work)
	}
	if checked {
		s.check = &oracle{busy: make([]atomic.Int32, w.Keys), keys: w.Keys, ordered: !p.Is(peer.Unordered)}
	}
	s.ex = p.New(s, peer.Config{Workers: workers, Lanes: max(1, w.Lanes)})
	return s
}

// Handle implements [peer.Handler].
func (s *session) Handle(m *peer.Msg) {
	if s.check != nil {
		busy := &s.check.busy[int(m.ID>>s.shift)%s.check.keys]
		if !busy.CompareAndSwap(0, 1) {
			s.check.overlaps.Add(1)
		}
		defer busy.Store(0)
	}
	if s.spins > 0 {
		spin(s.spins)
	}
	if s.w.Wait > 0 {
		time.Sleep(s.w.Wait)
	}
	s.Finish(m)
}

// Wait implements [peer.Handler].
func (s *session) Wait() time.Duration { return s.w.Wait }

// Msg implements [peer.Handler].
func (s *session) Msg(id uint32) *peer.Msg { return &s.msgs[id] }

// Finish implements [peer.Handler].
func (s *session) Finish(m *peer.Msg) {
	f := &s.flows[m.ID>>s.shift]
	if c := s.check; c != nil && c.ordered && uint64(m.ID)&(1<<s.shift-1) != f.handled&(1<<s.shift-1) {
		c.disorder.Add(1)
	}
	*f.count++
	f.handled++
	if s.slots != nil {
		<-s.slots
	}
	if f.handled&s.mask == 0 || f.handled == f.target {
		s.tell(f)
	}
}

// tell gives credits back to the sender. A sleeping sender has put asleep first
// and looked at public after it; we go the other way, so one of us sees the
// other.
//
//go:noinline
func (s *session) tell(f *flow) {
	last := f.handled == f.target
	f.public.Store(f.handled)
	if f.asleep.Load() != 0 && f.asleep.CompareAndSwap(1, 0) {
		f.wake <- struct{}{}
	}
	if last && s.left.Add(-1) == 0 {
		close(s.over)
	}
}

// await parks the sender until want messages of the flow have been handled.
func (f *flow) await(want uint64) uint64 {
	for {
		if got := f.public.Load(); got >= want {
			return got
		}
		f.asleep.Store(1)
		if f.public.Load() >= want && f.asleep.CompareAndSwap(1, 0) {
			continue
		}
		<-f.wake
	}
}

// phase sends n messages, shared by the senders, and returns when all of them
// have been handled, with the time that took.
func (s *session) phase(n int) time.Duration {
	each := make([]int, s.w.Producers)
	for p := range each {
		each[p] = n / s.w.Producers
		if p < n%s.w.Producers {
			each[p]++
		}
	}
	s.aim(each)
	start := time.Now()
	if s.w.Producers == 1 {
		s.send(0, n)
	} else {
		var wg sync.WaitGroup
		for p, n := range each {
			wg.Go(func() { s.send(p, n) })
		}
		wg.Wait()
	}
	<-s.over
	return time.Since(start)
}

// aim sets what each flow will have handled at the end of a phase in which
// sender p sends each[p] messages.
func (s *session) aim(each []int) {
	s.over = make(chan struct{})
	turns := make([]uint64, s.w.Keys)
	for _, k := range s.order {
		turns[k]++
	}
	for p, n := range each {
		flows, accounts := s.side(p)
		for k := range flows {
			flows[k].target += turns[k] * uint64(n/len(s.order))
			accounts[k].base = accounts[k].sent
		}
		for j := range n % len(s.order) {
			flows[s.order[(s.cursors[p]+j)%len(s.order)]].target++
		}
	}
	open := int64(0)
	for i := range s.flows {
		if s.flows[i].target > s.accounts[i].sent {
			open++
		}
	}
	s.left.Store(open)
}

// side returns what belongs to sender p.
func (s *session) side(p int) ([]flow, []account) {
	lo, hi := p*s.w.Keys, (p+1)*s.w.Keys
	return s.flows[lo:hi:hi], s.accounts[lo:hi:hi]
}

// send is a sender's loop over n messages.
func (s *session) send(p, n int) {
	flows, accounts := s.side(p)
	flush := func() {}
	if f, ok := s.ex.(peer.Flusher); ok {
		flush = f.Flush
	}
	order, cursor, ex := s.order, s.cursors[p], s.ex
	first, last := cursor, 1<<s.shift-1
	msgs := s.msgs[p*s.w.Keys<<s.shift:]
	for i := range n {
		if s.w.InAll > 0 && i >= s.w.InAll {
			s.awaitAll(first, i-s.w.InAll, flush)
		}
		k := int(order[cursor])
		if cursor++; cursor == len(order) {
			cursor = 0
		}
		a := &accounts[k]
		if per := uint64(s.w.PerKey); per > 0 && a.sent-a.credit >= per {
			flush()
			a.credit = flows[k].await(a.sent - per + 1)
		}
		m := &msgs[k<<s.shift+int(a.sent)&last]
		a.sent++
		if s.slots != nil {
			s.slots <- struct{}{}
		}
		ex.Submit(m)
	}
	flush()
	s.cursors[p] = cursor
}

// awaitAll waits for the message sent as number back of this phase; if it has
// to park, for creditBatch more. Each key comes once in a round of the order.
func (s *session) awaitAll(first, back int, flush func()) {
	f, want := s.nth(first, back)
	if f.public.Load() >= want {
		return
	}
	flush()
	if s.w.InAll > creditBatch {
		f, want = s.nth(first, back+creditBatch-1)
	}
	f.await(want)
}

func (s *session) nth(first, i int) (*flow, uint64) {
	k := s.order[(first+i)%len(s.order)]
	return &s.flows[k], s.accounts[k].base + uint64(i/len(s.order)) + 1
}

// verify reports messages that were lost, doubled, out of order, or handled
// while another of their key was.
func (s *session) verify(p peer.Peer) error {
	for k := range s.w.Keys {
		var want, got uint64
		for i := k; i < len(s.flows); i += s.w.Keys {
			f := &s.flows[i]
			want += f.target
			if got = *f.count; f.handled != f.target && !p.Is(peer.Parallel) {
				return fmt.Errorf("%s with %s: key %d: %d messages of a sender handled, want %d", s.w.Name, p.Name, k, f.handled, f.target)
			}
		}
		if got != want && !p.Is(peer.Parallel) {
			return fmt.Errorf("%s with %s: key %d: %d messages handled, want %d: handlers of the key overlapped", s.w.Name, p.Name, k, got, want)
		}
	}
	if c := s.check; c != nil {
		if n := c.overlaps.Load(); n > 0 {
			return fmt.Errorf("%s with %s: handlers of one key overlapped %d times", s.w.Name, p.Name, n)
		}
		if n := c.disorder.Load(); n > 0 {
			return fmt.Errorf("%s with %s: %d messages out of order", s.w.Name, p.Name, n)
		}
	}
	return nil
}
