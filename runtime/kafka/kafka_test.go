package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/bustest"
	"github.com/wowgen/wow/runtime/kafka"
)

// cluster is a broker in this process that speaks Kafka's protocol.
func cluster(t testing.TB) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

func open(t testing.TB, seeds []string, partitions int) *kafka.Bus {
	t.Helper()
	b, err := kafka.Open(t.Context(), kafka.Config{Seeds: seeds, Partitions: partitions, Drain: time.Second, Options: []kgo.Opt{
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(5 * time.Second),
	}})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestContract(t *testing.T) {
	bustest.Run(t, func(t testing.TB) bus.Bus { return open(t, cluster(t), 8) })
}

func TestATopicWithOtherPartitionsIsRefused(t *testing.T) {
	seeds := cluster(t)
	require.NoError(t, open(t, seeds, 4).Publish(t.Context(), bus.Record{Topic: "shop.cart", Key: "k"}))
	other := open(t, seeds, 6)
	want := "kafka: topic shop.cart has 4 partitions, Config.Partitions says 6: set that to 4"
	require.ErrorContains(t, other.Publish(t.Context(), bus.Record{Topic: "shop.cart", Key: "k"}), want)
	_, err := other.Subscribe(t.Context(), "g", "shop.cart")
	require.ErrorContains(t, err, want)
}

func TestEveryFaultOfAConfigIsTold(t *testing.T) {
	_, err := kafka.Open(t.Context(), kafka.Config{Partitions: -1, Replication: -1, Drain: time.Hour})
	for _, want := range []string{"Seeds is empty", "Partitions is -1", "Replication is -1", "Drain is 1h0m0s"} {
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = kafka.Open(ctx, kafka.Config{Seeds: []string{"127.0.0.1:1"}})
	require.ErrorContains(t, err, "no broker of 127.0.0.1:1 answers")
}

// Keys go where a client in another language sends them: murmur2 of the key, the
// sign dropped, modulo the partitions.
func TestKeysArePartitionedAsKafkasOwnClientsDo(t *testing.T) {
	seeds := cluster(t)
	b := open(t, seeds, 12)
	s, err := b.Subscribe(t.Context(), "g", "shop.cart")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	for key := range 40 {
		require.NoError(t, b.Publish(t.Context(), bus.Record{Topic: "shop.cart", Key: fmt.Sprint("|shop.cart|c", key)}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for seen := 0; seen < 40; {
		some, err := s.Fetch(ctx, 100)
		require.NoError(t, err)
		for _, d := range some {
			require.EqualValues(t, javaPartition(d.Key, 12), d.Partition, d.Key)
			seen++
		}
	}
}

// javaPartition is what org.apache.kafka's DefaultPartitioner computes.
func javaPartition(key string, partitions int32) int32 {
	return int32(murmur2([]byte(key))&0x7fffffff) % partitions
}

// murmur2 is that of org.apache.kafka.common.utils.Utils, by its definition.
func murmur2(b []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h *= m
		h ^= k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}
