package executor

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrStopped reports that the executor or the lane no longer accepts
	// messages. A message refused with it has not run and never will.
	ErrStopped = errors.New("executor: stopped")

	// ErrFull reports that a lane's window, or a key's share of it, is full.
	// The message has not run and never will.
	ErrFull = errors.New("executor: window is full")

	// ErrOwnKey reports a handler that was about to wait for a message behind
	// itself: of its own key, or of a key that waits for its own.
	ErrOwnKey = errors.New("executor: handler waits for a message behind itself")

	// ErrGoexit is the cause in a [PanicError] when a handler ended its
	// goroutine with runtime.Goexit instead of a panic.
	ErrGoexit = errors.New("handler called runtime.Goexit")
)

// PanicError is the error of a message whose handler panicked.
type PanicError struct {
	Key   any    // key of the message
	Value any    // what the handler panicked with, or ErrGoexit
	Stack []byte // of the handler's goroutine
}

// Error names the key and the value; the stack is in the field.
func (e *PanicError) Error() string {
	return fmt.Sprintf("executor: handling key %v: panic: %v", e.Key, e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Left is how many messages of a key were unfinished when Close gave up.
type Left struct {
	Lane  string
	Key   any
	Count int
}

// LeftError is what Close returns when its context ended before everything
// that had been admitted was finished.
type LeftError struct {
	Total int    // messages left, over all lanes
	Keys  []Left // by lane and key, the largest first; at most 1,000 of them
	Cause error  // the context's error
}

// Error names the first few keys.
func (e *LeftError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "executor: closing: %v: %d messages left", e.Cause, e.Total)
	for i, l := range e.Keys {
		if i == 10 {
			fmt.Fprintf(&b, "; and %d keys more", len(e.Keys)-i)
			break
		}
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%slane %q key %v: %d", sep, l.Lane, l.Key, l.Count)
	}
	return b.String()
}

// Unwrap returns the context's error.
func (e *LeftError) Unwrap() error { return e.Cause }
