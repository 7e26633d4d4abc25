package executor

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Bounds of the options, and their defaults.
const (
	maxWorkers    = 1024
	maxWindow     = 1 << 20
	maxThroughput = 1 << 16
	maxOffload    = 1 << 16

	defaultWindow      = 256
	defaultThroughput  = 16
	defaultStallAfter  = time.Millisecond
	defaultOffloadIdle = time.Minute
)

// Config is how an executor is set up. The zero value works.
type Config struct {
	// Workers is how many handlers run at the same moment, over all lanes:
	// 1 to 1024, default GOMAXPROCS. Handlers that wait do not count, so more
	// is of use only to handlers that compute.
	Workers int

	// MaxInFlight is the default window of a lane, the number of messages it
	// holds unfinished: 1 to 1<<20, default 256. Too small and the workers
	// wait for the sender; too large and much is lost or repeated in a crash.
	MaxInFlight int

	// Throughput is how many messages of one key run in one turn, while
	// others wait: 1 to 65536, default 16.
	Throughput int

	// StallAfter is how long a handler may hold its worker without a word
	// before another goroutine takes over the worker's queue. Default 1 ms,
	// negative for never.
	StallAfter time.Duration

	// OffloadWorkers bounds the goroutines that run what handlers [Offload]:
	// 1 to 65536, default 10 x Workers.
	OffloadWorkers int

	// OffloadQueue bounds what waits for one of them: 1 to 1<<20, default the
	// larger of 16 x OffloadWorkers and 1024. A message that finds it full
	// waits, in its own mailbox.
	OffloadQueue int

	// OffloadIdle is how long an idle offload goroutine stays: default 60 s.
	OffloadIdle time.Duration

	// Spin is how long a worker that ran dry looks for more before its
	// goroutine is parked, if that has paid lately; one worker at a time does.
	// It answers in under a microsecond instead of a hundred, for a part of a
	// CPU. Default 150 us, at most 1 s, negative for never.
	Spin time.Duration

	// OnStall, if set, is called once per lane whose handler was found to
	// block for 10 x StallAfter without saying so, on a goroutine of its own.
	OnStall func(Stall)
}

// Stall tells about a handler that held its worker for too long.
type Stall struct {
	Lane  string        // name of the lane
	Key   any           // key of the message
	For   time.Duration // how long it had been running, at least
	Stack []byte        // of the handler's goroutine
}

// option is one bounded integer setting.
type option struct {
	name     string
	value    int
	min, max int
}

// check returns one error per option out of its range.
func check(opts ...option) (errs []error) {
	for _, o := range opts {
		if o.value < o.min || o.value > o.max {
			errs = append(errs, fmt.Errorf("%s = %d: must be between %d and %d", o.name, o.value, o.min, o.max))
		}
	}
	return errs
}

// orDefault replaces a zero.
func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// complete fills the defaults in and reports every fault at once.
func (c Config) complete() (Config, error) {
	orDefault(&c.Workers, min(runtime.GOMAXPROCS(0), maxWorkers))
	orDefault(&c.MaxInFlight, defaultWindow)
	orDefault(&c.Throughput, defaultThroughput)
	orDefault(&c.StallAfter, defaultStallAfter)
	orDefault(&c.Spin, defaultSpin)
	orDefault(&c.OffloadWorkers, 10*max(1, c.Workers))
	orDefault(&c.OffloadQueue, min(max(16*max(1, c.OffloadWorkers), 1024), maxWindow))
	orDefault(&c.OffloadIdle, defaultOffloadIdle)
	errs := check(
		option{"wow.dispatch.workers", c.Workers, 1, maxWorkers},
		option{"wow.dispatch.max-in-flight", c.MaxInFlight, 1, maxWindow},
		option{"wow.dispatch.throughput", c.Throughput, 1, maxThroughput},
		option{"wow.dispatch.offload-workers", c.OffloadWorkers, 1, maxOffload},
		option{"wow.dispatch.offload-queue", c.OffloadQueue, 1, maxWindow},
	)
	if c.OffloadIdle < 0 {
		errs = append(errs, fmt.Errorf("wow.dispatch.offload-idle = %v: must not be negative", c.OffloadIdle))
	}
	if c.Spin > maxSpin {
		errs = append(errs, fmt.Errorf("wow.dispatch.spin = %v: must be at most %v", c.Spin, maxSpin))
	}
	if len(errs) > 0 {
		return c, fmt.Errorf("executor: checking the options: %w", errors.Join(errs...))
	}
	return c, nil
}
