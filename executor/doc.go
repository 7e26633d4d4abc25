// Package executor runs messages one at a time per key, and different keys in
// parallel, on a fixed number of workers.
//
// An [Executor] owns the workers. Each receiver of messages opens a [Lane] on
// it; a lane holds a bounded number of unfinished messages and blocks (or
// refuses) the sender beyond that. Messages of one key and lane are handled in
// the order of admission, and the next starts only when the one before it has
// finished, however its handler waited in between: see [Await], [Later],
// [Again] and [Offload].
package executor
