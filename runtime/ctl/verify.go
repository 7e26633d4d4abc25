package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/store"
)

var verify = command{
	name: "verify", takes: [2]int{0, 0},
	summary: "Reads the whole history and proves that it is whole.",
	help: `Positions and versions have no gap; times do not go back; each commit is as it
was stored, by its checksum, and within the limits. In an app that has mounted
this program also: events decode, and snapshots equal what the events say. It may
run beside the app.

Example:
  wowctl verify && echo all is well
`,
	prepare: func(*flag.FlagSet) func(context.Context, *job) error {
		return func(ctx context.Context, j *job) error {
			v := &verifier{job: j, last: map[wow.Target]*seen{}, shard: -1}
			if err := j.each(ctx, v.commit); err != nil {
				return errors.Join(v.result(), err)
			}
			for _, t := range slices.SortedFunc(maps.Keys(v.last), byTarget) {
				if err := v.aggregate(ctx, t); err != nil {
					return errors.Join(v.result(), err)
				}
			}
			fmt.Fprintf(j.out, "%d commits of %d aggregates, %d events", v.commits, len(v.last), v.events)
			if len(j.States) > 0 {
				fmt.Fprintf(j.out, "; %d replayed, %d snapshots compared", v.replayed, v.snapshots)
			}
			fmt.Fprintln(j.out)
			return v.result()
		}
	},
}

// seen is how far an aggregate has been seen.
type seen struct {
	version   int64
	decidedAt int64
}

type verifier struct {
	*job
	shard     int32
	at        wow.Position
	storedAt  int64
	last      map[wow.Target]*seen
	commits   int64
	events    int64
	replayed  int
	snapshots int
	wrong     []error
	more      int
}

func (v *verifier) report(format string, args ...any) {
	if len(v.wrong) < maxMistakes {
		v.wrong = append(v.wrong, fmt.Errorf(format, args...))
	} else {
		v.more++
	}
}

func (v *verifier) result() error {
	if v.more > 0 {
		v.wrong = append(v.wrong, fmt.Errorf("and %d more", v.more))
	}
	if len(v.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("the history is not whole:\n%w", errors.Join(v.wrong...))
}

// commit looks at one commit, behind the one before it.
func (v *verifier) commit(c *store.Commit) error {
	if v.shard != c.Position.Shard {
		v.shard, v.at, v.storedAt = c.Position.Shard, wow.Position{Shard: c.Position.Shard}, 0
	}
	if want := v.at.Seq + 1; c.Position.Seq != want {
		v.report("position %v comes behind %v", c.Position, v.at)
	}
	if c.StoredAt < v.storedAt {
		v.report("position %v was stored at %s, before the position before it", c.Position, moment(c.StoredAt))
	}
	if err := store.Check(c); err != nil {
		v.report("position %v: %w", c.Position, err)
	}
	s := v.last[c.Target]
	if s == nil {
		s = &seen{}
		v.last[c.Target] = s
	}
	if want := s.version + 1; c.Version != want {
		v.report("position %v is version %d of %s, want %d", c.Position, c.Version, c.Target, want)
	}
	if c.DecidedAt < s.decidedAt {
		v.report("position %v, version %d of %s, was decided before the version before it", c.Position, c.Version, c.Target)
	}
	s.version, s.decidedAt = c.Version, c.DecidedAt
	v.at, v.storedAt = c.Position, c.StoredAt
	v.commits++
	v.events += int64(len(c.Events))
	return nil
}

// aggregate looks at one aggregate as the store reads it, and at its newest
// snapshot. What the app has appended meanwhile is no gap.
func (v *verifier) aggregate(ctx context.Context, t wow.Target) error {
	commits, err := v.Store.Stream(ctx, t, v.last[t].version-1, 1)
	if err != nil {
		return err
	}
	if len(commits) == 0 || commits[0].Version != v.last[t].version {
		v.report("%s ends at version %d in the history, and reading it alone does not find that", t, v.last[t].version)
	}
	st := v.stateOf(t.Aggregate)
	if st == nil {
		return nil
	}
	v.replayed++
	if _, _, err := wowrt.Replay(ctx, v.Store, st, t); err != nil {
		v.report("%w", err)
		return ctx.Err()
	}
	snap, err := v.Store.Snapshot(ctx, t, st.Revision, 0)
	if err != nil || snap == nil {
		return err
	}
	v.snapshots++
	if err := v.compare(ctx, st, snap); err != nil {
		v.report("the snapshot of %s at version %d: %w", t, snap.Version, err)
	}
	return ctx.Err()
}

func (v *verifier) compare(ctx context.Context, st *wow.StateType, snap *store.Snapshot) error {
	if snap.Codec != store.JSON {
		return fmt.Errorf("codec %d is unknown to this program", snap.Codec)
	}
	kept, err := st.Decode(json.Unmarshal, snap.Data)
	if err != nil {
		return err
	}
	replayed, version, err := wowrt.Replay(ctx, v.Store, st, snap.Target, wowrt.AtVersion(snap.Version))
	if err != nil {
		return err
	}
	if version != snap.Version {
		return fmt.Errorf("the events end at version %d", version)
	}
	was, errWas := json.Marshal(kept)
	is, errIs := json.Marshal(replayed)
	if err := errors.Join(errWas, errIs); err != nil {
		return err
	}
	if !bytes.Equal(was, is) {
		return fmt.Errorf("it is %s, and the events say %s", short(was), short(is))
	}
	return nil
}

func short(text []byte) string {
	if len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return string(text)
}
