package runtime

import (
	"context"

	"github.com/wowgen/wow/executor"
)

// mailboxes is an executor.Lane, as far as the runtime uses it. A lane is
// generic, and can be reached from a Runtime, which generated code names: held
// as what it is, all its methods would be compiled again in each package that
// wowgen writes for, 250 functions of four lanes, a tenth of a second.
type mailboxes[K comparable, M any] interface {
	Submit(ctx context.Context, key K, msg M) error
	TrySubmit(key K, msg M) error
	SubmitBatch(ctx context.Context, batch []executor.Entry[K, M]) (int, error)
	Close(ctx context.Context) error
}
