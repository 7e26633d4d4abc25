package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/wowgen/wow/executor"
)

// maxPool bounds the goroutines of a named pool, as the executor bounds those
// of the shared one.
const maxPool = 1 << 16

// pools are those that blocking handlers name. Each has goroutines and a queue
// of its own, so that a slow database does not hold up the handlers that write
// files.
type pools map[string]*pool

// pool is an executor of which only the offload pool is used: it brings the
// bounded queue, the elastic goroutines and the isolation of panics.
type pool struct {
	executor *executor.Executor
	lane     mailboxes[uint64, *job]
	last     atomic.Uint64 // key of the last job: each has one of its own
}

// job is what a message of the runtime's executor waits for.
type job struct {
	run  func(context.Context) executor.Outcome
	out  executor.Outcome
	done executor.Completion
}

// open makes a pool for each name that a handler gives. It reports sizes out of
// range, and those for pools that no handler names.
func (ps *pools) open(sizes map[string]int, named []string) error {
	*ps = pools{}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		switch n := sizes[name]; {
		case !slices.Contains(named, name):
			faults = append(faults, fmt.Errorf("wow.pools.%s = %d: no registered handler names this pool", name, n))
		case n < 1 || n > maxPool:
			faults = append(faults, fmt.Errorf("wow.pools.%s = %d: must be between 1 and %d", name, n, maxPool))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for _, name := range named {
		if name == "" || (*ps)[name] != nil {
			continue
		}
		e, err := executor.New(executor.Config{Workers: 1, OffloadWorkers: sizes[name]})
		if err != nil {
			return fmt.Errorf("pool %s: %w", name, err)
		}
		p := &pool{executor: e}
		(*ps)[name] = p
		p.lane, err = executor.Open(e, executor.LaneConfig[uint64, *job]{Name: "pool " + name, Done: p.done}, p.handle)
		if err != nil {
			return fmt.Errorf("pool %s: %w", name, err)
		}
	}
	return nil
}

// offload runs f on the named pool; "" is the executor's own. The mailbox of
// ctx waits for it without a worker. A full queue makes it wait longer.
func (ps pools) offload(ctx context.Context, name string, f func(context.Context) executor.Outcome) executor.Outcome {
	p := ps[name]
	if p == nil {
		return executor.Offload(f)
	}
	later, done := executor.Later(ctx)
	if err := p.lane.Submit(ctx, p.last.Add(1), &job{run: f, done: done}); err != nil {
		done.Complete(executor.Done(err))
	}
	return later
}

func (p *pool) handle(_ context.Context, _ uint64, j *job) executor.Outcome {
	return executor.Offload(func(ctx context.Context) executor.Outcome {
		j.out = j.run(ctx)
		return executor.Done(nil)
	})
}

// done lets the message go on that waits for the job. A panic is its panic.
func (p *pool) done(_ uint64, j *job, err error) {
	if err != nil {
		j.out = executor.Done(err)
	}
	j.done.Complete(j.out)
}

func (ps pools) close(ctx context.Context) error {
	var errs []error
	for _, p := range ps {
		errs = append(errs, p.executor.Close(ctx))
	}
	return errors.Join(errs...)
}

// namedPools lists the pools that registered handlers name.
func (r *Runtime) namedPools() (names []string) {
	for _, a := range r.aggregates {
		for _, c := range a.Commands {
			names = append(names, c.Pool)
		}
	}
	functions := func(fs []Function) {
		for _, f := range fs {
			names = append(names, f.Pool)
		}
	}
	for _, p := range r.processors {
		functions(p.Functions)
	}
	for _, p := range r.projections {
		functions(p.Functions)
	}
	for _, s := range r.sagas {
		functions(s.Functions)
	}
	return names
}
