package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/wowgen/wow/bench/report"
)

// big is how many handlers the package has whose compile time is measured.
const big = 1000

// measureCompile compiles a package with 1,000 handlers, and the same types and
// methods without what wowgen writes. Only the package itself is compiled; what
// it imports is in the build cache.
func measureCompile(dir, repo string, tools map[string]string, rounds int) (report.Table, error) {
	t := report.Table{
		Title:   fmt.Sprintf("Compiling a package with %d handlers, milliseconds", big),
		Note:    "The goal: at most twice the first row and 3,000 more.",
		Columns: []report.Column{{Name: "wall", Format: tenth, Plain: true}, {Name: "CPU", Format: tenth, Plain: true}},
	}
	root := filepath.Join(dir, "compile")
	rows := []struct {
		name     string
		generate bool
	}{{"types and methods alone", false}, {"with wow_gen.go", true}}
	for i, row := range rows {
		at := filepath.Join(root, fmt.Sprint(i))
		if err := bigModule(at, repo); err != nil {
			return t, err
		}
		if row.generate {
			if _, err := execute(at, nil, tools["wowgen"], "./..."); err != nil {
				return t, err
			}
		}
		t.Rows = append(t.Rows, report.Row{Name: row.name, Samples: make([][]float64, 2)})
	}
	for round := range rounds + 1 {
		for i := range rows {
			at := filepath.Join(root, fmt.Sprint(i))
			// A file that no build has seen makes the compiler run.
			nonce := fmt.Sprintf("package big\n\nconst round = %d\n", os.Getpid()*1000+round)
			if err := os.WriteFile(filepath.Join(at, "big", "round.go"), []byte(nonce), 0o644); err != nil {
				return t, err
			}
			wall, cpu, err := timed(at, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "build", "./...")
			if err != nil {
				return t, err
			}
			if round == 0 {
				continue // builds the runtime too
			}
			s := t.Rows[i].Samples
			s[0], s[1] = append(s[0], wall), append(s[1], cpu)
		}
	}
	return t, nil
}

func bigModule(dir, repo string) error {
	if err := os.MkdirAll(filepath.Join(dir, "big"), 0o755); err != nil {
		return err
	}
	mod := fmt.Sprintf("module example.com/big\n\ngo 1.26\n\nrequire github.com/wowgen/wow v0.0.0\n\nreplace github.com/wowgen/wow => %s\n", repo)
	sum, err := os.ReadFile(filepath.Join(repo, "go.sum"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"go.mod":   mod,
		"go.sum":   string(sum),
		"big/a.go": aggregateOf("big", big/2, true),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
