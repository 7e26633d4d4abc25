package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/wowgen/wow/bench/load"
	"github.com/wowgen/wow/bench/peer"
)

// runner measures cells and keeps what it found.
type runner struct {
	last    time.Duration
	cells   []cell // in the order in which they are measured
	results map[cell][]load.Result
	failed  []error
}

func newRunner(last time.Duration) *runner {
	r := &runner{last: last, results: map[cell][]load.Result{}}
	cores := runtime.NumCPU()
	plan := []struct {
		procs int
		loads []string
	}{
		{cores, []string{"W1", "W1b", "W1us", "W2", "W3", "W4", "W7"}},
		{1, []string{"W1", "W1b", "W2", "W4"}},
		{4 * cores, []string{"W1", "W1b", "W4"}},
		{cores, []string{"W5/256", "W5/4096"}},
		{cores, []string{string(load.Parks), string(load.Runs), string(load.Gaps)}},
		{cores, cardinalities()},
		{cores, []string{idle, stall}},
	}
	for _, part := range plan {
		for _, l := range part.loads {
			for _, p := range peer.All() {
				if suits(l, p) {
					r.cells = append(r.cells, cell{l, p.Name, part.procs})
				}
			}
		}
	}
	for _, what := range waits {
		for _, w := range load.Waitings(what) {
			r.cells = append(r.cells, cell{string(what), w.Name, cores})
		}
	}
	return r
}

func cardinalities() (names []string) {
	for n := 1; n <= 1_000_000; n *= 10 {
		names = append(names, load.Cardinality(n))
	}
	return names
}

// check proves every peer right before any is timed.
func (r *runner) check(only *regexp.Regexp) error {
	var wrong []error
	for _, p := range peer.All() {
		c := cell{check, p.Name, runtime.NumCPU()}
		if !only.MatchString(c.String()) && !r.times(p.Name, only) {
			continue
		}
		progress("checking %s", p.Name)
		if _, err := c.spawn(r.last); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// times reports whether a cell of the peer will be measured.
func (r *runner) times(name string, only *regexp.Regexp) bool {
	for _, c := range r.cells {
		if c.Peer == name && only.MatchString(c.String()) {
			return true
		}
	}
	return false
}

// measure goes over all cells once per round. A cell that fails is not tried
// again.
func (r *runner) measure(rounds int, only *regexp.Regexp) error {
	bad := map[cell]bool{}
	n := 0
	for round := range rounds {
		for i, c := range r.cells {
			if !only.MatchString(c.String()) || bad[c] {
				continue
			}
			progress("round %d of %d, %d of %d: %v", round+1, rounds, i+1, len(r.cells), c)
			res, err := c.spawn(r.last)
			if err != nil {
				bad[c] = true
				r.failed = append(r.failed, err)
				continue
			}
			r.results[c] = append(r.results[c], res)
			n++
		}
	}
	progress("")
	if n == 0 {
		return fmt.Errorf("run: no cell matches %q", only)
	}
	return nil
}

func (r *runner) failures() error { return errors.Join(r.failed...) }

// progress overwrites a line on a terminal's standard error.
func progress(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}
