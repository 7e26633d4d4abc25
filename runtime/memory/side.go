package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// side is what consumers and snapshots need, away from the lock of the log.
type side struct {
	mu          sync.Mutex
	snapshots   map[snapshotKey][]*store.Snapshot // oldest first, at most store.SnapshotsKept
	checkpoints map[checkpointKey]store.Checkpoint
	parked      map[string][]store.Parked // by consumer, in order
	timers      map[string]*timers        // by consumer
}

type snapshotKey struct {
	target   wow.Target
	revision string
}

type checkpointKey struct {
	consumer string
	shard    int32
	segment  int
}

func newSide() side {
	return side{
		snapshots:   make(map[snapshotKey][]*store.Snapshot),
		checkpoints: make(map[checkpointKey]store.Checkpoint),
		parked:      make(map[string][]store.Parked),
		timers:      make(map[string]*timers),
	}
}

// Snapshot implements store.Snapshots.
func (s *Store) Snapshot(ctx context.Context, t wow.Target, revision string, limit int64) (*store.Snapshot, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	for _, sn := range slices.Backward(s.side.snapshots[snapshotKey{t, revision}]) {
		if limit == 0 || sn.Version <= limit {
			return sn, nil
		}
	}
	return nil, nil
}

// SaveSnapshot implements store.Snapshots.
func (s *Store) SaveSnapshot(ctx context.Context, sn *store.Snapshot) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := store.CheckSnapshot(sn); err != nil {
		return err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	key := snapshotKey{sn.Target, sn.Revision}
	kept := s.side.snapshots[key]
	if n := len(kept); n > 0 && kept[n-1].Version >= sn.Version {
		if kept[n-1].Version == sn.Version {
			kept[n-1] = sn
		}
		return nil
	}
	if len(kept) == store.SnapshotsKept {
		copy(kept, kept[1:])
		kept = kept[:len(kept)-1]
	}
	s.side.snapshots[key] = append(kept, sn)
	return nil
}

// Checkpoint implements store.Checkpoints.
func (s *Store) Checkpoint(ctx context.Context, consumer string, shard int32, segment int) (store.Checkpoint, error) {
	if err := s.usable(ctx); err != nil {
		return store.Checkpoint{}, err
	}
	if err := checkShard(shard); err != nil {
		return store.Checkpoint{}, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	if c, ok := s.side.checkpoints[checkpointKey{consumer, shard, segment}]; ok {
		return c, nil
	}
	return store.Checkpoint{Consumer: consumer, Segment: segment, Position: wow.Position{Shard: shard}}, nil
}

// SaveCheckpoint implements store.Checkpoints.
func (s *Store) SaveCheckpoint(ctx context.Context, c store.Checkpoint) error {
	return s.Park(ctx, nil, &c)
}

// Park implements store.Parking.
func (s *Store) Park(ctx context.Context, messages []store.Parked, c *store.Checkpoint) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	for i := range messages {
		if err := store.CheckParked(&messages[i]); err != nil {
			return err
		}
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	if c != nil {
		if err := s.move(c); err != nil {
			return err
		}
	}
	for _, m := range messages {
		list := s.side.parked[m.Consumer]
		i, found := find(list, m.Commit.Position, m.Function)
		if found {
			list[i].Error, list[i].Attempts, list[i].At, list[i].Running = m.Error, m.Attempts, m.At, m.Running
			continue
		}
		s.side.parked[m.Consumer] = slices.Insert(list, i, m)
	}
	return nil
}

// move stores a checkpoint, or says why it must not. The caller holds the
// lock.
func (s *Store) move(c *store.Checkpoint) error {
	if err := checkShard(c.Position.Shard); err != nil {
		return err
	}
	if c.Position.Seq > s.log.head.Load() {
		return store.ErrAhead
	}
	key := checkpointKey{c.Consumer, c.Position.Shard, c.Segment}
	old := s.side.checkpoints[key]
	if c.Epoch < old.Epoch || c.Position.Seq < old.Position.Seq && c.Position.Seq > 0 {
		return store.ErrEpoch
	}
	to := *c
	to.Position.Seq = max(to.Position.Seq, old.Position.Seq)
	s.side.checkpoints[key] = to
	return nil
}

// Parked implements store.Parking.
func (s *Store) Parked(ctx context.Context, consumer string, t wow.Target, after wow.Position, limit int) ([]store.Parked, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	list := s.side.parked[consumer]
	i, _ := find(list, wow.Position{Shard: after.Shard, Seq: after.Seq + 1}, "")
	var found []store.Parked
	for ; i < len(list) && list[i].Commit.Position.Shard == after.Shard; i++ {
		p := list[i]
		if t != (wow.Target{}) && p.Commit.Target != t {
			continue
		}
		if n := len(found); n >= limit && (n == 0 || found[n-1].Commit.Position != p.Commit.Position) {
			break
		}
		found = append(found, p)
	}
	return found, nil
}

// Unpark implements store.Parking.
func (s *Store) Unpark(ctx context.Context, consumer, function string, at wow.Position, c *store.Checkpoint) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.side.mu.Lock()
	defer s.side.mu.Unlock()
	if c != nil {
		if err := s.move(c); err != nil {
			return err
		}
	}
	list := s.side.parked[consumer]
	if i, found := find(list, at, function); found {
		s.side.parked[consumer] = slices.Delete(list, i, i+1)
	}
	return nil
}

// find returns where a message is in a consumer's list, or belongs.
func find(list []store.Parked, at wow.Position, function string) (int, bool) {
	return slices.BinarySearchFunc(list, at, func(p store.Parked, at wow.Position) int {
		q := p.Commit.Position
		return cmp.Or(cmp.Compare(q.Shard, at.Shard), cmp.Compare(q.Seq, at.Seq), cmp.Compare(p.Function, function))
	})
}
