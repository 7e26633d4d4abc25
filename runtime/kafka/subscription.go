package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wowgen/wow/runtime/bus"
)

// commitEvery is how often finished offsets are committed. A crash repeats about
// as much; request IDs make that harmless.
const commitEvery = time.Second

// subscription is a member of a consumer group.
//
//	PollRecords -> track -> (the receiver works) -> Finish -> mark -> commit
//
// A rebalance waits until the records that were polled are in their trackers,
// and a partition that is taken away until what is in hand of it is finished.
type subscription struct {
	bus    *Bus
	client *kgo.Client

	mu      sync.Mutex
	tracks  map[part]*track
	terms   int64         // given out so far
	changed chan struct{} // closed, and made anew, when something was finished
	closing bool
	over    sync.Once
}

type part struct {
	topic     string // without the prefix
	partition int32
}

// track is a partition while this member has it.
type track struct {
	bus.Tracker
	term   int64
	paused bool // it is full
}

// Subscribe implements bus.Bus.
func (b *Bus) Subscribe(ctx context.Context, group string, topics ...string) (bus.Subscription, error) {
	if err := b.prepare(ctx, topics); err != nil {
		return nil, err
	}
	s := &subscription{bus: b, tracks: map[part]*track{}, changed: make(chan struct{})}
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = b.cfg.Prefix + t
	}
	var err error
	s.client, err = kgo.NewClient(b.options(
		kgo.ConsumerGroup(b.cfg.Prefix+group),
		kgo.ConsumeTopics(names...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(8<<20),
		kgo.BlockRebalanceOnPoll(),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(commitEvery),
		kgo.OnPartitionsRevoked(s.revoked),
		kgo.OnPartitionsLost(s.lost),
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: subscribing to %s: %w", strings.Join(topics, ", "), err)
	}
	return s, nil
}

// Fetch implements bus.Subscription. While nobody fetches, franz-go buffers one
// fetch of each broker and asks for no more.
func (s *subscription) Fetch(ctx context.Context, limit int) ([]bus.Delivery, error) {
	for {
		fetches := s.client.PollRecords(ctx, limit)
		found := s.take(fetches)
		s.client.AllowRebalance()
		if len(found) > 0 {
			return found, nil
		}
		if fetches.IsClientClosed() {
			return nil, bus.ErrClosed
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("kafka: fetching: %w", err)
		}
	}
}

func (s *subscription) take(fetches kgo.Fetches) (found []bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		d := bus.Delivery{Partition: r.Partition, Offset: r.Offset}
		d.Topic, d.Key, d.Value = strings.TrimPrefix(r.Topic, s.bus.cfg.Prefix), string(r.Key), r.Value
		if len(r.Headers) > 0 {
			d.Headers = make(map[string]string, len(r.Headers))
			for _, h := range r.Headers {
				d.Headers[h.Key] = string(h.Value)
			}
		}
		at := part{d.Topic, d.Partition}
		if s.tracks[at] == nil {
			s.terms++
			s.tracks[at] = &track{term: s.terms}
		}
		d.Term = s.tracks[at].term
		s.tracks[at].Deliver(d.Offset)
		found = append(found, d)
	})
	for at, t := range s.tracks {
		if !t.paused && t.Full() {
			t.paused = true
			s.client.PauseFetchPartitions(s.named(at))
		}
	}
	return found
}

// named is a partition as franz-go wants it.
func (s *subscription) named(at part) map[string][]int32 {
	return map[string][]int32{s.bus.cfg.Prefix + at.topic: {at.partition}}
}

// Finish implements bus.Subscription.
func (s *subscription) Finish(deliveries ...bus.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deliveries {
		at := part{d.Topic, d.Partition}
		t := s.tracks[at]
		if t == nil || t.term != d.Term {
			continue // the partition went to another process
		}
		if next, moved := t.Finish(d.Offset); moved {
			s.client.MarkCommitOffsets(map[string]map[int32]kgo.EpochOffset{
				s.bus.cfg.Prefix + d.Topic: {d.Partition: {Epoch: -1, Offset: next}},
			})
		}
		if t.paused && !t.Full() {
			t.paused = false
			s.client.ResumeFetchPartitions(s.named(at))
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Holds implements bus.Subscription.
func (s *subscription) Holds(d bus.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tracks[part{d.Topic, d.Partition}]
	return t != nil && t.term == d.Term
}

// revoked lets partitions go, once what is in hand of them is finished.
func (s *subscription) revoked(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
	drain, cancel := context.WithTimeout(ctx, s.bus.cfg.Drain)
	defer cancel()
	for s.inHand(gone) {
		s.mu.Lock()
		changed, closing := s.changed, s.closing
		s.mu.Unlock()
		if closing {
			break
		}
		select {
		case <-changed:
			continue
		case <-drain.Done():
		}
		break
	}
	_ = client.CommitMarkedOffsets(ctx) // what is not committed comes again
	s.lost(ctx, client, gone)
}

// lost forgets partitions.
func (s *subscription) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each(gone, func(at part) {
		if t := s.tracks[at]; t != nil && t.paused {
			s.client.ResumeFetchPartitions(s.named(at)) // should it come back
		}
		delete(s.tracks, at)
	})
}

func (s *subscription) inHand(of map[string][]int32) (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each(of, func(at part) { some = some || s.tracks[at] != nil && s.tracks[at].Open() > 0 })
	return some
}

func (s *subscription) each(of map[string][]int32, f func(part)) {
	for topic, partitions := range of {
		for _, p := range partitions {
			f(part{strings.TrimPrefix(topic, s.bus.cfg.Prefix), p})
		}
	}
}

// Close implements bus.Subscription.
func (s *subscription) Close(ctx context.Context) (err error) {
	s.over.Do(func() {
		s.mu.Lock()
		s.closing = true
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if e := s.client.CommitMarkedOffsets(ctx); e != nil && !errors.Is(e, context.Canceled) {
			err = fmt.Errorf("kafka: committing what is finished: %w", e)
		}
		s.client.CloseAllowingRebalance()
	})
	return err
}
