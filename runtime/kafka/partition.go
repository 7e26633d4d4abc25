package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
)

// partitioner sends each key where Kafka's own clients send it when a topic has
// n partitions. That stays so when somebody adds partitions while this process
// runs: keys that moved would lose their order.
func partitioner(n int) kgo.Partitioner {
	return kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
		return func(r *kgo.Record, _ int) int { return int(murmur2(r.Key)&0x7fffffff) % n }
	})
}

// murmur2 is Austin Appleby's hash, with the seed of Kafka's Java client.
func murmur2(b []byte) uint32 {
	const seed, m = 0x9747b28c, 0x5bd1e995
	h := uint32(seed) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		h = h*m ^ (k^k>>24)*m
	}
	if len(b) > 0 {
		for i := len(b) - 1; i >= 0; i-- {
			h ^= uint32(b[i]) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
