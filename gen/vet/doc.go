// Package vet finds what handlers must not do and the compiler cannot see.
//
// A handler runs on a worker that other aggregates wait for, a decision may be
// made again, and an event is applied again on every replay. So the analyzer
// reports, each with the chain of calls that leads there:
//
//   - blocks: a handler that waits, neither declared //wow:blocking nor inside
//     wow.Await;
//   - state-changed: a command handler that changes the state it decides about;
//   - not-replayable: an apply method, an upcaster or a function that makes an
//     empty state, which waits or does I/O, or reads the clock, random numbers
//     or the environment;
//   - map-order: the order of a map that reaches the events or commands
//     returned;
//   - context-dropped: context.Background in a handler that was given a context;
//   - stale-handler: a handler that the output does not call, or calls otherwise
//     than it is declared.
//
// It would rather miss something than be wrong: what a function value or an
// interface of the user's does is not known, nor what happens in other modules
// apart from the standard library. Locking a mutex is not waiting: a handler
// may share memory with its readers, as long as it holds the lock briefly.
// Logging and printing are not I/O in the sense of replay.
//
// Only this part of wowgen needs types. It serves as a go/analysis analyzer
// ([Analyzer], for go vet -vettool and golangci-lint) and as a whole run over
// patterns ([Run], for wowgen vet).
package vet
