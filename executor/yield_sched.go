//go:build wowsched

package executor

import (
	"runtime"
	"sync/atomic"
)

// yieldHook is set by the schedule tests.
var yieldHook func(point string)

// yield marks a place where the order of two goroutines matters: here the test
// decides who goes on.
func yield(point string) {
	if h := yieldHook; h != nil {
		h(point)
	}
}

// laneLock is a lock whose holder and waiters the test can hold up.
type laneLock struct{ held atomic.Bool }

func (l *laneLock) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		yield("lane.lock")
		runtime.Gosched()
	}
}

func (l *laneLock) Unlock() { l.held.Store(false) }
