package executor

import (
	"context"
	"errors"
	"fmt"
)

// Shards is a receiver with several doors: lanes that divide the keys among
// themselves by hash, so that senders on many cores do not queue for one lock.
//
// A lane admits one message at a time. That takes some 40 ns, and where its
// senders are on different cores the time to move a few cache lines between
// them: about 6 million messages a second, however many cores there are. Each
// shard adds as much. Up to eight cores or so one lane is the better choice, as
// shards cannot lend each other room.
type Shards[K comparable, M any] struct {
	lanes []*Lane[K, M]
	hash  func(K) uint64
}

// OpenShards opens n lanes on e, named name/0 to name/n-1. cfg is of all
// together: the window and the overflow are divided among them. PerKey holds as
// it is, since all messages of a key go to one lane, in order; it may be no
// larger than a shard's window.
func OpenShards[K comparable, M any](e *Executor, n int, cfg LaneConfig[K, M], h Handler[K, M]) (*Shards[K, M], error) {
	orDefault(&cfg.MaxInFlight, e.cfg.MaxInFlight)
	errs := check(option{"shards", n, 1, maxShards}, option{"max-in-flight", cfg.MaxInFlight, min(n, maxShards), maxWindow})
	if cfg.SingleSender {
		errs = append(errs, errors.New("single-sender is set: one sender needs no shards, open a lane"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("executor: opening shards %q: %w", cfg.Name, errors.Join(errs...))
	}
	s := &Shards[K, M]{hash: hasher[K]()}
	for i := range n {
		part := cfg
		part.Name = fmt.Sprintf("%s/%d", cfg.Name, i)
		part.MaxInFlight, part.Overflow = share(cfg.MaxInFlight, i, n), share(cfg.Overflow, i, n)
		l, err := Open(e, part, h)
		if err != nil {
			for _, open := range s.lanes {
				open.shut()
				e.remove(&open.lane)
			}
			return nil, err
		}
		s.lanes = append(s.lanes, l)
	}
	return s, nil
}

const maxShards = 1024

// share is the i-th of n nearly equal parts of a total.
func share(total, i, n int) int {
	part := total / n
	if i < total%n {
		part++
	}
	return part
}

// of returns the lane of a key.
func (s *Shards[K, M]) of(key K) *Lane[K, M] { return s.lanes[s.hash(key)%uint64(len(s.lanes))] }

// Submit is [Lane.Submit]. It waits for room in the key's shard.
func (s *Shards[K, M]) Submit(ctx context.Context, key K, msg M) error {
	return s.of(key).Submit(ctx, key, msg)
}

// TrySubmit is [Lane.TrySubmit].
func (s *Shards[K, M]) TrySubmit(key K, msg M) error { return s.of(key).TrySubmit(key, msg) }

// Close is [Lane.Close] for all shards: admission stops at once everywhere.
func (s *Shards[K, M]) Close(ctx context.Context) error {
	lanes := make([]*lane, len(s.lanes))
	for i, l := range s.lanes {
		lanes[i] = &l.lane
		l.shut()
	}
	for _, l := range lanes {
		if err := l.drained(ctx); err != nil {
			if left := l.e.report(err, lanes); left.Total > 0 {
				return left
			}
		}
	}
	for _, l := range lanes {
		l.e.remove(l)
	}
	return nil
}
