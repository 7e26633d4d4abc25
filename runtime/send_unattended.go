package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/wowgen/wow"
)

// dispatch admits a command and leaves it to a goroutine to hear how it came
// out. There are at most as many of those as the windows have room for.
func (r *Runtime) dispatch(ctx context.Context, f *flight) (Receipt, error) {
	name, target := f.Body.WowCommand().Name, f.Target
	err := r.mayDispatch(ctx, f)
	if err == nil {
		err = r.enter(ctx, f)
	}
	if err != nil {
		f.free()
		return Receipt{}, fmt.Errorf("runtime: sending %s to %s: %w", name, target, err)
	}
	target = f.Target // with the ID that a create without one was given
	r.unattended.Go(func() {
		err := f.wait(context.Background())
		if err == nil {
			err = f.err
			f.free()
		}
		if err != nil {
			r.log.LogAttrs(context.Background(), slog.LevelWarn, "a command that nobody waits for came to nothing",
				slog.String("command", name), slog.String("target", target.String()), slog.String("code", wow.Code(err)), slog.Any("error", err))
		}
	})
	return Receipt{Target: target, Stage: Sent}, nil
}

func (r *Runtime) mayDispatch(ctx context.Context, f *flight) error {
	switch {
	case len(f.waits) > 0:
		return fmt.Errorf("WaitFor(Sent) waits for nothing, and another WaitFor is given: %w", wow.ErrInvalid)
	case causeOf(ctx) != nil:
		return errors.Join(wow.ErrInvalid, errors.New("a handler waits for what it sends; a saga returns commands, and its runtime sends them"))
	}
	return nil
}
