package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// setting is one value of a Config that a file or the environment may give.
type setting struct {
	name string // "dispatch.workers": in YAML nested, in the environment WOW_DISPATCH_WORKERS
	set  func(c *Config, v string) error
}

// settings are all of them, in the order in which the documentation has them.
func settings() []setting {
	integer := func(at func(*Config) *int) func(*Config, string) error {
		return func(c *Config, v string) (err error) {
			*at(c), err = strconv.Atoi(v)
			return wanted(err, "a whole number")
		}
	}
	length := func(at func(*Config) *time.Duration) func(*Config, string) error {
		return func(c *Config, v string) (err error) {
			*at(c), err = time.ParseDuration(v)
			return wanted(err, `a duration such as "250ms" or "30s"`)
		}
	}
	return []setting{
		{"dispatch.workers", integer(func(c *Config) *int { return &c.Dispatch.Workers })},
		{"dispatch.max-in-flight", integer(func(c *Config) *int { return &c.Dispatch.MaxInFlight })},
		{"dispatch.per-aggregate", integer(func(c *Config) *int { return &c.PerAggregate })},
		{"dispatch.throughput", integer(func(c *Config) *int { return &c.Dispatch.Throughput })},
		{"dispatch.stall-after", length(func(c *Config) *time.Duration { return &c.Dispatch.StallAfter })},
		{"dispatch.offload-workers", integer(func(c *Config) *int { return &c.Dispatch.OffloadWorkers })},
		{"dispatch.offload-queue", integer(func(c *Config) *int { return &c.Dispatch.OffloadQueue })},
		{"dispatch.offload-idle", length(func(c *Config) *time.Duration { return &c.Dispatch.OffloadIdle })},
		{"cache.entries", integer(func(c *Config) *int { return &c.Cache.Entries })},
		{"cache.bytes", func(c *Config, v string) (err error) {
			c.Cache.Bytes, err = strconv.ParseInt(v, 10, 64)
			return wanted(err, "a whole number of bytes")
		}},
		{"cache.idle", length(func(c *Config) *time.Duration { return &c.Cache.Idle })},
		{"commit.batch", integer(func(c *Config) *int { return &c.Commit.Batch })},
		{"commit.bytes", integer(func(c *Config) *int { return &c.Commit.Bytes })},
		{"commit.settle", length(func(c *Config) *time.Duration { return &c.Commit.Settle })},
		{"retry.max", integer(func(c *Config) *int { return &c.Retry.Max })},
		{"retry.backoff", length(func(c *Config) *time.Duration { return &c.Retry.Backoff })},
		{"retry.cap", length(func(c *Config) *time.Duration { return &c.RetryCap })},
		{"shutdown-timeout", length(func(c *Config) *time.Duration { return &c.ShutdownTimeout })},
		{"propagate", func(c *Config, v string) error {
			c.Propagate = nil
			for _, key := range strings.Split(v, ",") {
				if key = strings.TrimSpace(key); key != "" {
					c.Propagate = append(c.Propagate, key)
				}
			}
			return nil
		}},
	}
}

// poolName returns the pool that a setting sizes: "pools.db", or POOLS_DB in the
// environment.
func poolName(setting string) (string, bool) {
	if name, ok := strings.CutPrefix(setting, "pools."); ok {
		return name, true
	}
	return strings.CutPrefix(setting, "pools_")
}

func (c *Config) setPool(name, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return wanted(err, "a whole number")
	}
	if c.Pools == nil {
		c.Pools = map[string]int{}
	}
	c.Pools[name] = n
	return nil
}

// wanted says what a value should have been.
func wanted(err error, what string) error {
	if err != nil {
		return fmt.Errorf("want %s", what)
	}
	return nil
}

