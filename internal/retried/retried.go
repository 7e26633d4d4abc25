// Package retried tells a view that a transaction runs a commit again that was
// parked, so that its rows change once also when the process dies before the
// message is taken out of parking.
package retried

import (
	"context"

	"github.com/wowgen/wow"
)

type key struct{}

// With returns a context that says which commit is run again.
func With(ctx context.Context, at wow.Position) context.Context {
	return context.WithValue(ctx, key{}, at)
}

// Of returns the commit that is run again, if one is.
func Of(ctx context.Context) (wow.Position, bool) {
	at, ok := ctx.Value(key{}).(wow.Position)
	return at, ok
}
