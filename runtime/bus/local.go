package bus

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// localPartitions is how many partitions a topic of a local bus has.
	localPartitions = 8
	// localBacklog is how many records of a partition no group has finished
	// before Publish waits.
	localBacklog = 1 << 16
	// localDrain is Local.Drain's default.
	localDrain = 10 * time.Second
)

// Local is a bus in this process's memory: for tests of several runtimes, and to
// see how an application behaves behind a bus. It keeps records as long as it
// lives. The zero value is ready.
type Local struct {
	// Drain bounds how long a partition that moves to another member waits for
	// what its owner has of it. Default 10 s. It must not change once in use.
	Drain time.Duration

	mu      sync.Mutex
	topics  map[string][]*partition
	groups  map[string]*group
	changed chan struct{} // closed, and made anew, when there is something to look at
}

// partition is a log, without what every group has finished.
type partition struct {
	topic   string
	number  int32
	first   int64 // offset of records[0]
	records []Record
}

// group is who reads what.
type group struct {
	members []*member
	places  map[*partition]*place
}

// place is where a group stands in a partition.
type place struct {
	next  int64 // to begin with after a crash
	read  int64 // to deliver next
	term  int64 // how often it has changed its owner
	owner *member
	heir  *member // gets it once the owner has finished what it has
	track Tracker
}

// member is one subscription.
type member struct {
	bus    *Local
	group  *group
	topics []string
	turn   int // of the partition to begin the next fetch with
	closed bool
}

// Publish implements Bus.
func (l *Local) Publish(ctx context.Context, records ...Record) error {
	for _, r := range records {
		for {
			l.mu.Lock()
			p := l.partition(r)
			if len(p.records) < localBacklog {
				p.records = append(p.records, r)
				l.wake()
				l.mu.Unlock()
				break
			}
			changed := l.look()
			l.mu.Unlock()
			select {
			case <-changed:
			case <-ctx.Done():
				return fmt.Errorf("bus: topic %s: %d records wait: %w", r.Topic, localBacklog, context.Cause(ctx))
			}
		}
	}
	return nil
}

// partition returns where a record belongs; l.mu is held.
func (l *Local) partition(r Record) *partition {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Key))
	return l.topic(r.Topic)[h.Sum32()%localPartitions]
}

func (l *Local) topic(name string) []*partition {
	if l.topics == nil {
		l.topics = map[string][]*partition{}
	}
	if l.topics[name] == nil {
		for i := range int32(localPartitions) {
			l.topics[name] = append(l.topics[name], &partition{topic: name, number: i})
		}
	}
	return l.topics[name]
}

// wake has everybody look again; l.mu is held.
func (l *Local) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// look returns what is closed with the next change; l.mu is held.
func (l *Local) look() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// Subscribe implements Bus.
func (l *Local) Subscribe(_ context.Context, name string, topics ...string) (Subscription, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.groups == nil {
		l.groups = map[string]*group{}
	}
	g := l.groups[name]
	if g == nil {
		g = &group{places: map[*partition]*place{}}
		l.groups[name] = g
	}
	for _, t := range topics {
		for _, p := range l.topic(t) {
			if g.places[p] == nil {
				g.places[p] = &place{next: p.first, read: p.first}
			}
		}
	}
	m := &member{bus: l, group: g, topics: topics}
	g.members = append(g.members, m)
	l.divide(g)
	return m, nil
}

// divide gives each member its share; l.mu is held.
func (l *Local) divide(g *group) {
	defer l.wake()
	if len(g.members) == 0 {
		return
	}
	waits := false
	for i, p := range g.sorted() {
		at, to := g.places[p], g.members[i%len(g.members)]
		at.heir = to
		at.hand()
		waits = waits || at.heir != nil
	}
	if waits {
		members := slices.Clone(g.members)
		time.AfterFunc(cmp.Or(l.Drain, localDrain), func() { l.hurry(g, members) })
	}
}

// hurry hands over what still waits for its owner, unless the members, and with
// them the shares, have changed since.
func (l *Local) hurry(g *group, members []*member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(g.members, members) {
		return
	}
	for _, at := range g.places {
		if at.heir != nil {
			at.give(at.heir)
		}
	}
	l.wake()
}

func (g *group) sorted() []*partition {
	return slices.SortedFunc(maps.Keys(g.places), func(a, b *partition) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number))
	})
}

// hand gives the partition to its heir, once nothing of it is in hand.
func (p *place) hand() {
	if p.heir != nil && (p.owner == nil || p.owner == p.heir || p.track.Open() == 0) {
		p.give(p.heir)
	}
}

// give makes to the owner, who begins with the lowest unfinished record.
func (p *place) give(to *member) {
	if p.owner != to {
		p.owner, p.read, p.track = to, p.next, Tracker{}
		p.term++
	}
	p.heir = nil
}

// Fetch implements Subscription.
func (m *member) Fetch(ctx context.Context, limit int) ([]Delivery, error) {
	for {
		m.bus.mu.Lock()
		if m.closed {
			m.bus.mu.Unlock()
			return nil, ErrClosed
		}
		found := m.take(limit)
		changed := m.bus.look()
		m.bus.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take delivers what there is, beginning with another partition each time.
func (m *member) take(limit int) (found []Delivery) {
	all := m.group.sorted()
	m.turn++
	for i := range all {
		p := all[(i+m.turn)%len(all)]
		at := m.group.places[p]
		if at.owner != m || at.heir != nil {
			continue
		}
		for ; len(found) < limit && at.read < p.first+int64(len(p.records)) && !at.track.Full(); at.read++ {
			found = append(found, Delivery{Record: p.records[at.read-p.first], Partition: p.number, Offset: at.read, Term: at.term})
			at.track.Deliver(at.read)
		}
	}
	return found
}

// Finish implements Subscription.
func (m *member) Finish(deliveries ...Delivery) {
	m.bus.mu.Lock()
	defer m.bus.mu.Unlock()
	for _, d := range deliveries {
		p, at := m.place(d)
		if at == nil {
			continue
		}
		if next, moved := at.track.Finish(d.Offset); moved {
			at.next = next
			at.hand()
			m.bus.trim(p)
		}
	}
	m.bus.wake()
}

// Holds implements Subscription.
func (m *member) Holds(d Delivery) bool {
	m.bus.mu.Lock()
	defer m.bus.mu.Unlock()
	_, at := m.place(d)
	return at != nil
}

// place returns where a delivery came from, if it is held; m.bus.mu is held.
func (m *member) place(d Delivery) (*partition, *place) {
	p := m.bus.topic(d.Topic)[d.Partition]
	at := m.group.places[p]
	if at == nil || at.owner != m || at.term != d.Term {
		return p, nil
	}
	return p, at
}

// trim forgets what every group has finished; l.mu is held.
func (l *Local) trim(p *partition) {
	low := p.first + int64(len(p.records))
	for _, g := range l.groups {
		if at := g.places[p]; at != nil {
			low = min(low, at.next)
		}
	}
	if n := low - p.first; n > 1024 || n == int64(len(p.records)) {
		p.records = slices.Delete(p.records, 0, int(n))
		p.first = low
	}
}

// Close implements Subscription.
func (m *member) Close(context.Context) error {
	m.bus.mu.Lock()
	defer m.bus.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	g := m.group
	g.members = slices.DeleteFunc(g.members, func(o *member) bool { return o == m })
	for _, at := range g.places {
		if at.owner == m {
			at.give(nil)
		}
	}
	m.bus.divide(g)
	return nil
}
