//go:build wowsched

package executor

// yieldHook is set by the schedule tests.
var yieldHook func(point string)

// yield marks a place where the order of two goroutines matters: here the test
// decides who goes on.
func yield(point string) {
	if h := yieldHook; h != nil {
		h(point)
	}
}
