package main

import (
	"math"
	"testing"
	"time"
)

func TestQuantilesAreRightToWithinABucket(t *testing.T) {
	var h histogram
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
	for ms := 1; ms <= 1000; ms++ {
		h.add(time.Duration(ms) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0: 1e6, 0.5: 501e6, 0.99: 991e6} {
		if got := h.quantile(q); math.Abs(float64(got-want)) > 0.07*float64(want) {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
	}
}

func TestEachDurationHasABucket(t *testing.T) {
	last := -1
	for _, d := range []time.Duration{-1, 0, 1, 2, 15, 16, 17, 31, 32, 33, 1000, time.Second, time.Hour, math.MaxInt64} {
		b := bucket(d)
		if b < last || b >= len(histogram{}.buckets) {
			t.Errorf("%v is in bucket %d after %d", d, b, last)
		}
		if f := floor(b); f > max(d, 1) || float64(max(d, 1)-f) > 0.0625*float64(max(d, 1)) {
			t.Errorf("%v is in the bucket from %v", d, f)
		}
		last = b
	}
}
