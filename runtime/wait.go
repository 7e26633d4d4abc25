package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// WaitFor has Send wait until consumers have finished the commit: all of the
// stage, or those named, such as "shop.projection.cart_view". So a sender reads
// its own writes. Several options add up. A no-op has nothing to wait for.
//
// The command is PROCESSED whatever comes of the wait: an error of it is a
// *WaitError, and the receipt stands beside it. A handler cannot wait for
// consumers: they may be waiting for it.
//
// WaitFor(Sent) has Send return at once when the command is admitted; see
// [Sent]. It goes with no other WaitFor.
func WaitFor(stage Stage, consumers ...string) SendOption {
	if stage == Sent {
		return func(c *Command) { c.unattended = true }
	}
	return func(c *Command) { c.waits = append(c.waits, waitSpec{stage, consumers}) }
}

// waitSpec is one WaitFor.
type waitSpec struct {
	stage Stage
	names []string
}

// await waits for what a sender asked for behind PROCESSED. The receipt tells the
// last stage that was reached.
func (cs *consumers) await(ctx context.Context, waits []waitSpec, receipt Receipt) (Receipt, error) {
	for _, w := range waits {
		if err := cs.waitFor(ctx, receipt.Position, w.stage, w.names...); err != nil {
			return receipt, err
		}
		receipt.Stage = max(receipt.Stage, w.stage)
	}
	return receipt, nil
}

// known reports names that nobody has, before the command is sent: after it the
// error would come too late.
func (cs *consumers) known(waits []waitSpec) error {
	var errs []error
	for _, w := range waits {
		_, err := cs.named(w.stage, w.names)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Wait waits until consumers have finished the commit at a position, as WaitFor
// does. The position may come from another process.
func (g *Gateway) Wait(ctx context.Context, at wow.Position, stage Stage, consumers ...string) error {
	return g.r.consumers.waitFor(ctx, at, stage, consumers...)
}

// kind returns whose work a stage is.
func (s Stage) kind() Kind {
	return [...]Kind{"", "", KindSnapshot, KindProjection, KindProcessor, KindSaga, KindSaga}[s%7]
}

// WaitError says that a command was processed, but what was waited for did not
// come about in time, or will not: then it wraps wow.ErrParked.
type WaitError struct {
	Stage    Stage
	Consumer string       // the one that was waited for last
	Position wow.Position // of the commit, which is stored
	Err      error
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("runtime: waiting until position %v is %s by %s: %v", e.Position, e.Stage, e.Consumer, e.Err)
}

// Unwrap returns why the wait ended.
func (e *WaitError) Unwrap() error { return e.Err }

// waitFor waits until the consumers of a stage have finished one commit. One has finished it when its functions have
// returned, not when its checkpoint is past it; one without a function for the
// commit counts at once, however far behind it is.
func (cs *consumers) waitFor(ctx context.Context, at wow.Position, stage Stage, names ...string) error {
	if stage <= Processed || at.Seq == 0 { // a no-op has no commit to wait for
		return nil
	}
	if causeOf(ctx) != nil {
		return fmt.Errorf("runtime: waiting for %s in a handler, which consumers may wait for: %w", stage, wow.ErrInvalid)
	}
	who, err := cs.named(stage, names)
	if err != nil || len(who) == 0 {
		return err
	}
	commit, err := cs.commitAt(ctx, at)
	if err != nil {
		return &WaitError{stage, who[0].name, at, err}
	}
	if stage == ChainHandled {
		return cs.waitForChain(ctx, commit, who)
	}
	for _, c := range who {
		if err := c.wait(ctx, commit); err != nil {
			return &WaitError{stage, c.name, at, err}
		}
	}
	return nil
}

// named returns the consumers of a stage, or those of them with certain names.
func (cs *consumers) named(stage Stage, names []string) (who []*consumer, err error) {
	for _, c := range cs.all {
		if c.kind == stage.kind() && (len(names) == 0 || slices.Contains(names, c.name)) {
			who = append(who, c)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(who, func(c *consumer) bool { return c.name == n }) {
			err = errors.Join(err, fmt.Errorf("runtime: waiting for %q: %s: %w", n, cs.notThat(n, stage), wow.ErrInvalid))
		}
	}
	return who, err
}

// notThat says what a name is that is none of a stage's.
func (cs *consumers) notThat(name string, stage Stage) string {
	var names []string
	for _, c := range cs.all {
		if c.name == name {
			return fmt.Sprintf("it is a %s, and the stage %s is about a %s", c.kind, stage, stage.kind())
		}
		if c.kind == stage.kind() {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("no %s is registered", stage.kind())
	}
	return fmt.Sprintf("no %s has this name, they are %s", stage.kind(), strings.Join(names, ", "))
}

// commitAt reads one commit again: a wait needs to know whom it is for.
func (cs *consumers) commitAt(ctx context.Context, at wow.Position) (*store.Commit, error) {
	commits, err := cs.env.store.Read(ctx, wow.Position{Shard: at.Shard, Seq: at.Seq - 1}, 1)
	if err == nil && (len(commits) == 0 || commits[0].Position != at) {
		err = fmt.Errorf("there is no commit at position %v: %w", at, wow.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return commits[0], nil
}

// wait waits until the consumer has finished a commit.
func (c *consumer) wait(ctx context.Context, commit *store.Commit) error {
	if c.table.wants(commit) == nil || c.due != nil && !c.due(commit) {
		return nil
	}
	f := c.feeds[commit.Position.Shard]
	for {
		err := c.waitHere(ctx, f, commit)
		if !errors.Is(err, errElsewhere) {
			return err
		}
		if done, err := c.waitElsewhere(ctx, f, commit); done || err != nil {
			return err
		}
	}
}

// waitHere waits until this process has finished a commit. Its error is
// errElsewhere when another one is to do so.
func (c *consumer) waitHere(ctx context.Context, f *feed, commit *store.Commit) error {
	m := f.mark()
	if m == nil {
		return errElsewhere
	}
	told := make(chan error, 1)
	if m.watch(commit.Position.Seq, told) {
		f.tail.kick()
		select {
		case err := <-told:
			if err != nil {
				return err
			}
		case <-c.env.ended:
			m.unwatch(commit.Position.Seq, told)
			return wow.ErrStopping
		case <-ctx.Done():
			m.unwatch(commit.Position.Seq, told)
			return ctx.Err()
		}
	}
	if c.blocks.has(commit) {
		return wow.ErrParked
	}
	return nil
}

// How long a wait for another process's consumer pauses between two looks at its
// checkpoint: from lookFirst, doubled each time, up to lookMost.
const (
	lookFirst = 5 * time.Millisecond
	lookMost  = 200 * time.Millisecond
)

// waitElsewhere waits until the checkpoint of a consumer in another process has
// passed a commit. It reports false when the consumer runs here by then.
func (c *consumer) waitElsewhere(ctx context.Context, f *feed, commit *store.Commit) (done bool, err error) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	at := commit.Position
	for tries := 1; f.mark() == nil; tries++ {
		seq, _, err := f.progress(ctx)
		if err != nil {
			return true, err
		}
		if seq >= at.Seq {
			parked, err := c.env.store.Parked(ctx, c.name, commit.Target, wow.Position{Shard: at.Shard, Seq: at.Seq - 1}, 1)
			if err == nil && len(parked) > 0 && parked[0].Commit.Position == at {
				err = wow.ErrParked
			}
			return true, err
		}
		pause.Reset(pauseBefore(tries, lookFirst, lookMost))
		select {
		case <-pause.C:
		case <-c.env.ended:
			return true, wow.ErrStopping
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
	return false, nil
}
