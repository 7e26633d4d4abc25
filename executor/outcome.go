package executor

import (
	"context"
	"time"
)

type kind uint8

const (
	kindDone kind = iota
	kindAgain
	kindLater
	kindOffload
)

// Outcome is what a handler did with its message. The zero value is Done(nil).
type Outcome struct {
	kind  kind
	after time.Duration
	err   error
	gate  uint64
	f     func(context.Context) Outcome
}

// Done finishes the message, with an error or nil. What an error means is up
// to the lane's Done function: the executor does nothing about it.
func Done(err error) Outcome { return Outcome{err: err} }

// Again runs the handler for the same message again after a while. It holds a
// timer, no worker and no goroutine. The messages behind it wait.
func Again(after time.Duration) Outcome { return Outcome{kind: kindAgain, after: after} }

// Offload runs f, which may block, on the executor's pool of goroutines for
// such things. The message goes on as f's outcome says.
func Offload(f func(ctx context.Context) Outcome) Outcome { return Outcome{kind: kindOffload, f: f} }
