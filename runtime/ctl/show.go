package ctl

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wowgen/wow"
	wowrt "github.com/wowgen/wow/runtime"
	"github.com/wowgen/wow/runtime/store"
)

var streams = command{
	name: "streams", args: "[AGGREGATE]", takes: [2]int{0, 1},
	summary: "Lists the aggregates with their versions, all or those of one type.",
	help:    "It reads the whole history.\n\nExample:\n  wowctl streams shop.cart\n",
	prepare: func(*flag.FlagSet) func(context.Context, *job) error {
		return func(ctx context.Context, j *job) error {
			last := map[wow.Target]*store.Commit{}
			err := j.each(ctx, func(c *store.Commit) error {
				if len(j.args) == 0 || c.Target.Aggregate == j.args[0] {
					last[c.Target] = &store.Commit{Version: c.Version, Position: c.Position, DecidedAt: c.DecidedAt}
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, t := range slices.SortedFunc(maps.Keys(last), byTarget) {
				c := last[t]
				fmt.Fprintf(j.out, "%-40s version %6d  position %10v  %s\n", t, c.Version, c.Position, moment(c.DecidedAt))
			}
			return nil
		}
	},
}

func byTarget(a, b wow.Target) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Aggregate, b.Aggregate), cmp.Compare(a.ID, b.ID))
}

func moment(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }

var show = command{
	name: "show", args: "AGGREGATE/ID", takes: [2]int{1, 1},
	summary: "Prints the commits of one aggregate, a JSON object per line.",
	help:    "Example:\n  wowctl show shop.cart/c1 | jq .events\n",
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		tenant := flags.String("tenant", "", "whose aggregate it is")
		after := flags.Int64("after", 0, "begin behind this version")
		return func(ctx context.Context, j *job) error {
			t, err := target(*tenant, j.args[0])
			if err != nil {
				return err
			}
			for at := *after; ; {
				commits, err := j.Store.Stream(ctx, t, at, page)
				if err != nil {
					return err
				}
				for _, c := range commits {
					if err := writeLine(j.out, c); err != nil {
						return err
					}
					at = c.Version
				}
				if len(commits) < page {
					if at == 0 {
						return fmt.Errorf("there is no %s; streams lists what there is", t)
					}
					return nil
				}
			}
		}
	},
}

var state = command{
	name: "state", args: "AGGREGATE/ID", takes: [2]int{1, 1},
	summary: "Prints the state of one aggregate as JSON, as it is or as it was.",
	help: `wowctl alone knows no types: it is for an app that has mounted this program.

Example:
  wowctl state -version 3 shop.cart/c1
  wowctl state -at 2026-12-01T12:00:00Z shop.cart/c1
`,
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		tenant := flags.String("tenant", "", "whose aggregate it is")
		version := flags.Int64("version", 0, "as it was at this version")
		at := flags.String("at", "", "as it was at this time, as in 2026-12-01T12:00:00Z")
		return func(ctx context.Context, j *job) error {
			t, err := target(*tenant, j.args[0])
			if err != nil {
				return err
			}
			st := j.stateOf(t.Aggregate)
			if st == nil {
				return fmt.Errorf("the type of %s is not known here: run this in the app that decides it%s", t.Aggregate, j.known())
			}
			var opts []wowrt.LoadOption
			if *version != 0 {
				opts = append(opts, wowrt.AtVersion(*version))
			}
			if *at != "" {
				when, err := time.Parse(time.RFC3339Nano, *at)
				if err != nil {
					return misused("-at %q: write a time like 2026-12-01T12:00:00Z", *at)
				}
				opts = append(opts, wowrt.AtTime(when))
			}
			s, v, err := wowrt.Replay(ctx, j.Store, st, t, opts...)
			if err != nil {
				return err
			}
			if v == 0 {
				return fmt.Errorf("there is no %s%s", t, then(*version, *at))
			}
			enc := json.NewEncoder(j.out)
			enc.SetIndent("", "  ")
			return enc.Encode(struct {
				Target  string    `json:"target"`
				Version int64     `json:"version"`
				State   wow.State `json:"state"`
			}{t.String(), v, s})
		}
	},
}

func then(version int64, at string) string {
	if version != 0 || at != "" {
		return " as early as that"
	}
	return ""
}

func (p Program) stateOf(aggregate string) *wow.StateType {
	for _, s := range p.States {
		if s.Aggregate == aggregate {
			return s
		}
	}
	return nil
}

// known tells which types there are, for an error.
func (p Program) known() string {
	var names []string
	for _, s := range p.States {
		names = append(names, s.Aggregate)
	}
	if len(names) == 0 {
		return ""
	}
	return "; known are " + strings.Join(names, ", ")
}

var parked = command{
	name: "parked", args: "CONSUMER", takes: [2]int{1, 1},
	summary: "Lists the messages that a consumer has set aside.",
	help: `See retry, skip and edit.

Example:
  wowctl parked shop.projection.cart_view
`,
	prepare: func(flags *flag.FlagSet) func(context.Context, *job) error {
		limit := flags.Int("n", 100, "how many at most")
		return func(ctx context.Context, j *job) error {
			for shard := range j.Store.Shards() {
				list, err := j.Store.Parked(ctx, j.args[0], wow.Target{}, wow.Position{Shard: shard}, *limit)
				if err != nil {
					return err
				}
				for _, m := range list {
					why := m.Error
					if m.Function == "" {
						why = "waits behind another"
					}
					fmt.Fprintf(j.out, "%v  %s version %d  %s  %d attempts, %s: %s\n",
						m.Commit.Position, m.Commit.Target, m.Commit.Version, cmp.Or(m.Function, "-"), m.Attempts, moment(m.At), why)
				}
			}
			return nil
		}
	},
}
