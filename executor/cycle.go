package executor

import (
	"context"
	"slices"
	"sync"
)

// AwaitKey is [Await] for an f that waits for a message of key in lane l, such
// as one that the handler has submitted. If that message could only run after
// the handler's own, as it is of the same key, or of a key whose handler waits
// for this one, directly or through others and in whatever lanes, AwaitKey
// returns [ErrOwnKey] at once and f is not called.
func AwaitKey[K comparable, M, T any](ctx context.Context, l *Lane[K, M], key K, f func(context.Context) (T, error)) (T, error) {
	t := turnOf(ctx)
	if t == nil || t.box == nil {
		return f(ctx)
	}
	own := t.box.port.lane
	from := mailboxID{own, own.entries[t.box.index].hash}
	to := mailboxID{&l.lane, l.hash(key)}
	if !own.e.waits.add(from, to) {
		var zero T
		return zero, ErrOwnKey
	}
	defer own.e.waits.remove(from, to)
	return Await(ctx, f)
}

// mailboxID names a mailbox whether or not it exists.
type mailboxID struct {
	lane *lane
	hash uint64
}

// waitGraph holds who waits for whom: an edge per AwaitKey that is on. It never
// has a cycle, as the edge that would close one is refused.
type waitGraph struct {
	mu    sync.Mutex
	edges map[mailboxID][]mailboxID
}

// add adds an edge unless it closes a cycle.
func (g *waitGraph) add(from, to mailboxID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaches(to, from) {
		return false
	}
	if g.edges == nil {
		g.edges = map[mailboxID][]mailboxID{}
	}
	g.edges[from] = append(g.edges[from], to)
	return true
}

// reaches reports whether a path leads from a to b; without cycles it ends.
func (g *waitGraph) reaches(a, b mailboxID) bool {
	return a == b || slices.ContainsFunc(g.edges[a], func(n mailboxID) bool { return g.reaches(n, b) })
}

func (g *waitGraph) remove(from, to mailboxID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest := g.edges[from]
	i := slices.Index(rest, to)
	if rest = slices.Delete(rest, i, i+1); len(rest) == 0 {
		delete(g.edges, from)
		return
	}
	g.edges[from] = rest
}

// An insider is a handler that waits for room in its own lane. Its message
// keeps its credit meanwhile, and so do those behind it.
type insider struct {
	box   uint32        // of the handler
	to    uint64        // hash of the key that it sends to
	stuck chan struct{} // closed when there will never be room
}

// enter notes an insider; others get one that is never stuck.
func (l *lane) enter(ctx context.Context, to uint64) *insider {
	t := turnOf(ctx)
	if t == nil || t.box == nil || t.box.port.lane != l {
		return &insider{}
	}
	me := &insider{box: t.box.index, to: to, stuck: make(chan struct{})}
	l.inside = append(l.inside, me)
	l.unstick()
	return me
}

func (l *lane) exit(me *insider) {
	l.inside = slices.DeleteFunc(l.inside, func(i *insider) bool { return i == me })
	if len(l.inside) == 0 {
		l.inside = nil
	}
}

// unstick looks for a deadlock among the insiders, after one came or a message
// was admitted: when their mailboxes hold the whole window, or the whole
// overflow while one waits for that, there will never be room. The latest is
// told so, and gives way with [ErrOwnKey].
func (l *lane) unstick() {
	if len(l.inside) == 0 {
		return
	}
	var out, over uint32
	counted := map[uint32]bool{}
	for _, i := range l.inside {
		if !counted[i.box] {
			counted[i.box] = true
			out += l.entries[i.box].out
			if l.perKey > 0 {
				over += l.spills[i.box].n
			}
		}
	}
	for n := len(l.inside) - 1; n >= 0; n-- {
		i := l.inside[n]
		stuck := out >= l.window
		if l.perKey > 0 && l.atBound(i.to) {
			_, box := l.find(i.to)
			stuck = counted[box] && over >= l.overflow
		}
		if stuck {
			close(i.stuck)
			l.inside = slices.Delete(l.inside, n, n+1)
			return
		}
	}
}
