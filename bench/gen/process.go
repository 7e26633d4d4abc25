package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// build compiles wowgen and the tools of others into dir, and returns where
// each is. Their versions stand in go.mod.
func build(dir, repo string) (map[string]string, error) {
	tools := map[string]string{}
	for name, pkg := range map[string]string{
		"wowgen":         "github.com/wowgen/wow/cmd/wowgen",
		"stringer":       "golang.org/x/tools/cmd/stringer",
		"moq":            "github.com/matryer/moq",
		"mockgen":        "go.uber.org/mock/mockgen",
		"controller-gen": "sigs.k8s.io/controller-tools/cmd/controller-gen",
		"goverter":       "github.com/jmattheis/goverter/cmd/goverter",
	} {
		path := filepath.Join(dir, name)
		where := "."
		if name == "wowgen" {
			where = repo
		}
		if _, err := execute(where, nil, "go", "build", "-o", path, pkg); err != nil {
			return nil, err
		}
		tools[name] = path
	}
	return tools, nil
}

// execute runs a program and returns its state, or an error with what it
// printed.
func execute(dir string, env []string, name string, args ...string) (*os.ProcessState, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s", filepath.Base(name), args, err, out)
	}
	return cmd.ProcessState, nil
}

// timed runs a program and returns its milliseconds on the wall and, children
// included, on processors.
func timed(dir string, env []string, name string, args ...string) (wall, cpu float64, err error) {
	began := time.Now()
	state, err := execute(dir, env, name, args...)
	if err != nil {
		return 0, 0, err
	}
	return ms(time.Since(began)), ms(state.UserTime() + state.SystemTime()), nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
