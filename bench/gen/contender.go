package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/wowgen/wow/bench/report"
)

// contender is one tool, what it reads, and how it is called.
type contender struct {
	name    string
	kind    report.Kind
	tool    string
	args    []string
	env     []string
	each    bool                    // one process per package: the tool knows no patterns
	oneOnly bool                    // the large input would say nothing new
	files   func(pkg string) string // the text of a package
	fresh   bool                    // each run has input that was never generated for
	cold    bool                    // the build cache is empty
	before  [][]string              // arguments of runs of the same tool that are not measured
}

// cell is one measured pair of a tool and an input.
type cell struct {
	c           contender
	row, column int
	dir         string
	packages    int
	ready       bool // before was run
	round       int
}

func (c *cell) run(tools map[string]string) (wall, cpu float64, err error) {
	env := c.c.env
	if c.c.cold {
		cache, err := os.MkdirTemp(filepath.Dir(c.dir), "cache-")
		if err != nil {
			return 0, 0, err
		}
		defer os.RemoveAll(cache)
		env = append([]string{"GOCACHE=" + cache}, env...)
	}
	dir := c.dir
	if c.c.fresh {
		// New folders each time: where files were just deleted, a file system
		// takes its time to make new ones.
		c.round++
		dir = filepath.Join(c.dir, fmt.Sprint(c.round))
		if err := c.c.input(dir, c.packages); err != nil {
			return 0, 0, err
		}
	}
	if !c.ready {
		for _, args := range c.c.before {
			if _, err := execute(dir, env, tools[c.c.tool], args...); err != nil {
				return 0, 0, err
			}
		}
		c.ready = true
	}
	if !c.c.each {
		return timed(dir, env, tools[c.c.tool], c.c.args...)
	}
	for i := range c.packages {
		w, u, err := timed(filepath.Join(dir, packageName(i)), env, tools[c.c.tool], c.c.args...)
		if err != nil {
			return 0, 0, err
		}
		wall, cpu = wall+w, cpu+u
	}
	return wall, cpu, nil
}

// input writes a module of n packages for the tool.
func (c contender) input(dir string, n int) error {
	for i := range n {
		pkg := packageName(i)
		if err := os.MkdirAll(filepath.Join(dir, pkg), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, pkg, "a.go"), []byte(c.files(pkg)), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/input\n\ngo 1.26\n"), 0o644)
}

func packageName(i int) string { return fmt.Sprintf("p%02d", i) }

func contenders() []contender {
	wow := func(name string, c contender) contender {
		c.name, c.kind, c.tool, c.files = "wowgen, "+name, report.Ours, "wowgen", aggregate
		return c
	}
	const all = "./..."
	return []contender{
		{name: "stringer", tool: "stringer", args: []string{"-type", "Kind"}, each: true, files: constants, fresh: true},
		{name: "moq", tool: "moq", args: []string{"-out", "moq.go", ".", "Service"}, each: true, files: service, fresh: true},
		{name: "mockgen -source", tool: "mockgen", args: []string{"-source", "a.go", "-destination", "mock.go", "-package", "mock"}, each: true, files: service, fresh: true},
		{name: "controller-gen object", tool: "controller-gen", args: []string{"object", "paths=" + all}, files: objects, fresh: true},
		{name: "goverter", tool: "goverter", args: []string{"gen", all}, files: converter, fresh: true},
		wow("all new", contender{args: []string{all}, fresh: true}),
		wow("nothing changed", contender{args: []string{all}, before: [][]string{{all}}}),
		wow("-check", contender{args: []string{"-check", all}, before: [][]string{{all}}}),
		wow("all new, empty build cache", contender{args: []string{all}, fresh: true, cold: true}),
	}
}
