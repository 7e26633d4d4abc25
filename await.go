package wow

import (
	"context"

	"github.com/wowgen/wow/executor"
)

// Await waits for f in the middle of a handler without holding a worker: other
// aggregates go on meanwhile, this one's next message stays where it is. ctx
// is the handler's, or derived from it. Elsewhere Await just calls f.
//
// A handler whose whole work is waiting is simpler as //wow:blocking.
func Await[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	return executor.Await(ctx, f)
}
