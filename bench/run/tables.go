package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/wowgen/wow/bench/load"
	"github.com/wowgen/wow/bench/peer"
	"github.com/wowgen/wow/bench/report"
)

// page is a table to be: for each column, what is taken from the results of a
// load.
type page struct {
	title, note, mark string
	figures           []figure
}

type figure struct {
	report.Column
	load  string
	procs int
	value func(load.Result) float64
}

func wall(r load.Result) float64   { return r.Wall }
func cpu(r load.Result) float64    { return r.CPU }
func rate(r load.Result) float64   { return 1e9 / r.Wall }
func allocs(r load.Result) float64 { return r.Allocs }
func bytes(r load.Result) float64  { return r.Bytes }
func p50(r load.Result) float64    { return r.P50 }
func kept(r load.Result) float64   { return r.Kept }

// each makes a column like c for each of the loads, named after it.
func each(procs int, value func(load.Result) float64, c report.Column, loads ...string) []figure {
	var f []figure
	for _, name := range loads {
		c.Name = name
		f = append(f, figure{c, name, procs, value})
	}
	return f
}

// explained puts what the workloads are under the table.
func explained(f []figure) []figure {
	for i := range f {
		w, _ := workload(f[i].load)
		f[i].About = w.About
	}
	return f
}

// pages lists the tables, the throughput first.
func pages() []page {
	cores := runtime.NumCPU()
	many := []string{"W1", "W1b", "W1us", "W2", "W3", "W4", "W7"}
	ns, raw := report.Column{Format: report.Integer}, report.Column{Format: report.Small, Plain: true}
	var there, waiting, inHandler []figure
	for _, k := range pings {
		there = append(there, figure{report.Column{Name: string(k), About: k.About(), Format: report.Latency}, string(k), cores, p50})
	}
	for _, name := range []string{"W5/256", "W5/4096"} {
		w, _ := workload(name)
		waiting = append(waiting,
			figure{report.Column{Name: name + " msgs/s", About: w.About, More: true, Format: report.Rate}, name, cores, rate},
			figure{report.Column{Name: "B/msg", Format: report.Integer, Plain: true}, name, cores, bytes},
			figure{report.Column{Name: "CPU ns/msg", Format: report.Integer, Plain: true}, name, cores, cpu})
	}
	for _, what := range waits {
		inHandler = append(inHandler,
			figure{report.Column{Name: string(what), Format: report.Integer}, string(what), cores, wall},
			figure{report.Column{Name: "allocs", Format: report.Small, Plain: true}, string(what), cores, allocs})
	}
	return []page{
		{title: fmt.Sprintf("Nanoseconds per message, GOMAXPROCS=%d", cores),
			note:    "Peers may hold 256 messages *per key* in W1 and W2; the fair pair there is our row with the large window.",
			figures: explained(each(cores, wall, ns, many...))},
		{title: "CPU nanoseconds per message, GOMAXPROCS=1", mark: ", CPU on one core",
			note:    "Process time: the steadiest figure there is.",
			figures: each(1, cpu, ns, "W1", "W1b", "W2", "W4")},
		{title: "Allocations per message", figures: each(cores, allocs, raw, many...)},
		{title: "Bytes allocated per message", figures: each(cores, bytes, raw, many...)},
		{title: "Handlers that wait 1 ms",
			note:    "Peers have as many workers as messages in flight; ours have a worker per core.",
			figures: waiting},
		{title: "One message there and back", figures: there},
		{title: fmt.Sprintf("Oversubscribed: nanoseconds per message, GOMAXPROCS=%d on %d cores", 4*cores, cores),
			mark: ", oversubscribed", figures: each(4*cores, wall, ns, "W1", "W1b", "W4")},
		{title: "Number of keys: nanoseconds per message",
			note:    "Keys in turn, 8,192 messages in flight in all. K/1 is one key.",
			figures: each(cores, wall, ns, cardinalities()...)},
		{title: "Keys at rest, and beside a handler that blocks", figures: []figure{
			{report.Column{Name: "B per idle key", Format: report.Integer, Plain: true}, idle, cores, kept},
			{report.Column{Name: "worst neighbour", Format: report.Latency,
				About: "one worker, a handler blocks for 20 ms without saying so: when the last of 49 other keys gets its turn"}, stall, cores, p50},
		}},
		{title: "Waiting in the middle of a handler: ns per wait", figures: inHandler},
	}
}

// row is a line of the tables and what it is in a comparison.
type row struct {
	name string
	kind report.Kind
}

// rows are the peers, then the ways of waiting.
func rows() []row {
	var all []row
	add := func(name string, kind report.Kind) {
		if r := (row{name, kind}); !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	for _, p := range peer.All() {
		add(p.Name, kindOf(p.Is(peer.Ours), p.Is(peer.Floor)))
	}
	for _, what := range waits {
		for _, w := range load.Waitings(what) {
			add(w.Name, kindOf(w.Ours, false))
		}
	}
	return all
}

func kindOf(ours, floor bool) report.Kind {
	switch {
	case ours:
		return report.Ours
	case floor:
		return report.Floor
	}
	return report.Other
}

// tables fills the pages in with what was measured.
func (r *runner) tables() []report.Table {
	var all []report.Table
	for _, p := range pages() {
		t := report.Table{Title: p.title, Note: p.note, Mark: p.mark}
		for _, f := range p.figures {
			t.Columns = append(t.Columns, f.Column)
		}
		for _, line := range rows() {
			samples := make([][]float64, len(p.figures))
			for i, f := range p.figures {
				for _, res := range r.results[cell{f.load, line.name, f.procs}] {
					samples[i] = append(samples[i], f.value(res))
				}
			}
			t.Rows = append(t.Rows, report.Row{Name: line.name, Kind: line.kind, Samples: samples})
		}
		all = append(all, t)
	}
	return all
}
