// Command gen measures code generators as a user meets them: one process, from
// its start to its end. wowgen runs beside generators of others, each on input
// of the same size made for it.
//
//	go run ./gen            # writes GEN.md
//	go run ./gen -quick     # each once: does it run?
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wowgen/wow/bench/report"
)

func main() {
	quick := flag.Bool("quick", false, "run each once and write nothing")
	rounds := flag.Int("rounds", 15, "how often each is measured")
	out := flag.String("out", "GEN.md", "the file to write")
	flag.Parse()
	if *quick {
		*rounds = 1
	}
	if err := run(*rounds, *quick, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(rounds int, quick bool, out string) (err error) {
	began, load := time.Now(), report.Load()
	dir, err := os.MkdirTemp("", "wow-bench-gen-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	repo, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	tools, err := build(filepath.Join(dir, "bin"), repo)
	if err != nil {
		return err
	}
	generators, err := measureGenerators(dir, tools, rounds)
	if err != nil {
		return err
	}
	compile, err := measureCompile(dir, repo, tools, max(1, rounds/5))
	if err != nil {
		return err
	}
	text := "# The generator beside others\n\n" + report.Head("go run ./gen "+strings.Join(os.Args[1:], " "), began, load) + "\n" +
		generators.Markdown() + "\n" + compile.Markdown()
	fmt.Print(text)
	if quick {
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// packages is how many packages the large input has.
const packages = 50

// measureGenerators runs every tool on one package and on fifty.
func measureGenerators(dir string, tools map[string]string, rounds int) (report.Table, error) {
	t := report.Table{
		Title: "Milliseconds of a process",
		Note: "Medians of interleaved rounds; ours with [ratio to the best of the others / –]. One package is an aggregate with 22 handlers, an interface with 22 methods,\n" +
			"22 constants, or 22 structs; fifty are fifty of those. The others run once for all packages where they can, else once for each.\n\n" +
			"A run that changes nothing costs as much as one that writes: it makes the output and compares. Three fifths of it (58% of its CPU, by profile) could be saved by a hash of\n" +
			"what was declared. There is none: it would have to cover the whole model, what other packages declare, and the generator's own code, which a program built from a\n" +
			"checkout cannot name; and an output that a wrong hash keeps is stale without a word, where today -check is the proof.",
		Columns: []report.Column{
			{Name: "one, wall", Format: tenth}, {Name: "one, CPU", Format: tenth},
			{Name: "fifty, wall", Format: tenth}, {Name: "fifty, CPU", Format: tenth},
		},
	}
	var cells []*cell
	for i, c := range contenders() {
		t.Rows = append(t.Rows, report.Row{Name: c.name, Kind: c.kind, Samples: make([][]float64, len(t.Columns))})
		for j, n := range []int{1, packages} {
			at := filepath.Join(dir, fmt.Sprintf("in%d-%d", i, n))
			if !c.fresh {
				if err := c.input(at, n); err != nil {
					return t, err
				}
			}
			cells = append(cells, &cell{c: c, row: i, column: 2 * j, dir: at, packages: n})
		}
	}
	for round := range rounds + 1 {
		for _, cell := range cells {
			wall, cpu, err := cell.run(tools)
			if err != nil {
				return t, fmt.Errorf("%s: %w", cell.c.name, err)
			}
			if round == 0 {
				continue // reads what the file cache does not hold yet
			}
			s := t.Rows[cell.row].Samples
			s[cell.column] = append(s[cell.column], wall)
			s[cell.column+1] = append(s[cell.column+1], cpu)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d, the first does not count\n", round, rounds)
	}
	return t, nil
}

func tenth(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return report.Integer(v)
}
