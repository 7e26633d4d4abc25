// Command framework measures commands per second: one event each, waiting until
// it is stored in memory, with a projection attached that must see every event.
//
//	go run ./framework            # writes FRAMEWORK.md
//	go run ./framework -quick     # a moment of each: does it run?
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wowgen/wow/bench/report"
)

func main() {
	quick := flag.Bool("quick", false, "run each once for a moment and write nothing")
	rounds := flag.Int("rounds", 5, "how often each is measured")
	n := flag.Int("n", 100_000, "commands per measurement of the quick ones")
	out := flag.String("out", "FRAMEWORK.md", "the file to write")
	flag.Parse()
	if *quick {
		*rounds, *n = 1, 4000
	}
	if err := run(*rounds, *n, *quick, *out); err != nil {
		fmt.Fprintln(os.Stderr, "framework:", err)
		os.Exit(1)
	}
}

func run(rounds, n int, quick bool, out string) error {
	began, load := time.Now(), report.Load()
	t := report.Table{Title: "Commands, one event each", Note: "Memory store. Medians of interleaved rounds; ours with [ratio to the best framework / ratio to the hand-written floor]."}
	for _, clients := range []int{1, 8} {
		who := fmt.Sprintf(", %d clients", clients)
		if clients == 1 {
			who = ", 1 client"
		}
		t.Columns = append(t.Columns,
			report.Column{Name: "commands/s" + who, More: true, Format: report.Rate},
			report.Column{Name: "CPU ns" + who, Format: report.Integer},
			report.Column{Name: "allocs", Format: report.Small},
			report.Column{Name: "projection behind", Format: report.Latency, Plain: true})
	}
	all := contenders()
	for _, c := range all {
		row := report.Row{Name: c.name, Samples: make([][]float64, len(t.Columns))}
		switch {
		case c.floor:
			row.Kind = report.Floor
		case c.ours:
			row.Kind = report.Ours
		}
		t.Rows = append(t.Rows, row)
	}
	for range rounds {
		for j, clients := range []int{1, 8} {
			for i, c := range all {
				s, err := measure(c, clients, n/c.scale)
				if err != nil {
					return err
				}
				for k, v := range []float64{s.rate, s.cpu, s.allocs, s.lag} {
					column := &t.Rows[i].Samples[4*j+k]
					*column = append(*column, v)
				}
			}
		}
	}
	flat, err := flatness(rounds, n/5)
	if err != nil {
		return err
	}
	idles, err := idle(n / 5)
	if err != nil {
		return err
	}
	text := "# The runtime beside frameworks\n\n" + report.Head("go run ./framework "+strings.Join(os.Args[1:], " "), began, load) + "\n" + t.Markdown() + "\n" + flat.Markdown() + "\nIdle aggregates: " + idles + ".\n"
	fmt.Print(text)
	if quick {
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
