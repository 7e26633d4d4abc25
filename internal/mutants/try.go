package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// kind is what became of a mutant.
type kind int

const (
	caught kind = iota
	survived
	broken // it could not be planted, or does not build
)

// verdict is the outcome of one mutant.
type verdict struct {
	kind   kind
	by     string // the test that failed, or why it is broken
	output string
}

func (v verdict) String() string {
	switch v.kind {
	case caught:
		return "caught by " + v.by
	case survived:
		return "SURVIVED"
	}
	return "BROKEN: " + v.by
}

// stage is one run of the tests. The limit catches a mutant that hangs: half of
// them do, so it is set to a few times what the package takes without one.
type stage struct {
	flags []string
	limit time.Duration
}

// stages are what a mutant must survive, the fast ones first. The last makes
// more of the schedules that matter, as the race detector randomises them.
var stages = []stage{
	{[]string{"-short"}, 2 * time.Minute},
	{[]string{"-tags=wowsched", "-schedules=4000", "-run=Schedule|Completion|Monitor"}, 2 * time.Minute},
	{[]string{"-short", "-race", "-cpu=4"}, 4 * time.Minute},
}

// patience is how many times longer a mutant's tests may take, with others
// beside them, and the least they get.
const (
	patience = 5
	least    = 10 * time.Second
)

// calm runs the tests without a mutant, and sets the limits.
func (s source) calm() verdict {
	for i := range stages {
		began := time.Now()
		if v := s.tryStages(mutant{name: "no change at all"}, stages[i:i+1]); v.kind != survived {
			return v
		}
		stages[i].limit = max(least, patience*time.Since(began))
	}
	return verdict{kind: survived}
}

func (s stage) String() string { return strings.Join(s.flags, " ") }

// source is a package of the module, in memory.
type source struct {
	name  string
	files map[string]string // by name, the module's go.mod and go.sum among them
}

// read reads a package with its tests.
func read(root, name string) (source, error) {
	s := source{name: name, files: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(root, name, "*.go"))
	if err != nil || len(names) == 0 {
		return s, fmt.Errorf("mutants: no package %q in %q: run it in the module's folder, or name that with -root", name, root)
	}
	for _, f := range append(names, filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		text, err := os.ReadFile(f)
		if err != nil {
			return s, fmt.Errorf("mutants: reading the package %q: %w", name, err)
		}
		s.files[filepath.Base(f)] = string(text)
	}
	return s, nil
}

// plant returns the files that the mutant changes.
func (s source) plant(m mutant) (map[string]string, error) {
	changed := map[string]string{}
	for _, h := range m.hunks {
		text, ok := changed[h.file]
		if !ok {
			if text, ok = s.files[h.file]; !ok {
				return nil, fmt.Errorf("%s: stale, there is no such file any more", h.file)
			}
		}
		text, err := h.apply(text)
		if err != nil {
			return nil, err
		}
		changed[h.file] = text
	}
	return changed, nil
}

// try plants a mutant in a copy and runs the tests on it.
func (s source) try(m mutant) verdict { return s.tryStages(m, stages) }

func (s source) tryStages(m mutant, stages []stage) verdict {
	changed, err := s.plant(m)
	if err != nil {
		return verdict{kind: broken, by: err.Error()}
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return verdict{kind: broken, by: err.Error()}
	}
	defer os.RemoveAll(dir)
	if err := s.write(dir, changed); err != nil {
		return verdict{kind: broken, by: err.Error()}
	}
	if out, err := s.test(dir, stage{[]string{"-run=^$"}, time.Minute}); err != nil {
		return verdict{kind: broken, by: "does not build", output: out}
	}
	for _, st := range stages {
		if out, err := s.test(dir, st); err != nil {
			return verdict{caught, fmt.Sprintf("%s (%v)", culprit(out, err), st), out}
		}
	}
	return verdict{kind: survived}
}

// write makes a module of the package alone.
func (s source) write(dir string, changed map[string]string) error {
	if err := os.Mkdir(filepath.Join(dir, s.name), 0o755); err != nil {
		return err
	}
	for name, text := range s.files {
		if c, ok := changed[name]; ok {
			text = c
		}
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".go") {
			path = filepath.Join(dir, s.name, name)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// test runs go test in the copy.
func (s source) test(dir string, st stage) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), st.limit+time.Minute)
	defer cancel()
	args := append([]string{"test", "./" + s.name, "-count=1", "-failfast", "-vet=off", "-timeout=" + st.limit.String()}, st.flags...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.New("hangs")
	}
	return string(out[:min(len(out), maxOutput)]), err
}

// maxOutput is what is kept of a run's output: a hang dumps every goroutine.
const maxOutput = 1 << 16

var (
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	runningTest = regexp.MustCompile(`(?m)^\s+(Test\S+|Example\S+|Fuzz\S+) \(\d`)
	anyTest     = regexp.MustCompile(`executor\.(Test\w+)`)
	reason      = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|goleak: .*|WARNING: DATA RACE)`)
)

// culprit names the test that noticed, and how if it did not just fail.
func culprit(out string, err error) string {
	name := err.Error()
	for _, r := range []*regexp.Regexp{failedTest, runningTest, anyTest} {
		if m := r.FindStringSubmatch(out); m != nil {
			name = m[1]
			break
		}
	}
	if m := reason.FindString(out); m != "" {
		name += ": " + m[:min(len(m), 70)]
	}
	return name
}
