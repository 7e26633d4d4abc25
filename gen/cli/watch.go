package cli

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wowgen/wow/gen/source"
)

// watchEvery is how often -watch looks at the input: often enough to be done
// before the editor is, seldom enough to cost nothing.
const watchEvery = 300 * time.Millisecond

// watch generates, and again whenever the input changes, until it is interrupted.
func (g *generate) watch(env Env, patterns []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	return g.watchTicks(ctx, env, patterns, ticker.C, func() {})
}

// watchTicks looks at the input at each tick, and calls looked after each look.
func (g *generate) watchTicks(ctx context.Context, env Env, patterns []string, ticks <-chan time.Time, looked func()) int {
	g.verbose = true
	var last uint64
	for first := true; ; first = false {
		// The look comes before the run: a change in between is seen next time.
		now, err := fingerprint(env, patterns)
		switch {
		case err != nil && first:
			return fail(env, err)
		case err != nil:
			fmt.Fprintln(env.Stderr, "wowgen:", err)
		case first || now != last:
			last = now
			if code := g.once(env, patterns); code == Usage {
				return code
			}
		}
		looked()
		select {
		case <-ctx.Done():
			return Fine
		case <-ticks:
		}
	}
}

// fingerprint sums up the names, sizes and times of all input files.
func fingerprint(env Env, patterns []string) (uint64, error) {
	inputs, err := (&source.Modules{}).Match(env.Dir, patterns)
	if err != nil {
		return 0, err
	}
	sum := fnv.New64a()
	for _, in := range inputs {
		entries, err := os.ReadDir(in.Dir)
		if err != nil {
			return 0, err
		}
		for _, entry := range entries {
			name := entry.Name()
			output := name == source.GenName || name == source.TypesName || strings.HasPrefix(name, ".")
			if ext := filepath.Ext(name); entry.IsDir() || output || (ext != ".go" && ext != ".yaml" && ext != ".yml") {
				continue
			}
			info, err := entry.Info()
			if err != nil {
				continue // it has just gone; the next look tells
			}
			fmt.Fprintln(sum, in.Dir, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return sum.Sum64(), nil
}
