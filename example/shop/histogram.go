package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets that are at most 6 % wide, so that
// millions of them take a few kilobytes. It is safe for concurrent use.
type histogram struct {
	buckets [64 * fine]atomic.Int64
}

// fine is how many buckets each power of two of nanoseconds has.
const fine = 16

func (h *histogram) add(d time.Duration) { h.buckets[bucket(d)].Add(1) }

// bucket goes by the highest bit and the four below it.
func bucket(d time.Duration) int {
	n := uint64(max(d, 1))
	top := bits.Len64(n) - 1
	if top < 4 {
		return int(n)
	}
	return (top-3)*fine + int(n>>(top-4))&(fine-1)
}

// floor is the least duration in a bucket.
func floor(b int) time.Duration {
	if b < fine {
		return time.Duration(b)
	}
	top := b/fine + 3
	return time.Duration(1)<<top | time.Duration(b%fine)<<(top-4)
}

// quantile returns what a share q of the durations do not exceed, to within a
// bucket; 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	var total int64
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	rank := int64(q * float64(total))
	for i := range h.buckets {
		if rank -= h.buckets[i].Load(); rank < 0 {
			return floor(i).Round(time.Microsecond)
		}
	}
	return 0
}
