package runtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// newSnapshotWriter returns the consumer that stores a snapshot of an aggregate
// every so many versions.
//
// It looks at the commits that are due and passes all others without reading
// anything. For one that is due it starts at the snapshot before and reads the
// events since, so it keeps no states. Writing is forward only: a snapshot
// that comes late does not replace a newer one. Snapshots are kept apart by the
// revision of the state, so two programs with different states do not
// overwrite each other's.
func newSnapshotWriter(env *consumerEnv, st *wow.StateType) (*consumer, error) {
	bounded, name, _ := strings.Cut(st.Aggregate, ".")
	c, err := newConsumer(env, bounded+".snapshot."+name, KindSnapshot, []Function{{Name: "save", State: st}})
	if err != nil {
		return nil, err
	}
	every := int64(st.Snapshot)
	c.due = func(c *store.Commit) bool { return c.Version%every == 0 }
	c.states = newStateFolder(env.store, 0)
	c.onState = func(ctx context.Context, in *StateRecorded, _ *Outbox) error {
		codec, data, err := encodeState(in.State)
		if err != nil {
			return fmt.Errorf("runtime: encoding the state of %s at version %d: %w (%w)", in.Target, in.Version, err, wow.Permanent)
		}
		return env.store.SaveSnapshot(ctx, &store.Snapshot{
			Target:   in.Target,
			Revision: st.Revision,
			Version:  in.Version,
			Commit:   in.Commit,
			Codec:    codec,
			Data:     data,
		})
	}
	return c, nil
}
