package runtime

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/executor"
)

// again has the command decided once more, unless its handler's policy has had
// enough. It holds a timer meanwhile, no worker.
func (l *lane) again(f *flight, doing string, cause error) executor.Outcome {
	if f.tries > f.handler.Retry.Max {
		if errors.Is(cause, wow.Retryable) {
			cause = fmt.Errorf("%w: %w", wow.ErrFailed, cause)
		}
		return f.fail(doing, fmt.Errorf("gave up after %d tries: %w", f.tries, cause))
	}
	f.step = stepDecide
	return executor.Again(l.r.backoff(f.handler.Retry.Backoff, f.tries))
}

// backoff returns how long to wait before try n+1: the first back-off doubled
// with each try, up to the cap, and of that a random part of at least half, so
// that those who lost together do not come back together.
func (r *Runtime) backoff(first time.Duration, n int) time.Duration {
	d := min(first, r.cfg.RetryCap)
	for ; n > 1 && d < r.cfg.RetryCap; n-- {
		d = min(2*d, r.cfg.RetryCap)
	}
	return d/2 + rand.N(d/2+1)
}
