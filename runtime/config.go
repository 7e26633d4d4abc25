package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wowgen/wow/executor"
	"github.com/wowgen/wow/runtime/bus"
	"github.com/wowgen/wow/runtime/store"
)

// Config is how a runtime is set up. The zero value works: it keeps the
// history in memory and uses every core.
type Config struct {
	// Store keeps the history; nil is a store in memory. Whoever made it
	// closes it, after Stop.
	Store store.Store

	// Bus carries commands to the process that decides them; nil is none: they
	// are decided in the process that sends them. Whoever made it closes it,
	// after Stop.
	Bus bus.Bus

	// Dispatch sets the executor up: workers, the window of each lane, turns,
	// and the pool for handlers that block.
	Dispatch executor.Config

	// Pools sizes the pools that blocking handlers name (//wow:blocking
	// pool=db): the most handlers that run there at a time, 1 to 65,536. One
	// that is not here has Dispatch.OffloadWorkers's default, 10 a core.
	Pools map[string]int

	// PerAggregate bounds the unfinished commands of one aggregate, so that a
	// hot or stuck one does not fill the window of its context. Default a
	// quarter of the window, at least 1. A sender beyond it waits.
	PerAggregate int

	// Cache bounds the states kept between commands.
	Cache CacheConfig

	// Commit sets up the group commit of stores that wait for a disk or a
	// network. The memory store has none.
	Commit CommitConfig

	// Retry is the policy of command handlers that declare none: after a
	// conflict, or an error that wraps wow.Retryable. Default 10 tries, from
	// 1 ms on.
	Retry Retry

	// RetryCap bounds the doubling of a retry's back-off. Default 250 ms.
	RetryCap time.Duration

	// ShutdownTimeout bounds Stop as a whole: default 30 s. What is unfinished
	// then is named in its error.
	ShutdownTimeout time.Duration

	// Propagate lists the metadata that goes on from a message to the commands
	// that its handlers send. Others stay where they are.
	Propagate []string

	// Middleware wraps the sending of each command, the first outermost.
	Middleware []Middleware

	// Logger takes what nobody else hears of: panics, stalls, snapshots that
	// do not decode. nil is slog.Default().
	Logger *slog.Logger

	// Now and NewID replace the clock of decisions and the generator of IDs
	// (UUIDv7), for tests. NewID must never return the same twice. What waits,
	// such as a retry or a command that a saga delays, goes by the system's
	// clock: a test runs it in a bubble of testing/synctest.
	Now   func() time.Time
	NewID func() string
}

// CacheConfig bounds the states that are kept between commands. A state that
// is not there is loaded again: a snapshot and the events after it.
type CacheConfig struct {
	Entries int           // states, 1 to 1<<24; default 65,536
	Bytes   int64         // by their encoded size; default 256 MiB, at least 64 KiB
	Idle    time.Duration // one that was not used for so long goes; default 5 min
}

// CommitConfig sets up the group commit.
type CommitConfig struct {
	// Batch is the most commits in one append: 1 to 4,096, default 256.
	Batch int
	// Bytes is the most bytes of events in one append; default 4 MiB. A single
	// larger commit goes alone.
	Bytes int
	// Settle bounds how long an append without an answer is tried again until
	// its sender gets wow.ErrUnknownOutcome: default 30 s. The aggregate waits
	// meanwhile.
	Settle time.Duration
}

// Bounds and defaults.
const (
	maxCacheEntries = 1 << 24
	minCacheBytes   = 64 << 10
	maxBatch        = 4096
	maxRetries      = 10_000

	defaultRetries  = 10
	defaultBackoff  = time.Millisecond
	defaultRetryCap = 250 * time.Millisecond
	defaultShutdown = 30 * time.Second
)

// complete fills the defaults in and reports every fault at once.
func (c Config) complete() (Config, error) {
	or(&c.Logger, slog.Default())
	or(&c.Dispatch.MaxInFlight, 256)
	or(&c.PerAggregate, max(1, c.Dispatch.MaxInFlight/4))
	or(&c.Cache.Entries, 1<<16)
	or(&c.Cache.Bytes, 256<<20)
	or(&c.Cache.Idle, 5*time.Minute)
	or(&c.Commit.Batch, 256)
	or(&c.Commit.Bytes, 4<<20)
	or(&c.Commit.Settle, 30*time.Second)
	or(&c.Retry.Max, defaultRetries)
	or(&c.Retry.Backoff, defaultBackoff)
	or(&c.RetryCap, max(defaultRetryCap, c.Retry.Backoff))
	or(&c.ShutdownTimeout, defaultShutdown)
	if c.Now == nil {
		c.Now = time.Now
	}

	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	between := func(name string, v, low, high int64) {
		if v < low || v > high {
			fault("%s = %d: must be between %d and %d", name, v, low, high)
		}
	}
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			fault("%s = %v: must be more than 0", name, d)
		}
	}
	between("wow.dispatch.per-aggregate", int64(c.PerAggregate), 1, int64(max(1, c.Dispatch.MaxInFlight)))
	between("wow.cache.entries", int64(c.Cache.Entries), 1, maxCacheEntries)
	between("wow.cache.bytes", c.Cache.Bytes, minCacheBytes, 1<<50)
	between("wow.commit.batch", int64(c.Commit.Batch), 1, maxBatch)
	between("wow.commit.bytes", int64(c.Commit.Bytes), 1, 1<<30)
	between("wow.retry.max", int64(c.Retry.Max), 1, maxRetries)
	positive("wow.cache.idle", c.Cache.Idle)
	positive("wow.commit.settle", c.Commit.Settle)
	positive("wow.retry.backoff", c.Retry.Backoff)
	positive("wow.shutdown-timeout", c.ShutdownTimeout)
	if c.RetryCap < c.Retry.Backoff {
		fault("wow.retry.cap = %v: must not be below wow.retry.backoff = %v", c.RetryCap, c.Retry.Backoff)
	}
	for i, m := range c.Middleware {
		if m == nil {
			fault("Middleware[%d] is nil", i)
		}
	}
	return c, errors.Join(errs...)
}

// or replaces a zero value.
func or[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}
