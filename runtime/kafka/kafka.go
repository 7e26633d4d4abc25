// Package kafka is a bus of commands over Kafka.
//
//	b, err := kafka.Open(ctx, kafka.Config{Seeds: []string{"localhost:9092"}})
//	r := wowrt.New(wowrt.Config{Store: store, Bus: b})
//	…
//	b.Close() // after r.Stop
//
// Each aggregate has a topic, "shop.cart"; an aggregate's key decides its
// partition, by the hash that Kafka's own clients use, so that programs in other
// languages can send too. Each bounded context has a consumer group; only offsets
// below which everything is finished are committed.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wowgen/wow/runtime/bus"
)

// Config is how Open connects.
type Config struct {
	// Seeds are the brokers to begin with, "host:9092". One is enough.
	Seeds []string
	// Prefix goes before the name of each topic and group: "test-". Default
	// none.
	Prefix string
	// Partitions is how many a topic has. A topic that is not there is created
	// with so many; one that has another number is refused, because keys would
	// move and lose their order. Default 24.
	Partitions int
	// Replication is how many brokers keep a topic that is created. Default is
	// the broker's.
	Replication int
	// Drain bounds how long a partition that moves to another process waits for
	// what this one has of it, and with it what this process fetches. Default
	// 10 s, at most 30 s.
	Drain time.Duration
	// Options are for the client of franz-go: TLS, SASL. They must not change
	// how records are partitioned, acknowledged or committed.
	Options []kgo.Opt
}

// Bus is a bus.Bus. Its methods may be called at the same time.
type Bus struct {
	cfg      Config
	producer *kgo.Client
	mu       sync.Mutex
	ready    map[string]bool // topics that are there, with the right partitions
}

var _ bus.Bus = (*Bus)(nil)

// maxRecord is the largest record that is published: a command of 900 KiB, and
// its headers.
const maxRecord = 1 << 20

// Open connects to the brokers. All that is wrong with cfg is in its error.
func Open(ctx context.Context, cfg Config) (*Bus, error) {
	if cfg.Partitions == 0 {
		cfg.Partitions = 24
	}
	if cfg.Drain == 0 {
		cfg.Drain = 10 * time.Second
	}
	var errs []error
	if len(cfg.Seeds) == 0 {
		errs = append(errs, errors.New("config.Seeds is empty: name a broker, such as localhost:9092"))
	}
	if cfg.Partitions < 1 || cfg.Partitions > 10_000 {
		errs = append(errs, fmt.Errorf("config.Partitions is %d: it must be between 1 and 10,000", cfg.Partitions))
	}
	if cfg.Replication < 0 || cfg.Replication > 1<<15-1 {
		errs = append(errs, fmt.Errorf("config.Replication is %d: it must be between 0, the broker's default, and 32,767", cfg.Replication))
	}
	if cfg.Drain < 0 || cfg.Drain > 30*time.Second {
		errs = append(errs, fmt.Errorf("config.Drain is %v: it must be between 0 and 30 s", cfg.Drain))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("kafka: opening: %w", err)
	}
	b := &Bus{cfg: cfg, ready: map[string]bool{}}
	var err error
	b.producer, err = kgo.NewClient(b.options(
		kgo.RecordPartitioner(partitioner(cfg.Partitions)),
		kgo.ProducerBatchMaxBytes(maxRecord+64<<10),
		kgo.ProducerLinger(0), // a sender waits for each
	)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: opening: %w", err)
	}
	if err := b.producer.Ping(ctx); err != nil {
		b.producer.Close()
		return nil, fmt.Errorf("kafka: opening: no broker of %s answers: %w", strings.Join(cfg.Seeds, ", "), err)
	}
	return b, nil
}

func (b *Bus) options(more ...kgo.Opt) []kgo.Opt {
	all := []kgo.Opt{kgo.SeedBrokers(b.cfg.Seeds...), kgo.ClientID("wow")}
	return append(append(all, b.cfg.Options...), more...)
}

// Close ends the publishing. Subscriptions are closed by whoever made them.
func (b *Bus) Close() { b.producer.Close() }

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, records ...bus.Record) error {
	all := make([]*kgo.Record, len(records))
	topics := map[string]bool{}
	for i, r := range records {
		topics[r.Topic] = true
		all[i] = &kgo.Record{Topic: b.cfg.Prefix + r.Topic, Key: []byte(r.Key), Value: r.Value}
		for _, k := range slices.Sorted(maps.Keys(r.Headers)) {
			all[i].Headers = append(all[i].Headers, kgo.RecordHeader{Key: k, Value: []byte(r.Headers[k])})
		}
	}
	if err := b.prepare(ctx, slices.Sorted(maps.Keys(topics))); err != nil {
		return err
	}
	if err := b.producer.ProduceSync(ctx, all...).FirstErr(); err != nil {
		if errors.Is(err, kgo.ErrClientClosed) {
			return bus.ErrClosed
		}
		return fmt.Errorf("kafka: publishing: %w", err)
	}
	return nil
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// prepare creates the topics that are not there, and refuses those that have
// another number of partitions.
func (b *Bus) prepare(ctx context.Context, topics []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	create, ask := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrMetadataRequest()
	create.TimeoutMillis = 15_000
	for _, t := range topics {
		if b.ready[t] {
			continue
		}
		name := b.cfg.Prefix + t
		if !topicName.MatchString(name) {
			return fmt.Errorf("kafka: topic %q: a name has up to 249 letters, digits, dots, dashes and underscores of ASCII", name)
		}
		one := kmsg.NewCreateTopicsRequestTopic()
		one.Topic, one.NumPartitions, one.ReplicationFactor = name, int32(b.cfg.Partitions), int16(b.cfg.Replication)
		if b.cfg.Replication == 0 {
			one.ReplicationFactor = -1
		}
		create.Topics = append(create.Topics, one)
		which := kmsg.NewMetadataRequestTopic()
		which.Topic = &name
		ask.Topics = append(ask.Topics, which)
	}
	if len(create.Topics) == 0 {
		return nil
	}
	created, err := create.RequestWith(ctx, b.producer)
	if err != nil {
		return fmt.Errorf("kafka: creating topics: %w", err)
	}
	for _, t := range created.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("kafka: creating topic %s: %w", t.Topic, err)
		}
	}
	meta, err := ask.RequestWith(ctx, b.producer)
	if err != nil {
		return fmt.Errorf("kafka: looking at topics: %w", err)
	}
	for _, t := range meta.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("kafka: looking at topic %s: %w", *t.Topic, err)
		}
		if len(t.Partitions) != b.cfg.Partitions {
			return fmt.Errorf("kafka: topic %s has %d partitions, Config.Partitions says %d: set that to %d; to change the topic would move keys to other partitions, and lose their order",
				*t.Topic, len(t.Partitions), b.cfg.Partitions, len(t.Partitions))
		}
	}
	for _, t := range topics {
		b.ready[t] = true
	}
	return nil
}