// Configure fills c from a YAML document, whose settings stand under "wow", and
// then from environment variables that begin with WOW_. Either may be nil; both
// leave alone what they do not name. All faults are reported at once, unknown
// keys among them; c is unchanged then. What the values mean is checked by
// Start.
//
//	wow:
//	  dispatch: {workers: 8, max-in-flight: 512}   # WOW_DISPATCH_WORKERS=8
//	  shutdown-timeout: 10s
//	  pools: {db: 16}                              # WOW_POOLS_DB=16
//
// environ is in the form of os.Environ.
func (c *Config) Configure(document io.Reader, environ []string) error {
	byName := map[string]setting{}
	for _, s := range settings() {
		byName[s.name] = s
	}
	next := *c
	var faults []error
	next.Pools = maps.Clone(c.Pools)
	apply := func(where, name, value string) {
		if pool, ok := poolName(name); ok {
			if err := next.setPool(pool, value); err != nil {
				faults = append(faults, fmt.Errorf("%s = %q: %w", where, value, err))
			}
			return
		}
		s, ok := byName[name]
		if !ok {
			faults = append(faults, fmt.Errorf("%s: unknown setting%s", where, nearest(name, byName)))
			return
		}
		if err := s.set(&next, value); err != nil {
			faults = append(faults, fmt.Errorf("%s = %q: %w", where, value, err))
		}
	}
	if document != nil {
		if err := readYAML(document, apply); err != nil {
			faults = append(faults, err)
		}
	}
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		if rest, ours := strings.CutPrefix(key, "WOW_"); ours {
			apply(key, fromVariable(rest, byName), value)
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("runtime: reading the configuration: %w", errors.Join(faults...))
	}
	*c = next
	return nil
}

// ConfigureFile is Configure with a file and the process's environment. An
// empty path is no file.
func (c *Config) ConfigureFile(path string) error {
	if path == "" {
		return c.Configure(nil, os.Environ())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("runtime: reading the configuration: %w", err)
	}
	return c.Configure(bytes.NewReader(data), os.Environ())
}

// fromVariable finds the setting that a variable means: in DISPATCH_MAX_IN_FLIGHT
// an underscore may be a dot or a dash.
func fromVariable(v string, byName map[string]setting) string {
	for name := range byName {
		if strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(name)) == v {
			return name
		}
	}
	return strings.ToLower(v)
}

// readYAML calls apply for each value of the document.
func readYAML(document io.Reader, apply func(where, name, value string)) error {
	var root yaml.Node
	if err := yaml.NewDecoder(document).Decode(&root); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	var faults []error
	var walk func(prefix string, n *yaml.Node)
	walk = func(prefix string, n *yaml.Node) {
		where := fmt.Sprintf("line %d: %s", n.Line, prefix)
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				walk(strings.TrimPrefix(prefix+"."+n.Content[i].Value, "."), n.Content[i+1])
			}
		case yaml.SequenceNode:
			var all []string
			for _, one := range n.Content {
				all = append(all, one.Value)
			}
			apply(where, strings.TrimPrefix(prefix, "wow."), strings.Join(all, ","))
		case yaml.ScalarNode:
			name, ok := strings.CutPrefix(prefix, "wow.")
			if !ok {
				faults = append(faults, fmt.Errorf(`%s: unknown key: the settings stand under "wow"`, where))
				return
			}
			apply(where, name, n.Value)
		default:
			faults = append(faults, fmt.Errorf("%s: aliases are not read here", where))
		}
	}
	for _, n := range root.Content {
		walk("", n)
	}
	return errors.Join(faults...)
}

// nearest names the setting that an unknown one may have meant.
func nearest(name string, byName map[string]setting) string {
	last := func(s string) string { return s[strings.LastIndexAny(s, "._")+1:] }
	var like []string
	for known := range byName {
		if last(known) == last(name) || strings.HasPrefix(known, name+".") || strings.ReplaceAll(strings.ReplaceAll(known, "-", ""), ".", "") == strings.NewReplacer("-", "", "_", "", ".", "").Replace(name) {
			like = append(like, known)
		}
	}
	if len(like) == 0 {
		return ""
	}
	slices.Sort(like)
	return "; did you mean " + strings.Join(like, " or ") + "?"
}
