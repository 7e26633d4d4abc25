package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// frozen are the sums of the steps that databases out there have taken. A step
// is never changed: write another one behind it, and its sum here.
var frozen = []string{
	"4ab07e30f5864eeb157bb924e3bb8ec6b16abb1c6ab0d6f06ab08e3c1d21e907",
	"649f201641f40742fc2d12fa48ac2dfe3799eab233b0d1f38d5c2e8c3e8a89ba",
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
