package runtime

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/wowgen/wow"
)

func TestEveryConsumerSeesEachCommitOnceInTheOrderOfItsAggregate(t *testing.T) {
	const ids, each = 20, 100
	var got seen
	b := started(t, memoryStore(t), only(projecting(func(_ context.Context, in *Recorded, _ *Reaction) error {
		got.note(in.Target.ID, fmt.Sprint(in.Version))
		return nil
	})))
	var want []string
	for v := range each {
		want = append(want, fmt.Sprint(v+1))
		for id := range ids {
			b.append(fmt.Sprint(id), tallyAdded{v})
		}
	}
	b.settled("test.projection.p")
	for id := range ids {
		if s := got.of(fmt.Sprint(id)); !slices.Equal(s, want) {
			t.Fatalf("aggregate %d was seen as %v, want 1..%d", id, s, each)
		}
	}
	b.stop()
	at, err := b.store.Checkpoint(t.Context(), "test.projection.p", 0, 0)
	if err != nil || at.Position != (wow.Position{Seq: ids * each}) {
		t.Errorf("the checkpoint is %v (%v), want %d", at.Position, err, ids*each)
	}
}
