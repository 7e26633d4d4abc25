// Package idle waits until an app has nothing left to do. Only a program that
// counts at the end needs that: an app goes on, and its consumers follow.
package idle

import (
	"context"
	"fmt"
	"time"

	wowrt "github.com/wowgen/wow/runtime"
)

// Wait returns when every consumer has finished every commit, those included
// that sagas caused meanwhile. A consumer that set a message aside, or stopped,
// is an error: it would never be done.
func Wait(ctx context.Context, r *wowrt.Runtime) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		// A saga is behind until its commands are processed. So if none is
		// behind, and the history did not grow while they were asked, nothing
		// is on its way.
		before, err := r.Store().Head(ctx, 0)
		if err != nil {
			return err
		}
		busy, err := behind(ctx, r)
		if err != nil {
			return err
		}
		after, err := r.Store().Head(ctx, 0)
		if err != nil {
			return err
		}
		if busy == "" && before == after {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("idle: waiting for the consumers, %s: %w", busy, ctx.Err())
		}
	}
}

// behind names a consumer that has work left, "" if none has.
func behind(ctx context.Context, r *wowrt.Runtime) (string, error) {
	for _, c := range r.Consumers() {
		s, err := c.Status(ctx)
		switch {
		case err != nil:
			return "", err
		case s.Parked > 0:
			return "", fmt.Errorf("idle: %s has set %d messages aside", s.Name, s.Parked)
		case s.Unhealthy != "":
			return "", fmt.Errorf("idle: %s takes nothing: %s", s.Name, s.Unhealthy)
		case s.Lag > 0:
			return fmt.Sprintf("%s is %d commits behind", s.Name, s.Lag), nil
		}
	}
	return "", nil
}
