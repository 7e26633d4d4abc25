package runtime

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// statesKept is how many states a consumer keeps between commits.
const statesKept = 1024

// streamPage is how many commits of one aggregate are read at once.
const streamPage = 256

// stateFolder gives a consumer the state after a commit.
//
// It folds the commits itself, into states that no other dispatcher shares,
// starting from a snapshot or from the first version. Those used last are kept,
// so a consumer that is up to date applies each event once. Handlers get a
// copy, which they may change or keep.
//
// Any goroutine may use it, but one aggregate only from its mailbox: there
// commits come one at a time.
type stateFolder struct {
	store store.Store
	size  int // states kept; 0: none, and handlers get the folded state itself

	mu     sync.Mutex
	states map[wow.Target]*list.Element // of *foldedState
	used   list.List                    // the one used last is in front
}

// foldedState is a state with the version that it is at.
type foldedState struct {
	target  wow.Target
	state   wow.State
	version int64
}

func newStateFolder(s store.Store, size int) *stateFolder {
	return &stateFolder{store: s, size: size, states: map[wow.Target]*list.Element{}}
}

// after returns the state after a commit, for the caller to keep. While it is
// at work the folder does not hold the state, so one that fails half-way is
// never used again.
func (f *stateFolder) after(ctx context.Context, s *subscriber, c *store.Commit) (wow.State, error) {
	at := f.out(c.Target)
	var err error
	if at == nil || at.version >= c.Version { // an older commit comes again
		if at, err = f.base(ctx, s.State, c); err != nil {
			return nil, err
		}
	}
	for at.version < c.Version-1 { // commits that this consumer did not see
		if err := f.catchUp(ctx, s, at, c.Version-1); err != nil {
			return nil, err
		}
	}
	if err := s.apply(at, c); err != nil {
		return nil, err
	}
	if f.size == 0 {
		return at.state, nil
	}
	state, err := copyState(s.State, at.state)
	if err == nil {
		f.in(at)
	}
	return state, err
}

// base returns the newest state before a commit that costs no event.
func (f *stateFolder) base(ctx context.Context, st *wow.StateType, c *store.Commit) (*foldedState, error) {
	if c.Version > 1 && st.Snapshot > 0 {
		sn, err := f.store.Snapshot(ctx, c.Target, st.Revision, c.Version-1)
		if err != nil {
			return nil, fmt.Errorf("runtime: reading a snapshot of %s: %w", c.Target, err)
		}
		if sn != nil {
			// One that does not decode is as good as none: the events say it all.
			if state, err := decodeState(st, sn.Codec, sn.Data); err == nil {
				return &foldedState{c.Target, state, sn.Version}, nil
			}
		}
	}
	return &foldedState{target: c.Target, state: st.New(c.Target)}, nil
}

// catchUp applies the next commits, up to a version.
func (f *stateFolder) catchUp(ctx context.Context, s *subscriber, at *foldedState, to int64) error {
	commits, err := f.store.Stream(ctx, at.target, at.version, int(min(to-at.version, streamPage)))
	if err != nil {
		return fmt.Errorf("runtime: reading the history of %s: %w", at.target, err)
	}
	if len(commits) == 0 {
		return fmt.Errorf("runtime: the history of %s ends at version %d, but a later one was read (%w)", at.target, at.version, wow.Permanent)
	}
	for _, c := range commits {
		if err := s.apply(at, c); err != nil {
			return err
		}
	}
	return nil
}

// apply lets a commit happen.
func (s *subscriber) apply(at *foldedState, c *store.Commit) error {
	events, err := s.eventsOf(c)
	if err != nil {
		return err
	}
	m := wow.EventMeta{CommitMeta: commitMeta(c)}
	for i, e := range events {
		if m.Index = i; !s.State.Apply(at.state, e, &m) {
			return fmt.Errorf("runtime: applying event %s: the state of %s does not know %T: %w", m.ID(), c.Target.Aggregate, e, wow.ErrUnknownType)
		}
	}
	at.version = c.Version
	return nil
}

// eventsOf decodes all events of a commit.
func (s *subscriber) eventsOf(c *store.Commit) (wow.Events, error) {
	events := make(wow.Events, len(c.Events))
	for i := range c.Events {
		e := &c.Events[i]
		t := s.known[e.Name]
		if t == nil {
			return nil, fmt.Errorf("runtime: event %s/%d is a %q, which the state of %s does not know: %w", c.ID, i, e.Name, c.Target.Aggregate, wow.ErrUnknownType)
		}
		var err error
		if events[i], err = eventOf(t, c, i); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// out takes a kept state away, or returns nil.
func (f *stateFolder) out(t wow.Target) *foldedState {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.states[t]
	if e == nil {
		return nil
	}
	delete(f.states, t)
	return f.used.Remove(e).(*foldedState)
}

// in keeps a state, and lets go of the one not used for longest.
func (f *stateFolder) in(s *foldedState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[s.target] = f.used.PushFront(s)
	if f.used.Len() > f.size {
		delete(f.states, f.used.Remove(f.used.Back()).(*foldedState).target)
	}
}

// copyState returns a state that shares nothing with s.
func copyState(st *wow.StateType, s wow.State) (wow.State, error) {
	codec, data, err := encodeState(s)
	if err == nil {
		s, err = decodeState(st, codec, data)
	}
	if err != nil {
		return nil, fmt.Errorf("runtime: copying a state of %s: %w (%w)", st.Aggregate, err, wow.Permanent)
	}
	return s, nil
}

func encodeState(s wow.State) (store.Codec, []byte, error) {
	data, err := json.Marshal(s)
	return store.JSON, data, err
}

func decodeState(st *wow.StateType, codec store.Codec, data []byte) (wow.State, error) {
	unmarshal, err := decoder(codec)
	if err != nil {
		return nil, err
	}
	return st.Decode(unmarshal, data)
}
