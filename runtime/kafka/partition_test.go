package kafka

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The partition is what franz-go's own implementation of Java's gives, and does
// not follow a topic that grows.
func TestAPartitionDependsOnTheKeyAndTheConfigurationAlone(t *testing.T) {
	theirs, ours := kgo.StickyKeyPartitioner(nil).ForTopic("t"), partitioner(12).ForTopic("t")
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range 1000 {
		key := make([]byte, n%50)
		for i := range key {
			key[i] = byte(random.Uint32())
		}
		r := &kgo.Record{Key: key}
		require.Equal(t, theirs.Partition(r, 12), ours.Partition(r, 12), "key %q", key)
		require.Equal(t, ours.Partition(r, 12), ours.Partition(r, 24), "the topic got more partitions")
	}
	require.True(t, ours.RequiresConsistency(nil), "a partition without a leader is waited for")
}
