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
//
// It is four words, which is what the compiler keeps in registers.
type Outcome struct {
	err error
	f   func(context.Context) Outcome
	n   uint64 // the kind in the two lowest bits; above them, ns or a gate's number
}

func (o *Outcome) kind() kind           { return kind(o.n & 3) }
func (o *Outcome) after() time.Duration { return time.Duration(o.n >> 2) }
func (o *Outcome) gate() uint64         { return o.n >> 2 }

func outcome(k kind, v uint64) Outcome { return Outcome{n: v<<2 | uint64(k)} }

// Done finishes the message, with an error or nil. What an error means is up
// to the lane's Done function: the executor does nothing about it.
func Done(err error) Outcome { return Outcome{err: err} }

// Again runs the handler for the same message again after a while. It holds a
// timer, no worker and no goroutine. The messages behind it wait.
func Again(after time.Duration) Outcome { return outcome(kindAgain, uint64(max(after, 0))) }

// Offload runs f, which may block, on the executor's pool of goroutines for
// such things. The message goes on as f's outcome says.
func Offload(f func(ctx context.Context) Outcome) Outcome {
	return Outcome{f: f, n: uint64(kindOffload)}
}
