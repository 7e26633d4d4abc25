package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// frozen are the sums of the steps that databases out there have taken. A step
// is never changed: write another one behind it, and its sum here.
var frozen = []string{
	"8e8b9d1192a5cb0e95cc7772b3278dabfa4cd8811fe9f2aecd165f2bdff671fe",
	"91f6c990b6f09b2954e16c65898400fdb5a805f9e32dde2b1cc3309a94b51d5e",
	"2c80b8504c9b49d27b8887c343491cfef59bb01dd2cc58c71db5d1ea07eafea8",
}

func TestStepsAreFrozen(t *testing.T) {
	if len(steps) != len(frozen) {
		t.Fatalf("%d steps, %d sums: add the sum of each new step", len(steps), len(frozen))
	}
	for i, s := range steps {
		sum := sha256.Sum256([]byte(s.sql))
		if got := hex.EncodeToString(sum[:]); got != frozen[i] {
			t.Errorf("step %d has the sum %s, and databases have taken %s: change it back, and write a step behind it", i+1, got, frozen[i])
		}
	}
}
