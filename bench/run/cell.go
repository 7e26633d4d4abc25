package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/wowgen/wow/bench/load"
	"github.com/wowgen/wow/bench/peer"
)

// cell is one measurement of one peer.
type cell struct {
	Load  string
	Peer  string
	Procs int
}

func (c cell) String() string { return c.Load + "/" + c.Peer + "/" + strconv.Itoa(c.Procs) }

// Loads that are not workloads.
const (
	idle  = "idle"
	stall = "stall"
	check = "check"
)

var (
	pings = []load.Ping{load.Parks, load.Runs, load.Gaps}
	waits = []load.WaitFor{load.Nothing, load.RoundTrip, load.Blocking}
)

// suits reports whether the load makes sense for the peer.
func suits(name string, p peer.Peer) bool {
	switch name {
	case idle:
		return !p.Any(peer.Waits | peer.Floor)
	case stall:
		return !p.Any(peer.Waits | peer.Inline)
	}
	if k := load.Ping(name); slices.Contains(pings, k) {
		return k.Suits(p)
	}
	w, ok := workload(name)
	return ok && w.Suits(p)
}

func workload(name string) (load.Workload, bool) {
	all := load.All()
	i := slices.IndexFunc(all, func(w load.Workload) bool { return w.Name == name })
	if i < 0 {
		return load.Workload{}, false
	}
	return all[i], true
}

func find(name string) (peer.Peer, error) {
	all := peer.All()
	i := slices.IndexFunc(all, func(p peer.Peer) bool { return p.Name == name })
	if i < 0 {
		return peer.Peer{}, fmt.Errorf("run: there is no peer %q", name)
	}
	return all[i], nil
}

// perform measures in this process.
func (c cell) perform(last time.Duration) (load.Result, error) {
	if what := load.WaitFor(c.Load); slices.Contains(waits, what) {
		for _, w := range load.Waitings(what) {
			if w.Name == c.Peer {
				return w.Measure(what, last)
			}
		}
		return load.Result{}, fmt.Errorf("run: there is no way of waiting %q", c.Peer)
	}
	p, err := find(c.Peer)
	if err != nil {
		return load.Result{}, err
	}
	switch c.Load {
	case check:
		for _, w := range load.All() {
			if w.Suits(p) && (w.Keys <= 12_000 || w.Once) {
				if err := load.Check(w, p, 30_000); err != nil {
					return load.Result{}, err
				}
			}
		}
		return load.Result{}, nil
	case idle:
		return load.Idle(p)
	case stall:
		return load.Stall(p, max(1, int(last/(25*time.Millisecond))))
	}
	if k := load.Ping(c.Load); slices.Contains(pings, k) {
		return load.Latency(k, p, last)
	}
	w, ok := workload(c.Load)
	if !ok {
		return load.Result{}, fmt.Errorf("run: there is no load %q", c.Load)
	}
	return load.Measure(w, p, last)
}

// child is main in the process of a cell.
func child(text string, last time.Duration) error {
	var c cell
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("run: reading the cell %q: %w", text, err)
	}
	runtime.GOMAXPROCS(c.Procs)
	r, err := c.perform(last)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// limit is how long a cell may take, with everything it has to set up.
const limit = time.Minute

// spawn measures in a process of its own.
func (c cell) spawn(last time.Duration) (load.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	text, err := json.Marshal(c)
	if err != nil {
		return load.Result{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return load.Result{}, err
	}
	out, err := exec.CommandContext(ctx, self, "-cell", string(text), "-for", last.String()).Output()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return load.Result{}, fmt.Errorf("%v: no result in %v", c, limit)
	case errors.As(err, &failed):
		return load.Result{}, fmt.Errorf("%v: %s", c, head(failed.Stderr))
	case err != nil:
		return load.Result{}, err
	}
	var r load.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("%v: reading the result %q: %w", c, out, err)
	}
	return r, nil
}

// head is the start of a message that may be a dump of all goroutines.
func head(text []byte) []byte { return text[:min(len(text), 1500)] }
