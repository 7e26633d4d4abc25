// Command run measures the executor beside its peers and writes RESULTS.md.
//
//	go run ./run            # all of it, about 12 minutes
//	go run ./run -quick     # every cell for a moment: does it run?
//	go run ./run -only '^W1/' -rounds 3
//
// Each cell runs in a process of its own, so that no peer inherits another's
// heap; rounds go over all cells in turn, so that a noisy neighbour hits all
// alike; the tables show medians.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/wowgen/wow/bench/report"
)

func main() {
	quick := flag.Bool("quick", false, "run every cell once for a moment and write nothing")
	rounds := flag.Int("rounds", 5, "how often each cell is measured")
	last := flag.Duration("for", 120*time.Millisecond, "how long a measurement lasts, at least")
	only := flag.String("only", "", "measure only cells that match: load/peer/procs")
	out := flag.String("out", "RESULTS.md", "the file to write")
	one := flag.String("cell", "", "measure this cell and print the result (used by run itself)")
	flag.Parse()
	if *one != "" {
		finish(child(*one, *last)) // never goes on: the rest starts processes
	}
	pattern, err := regexp.Compile(*only)
	exit(err)
	if *quick {
		*rounds, *last = 1, 5*time.Millisecond
	}
	began, load := time.Now(), report.Load()
	r := newRunner(*last)
	exit(r.check(pattern))
	exit(r.measure(*rounds, pattern))
	var b strings.Builder
	b.WriteString("# The executor beside its peers\n\n")
	b.WriteString(report.Head("go run ./run "+strings.Join(os.Args[1:], " "), began, load))
	b.WriteString(legend)
	tables := r.tables()
	b.WriteString("\n" + report.Verdict(tables...))
	for _, t := range tables {
		b.WriteString("\n" + t.Markdown())
	}
	fmt.Print(b.String())
	if !*quick && *only == "" {
		exit(os.WriteFile(*out, []byte(b.String()), 0o644))
	}
	finish(r.failures())
}

const legend = `
Medians of interleaved rounds, one process per cell. Our rows end with
[ratio to the best peer / ratio to the best floor] of the column: below 1 is
better where less is better. *Floors* promise less: nothing about keys.
`

// exit ends the program if something failed.
func exit(err error) {
	if err != nil {
		finish(err)
	}
}

// finish ends the program in any case.
func finish(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
