// Package report turns measurements into tables: medians of interleaved rounds,
// and ratios of our rows to the best of the others and to the best floor.
package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is what a row is in a comparison.
type Kind int

// The kinds of rows.
const (
	Other Kind = iota
	Floor
	Ours
)

// Column is one figure of a table.
type Column struct {
	Name   string
	About  string // a sentence for the legend, if it needs one
	More   bool   // more is better
	Plain  bool   // a figure on its own: ratios would say nothing
	Format func(float64) string
}

// Row has one set of samples per column; none means it was not measured.
type Row struct {
	Name    string
	Kind    Kind
	Samples [][]float64
}

// Table is a comparison.
type Table struct {
	Title   string
	Note    string
	Mark    string // what tells its columns from those of the same name in other tables
	Columns []Column
	Rows    []Row
}

// Median returns the middle of the samples; NaN without any.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(samples))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// best returns the best median of a column among the rows of a kind.
func (t Table) best(column int, k Kind) float64 {
	best := math.NaN()
	for _, r := range t.Rows {
		v := Median(r.Samples[column])
		if r.Kind == k && !math.IsNaN(v) && (math.IsNaN(best) || (v > best) == t.Columns[column].More) {
			best = v
		}
	}
	return best
}

// spread is how far apart the rounds of a column are, typically: the median
// over its rows of (largest - smallest) / median.
func (t Table) spread(column int) float64 {
	var all []float64
	for _, r := range t.Rows {
		if s := r.Samples[column]; len(s) > 1 && Median(s) > 0 {
			all = append(all, (slices.Max(s)-slices.Min(s))/Median(s))
		}
	}
	return Median(all)
}

// Markdown renders the table, the title as a heading.
func (t Table) Markdown() string {
	lines := grid{{""}, {"---"}}
	for _, c := range t.Columns {
		lines[0] = append(lines[0], c.Name)
		lines[1] = append(lines[1], "---:")
	}
	for _, r := range t.Rows {
		line := []string{r.Name}
		switch r.Kind {
		case Ours:
			line[0] = "**" + r.Name + "**"
		case Floor:
			line[0] = "*" + r.Name + "*"
		}
		for i := range t.Columns {
			line = append(line, t.cell(r, i))
		}
		if strings.Trim(strings.Join(line[1:], ""), "–") != "" {
			lines = append(lines, line)
		}
	}
	line, known := []string{"spread of the rounds"}, false
	for i := range t.Columns {
		s := t.spread(i)
		known = known || !math.IsNaN(s)
		line = append(line, percent(s))
	}
	if known {
		lines = append(lines, line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(&b, "%s\n\n", t.Note)
	}
	b.WriteString(lines.String())
	for _, c := range t.Columns {
		if c.About != "" {
			fmt.Fprintf(&b, "\n- %s: %s", c.Name, c.About)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// cell is the median; on our rows with the ratios in brackets.
func (t Table) cell(r Row, column int) string {
	v := Median(r.Samples[column])
	if math.IsNaN(v) {
		return "–"
	}
	s := t.Columns[column].Format(v)
	other, floor := t.best(column, Other), t.best(column, Floor)
	if r.Kind != Ours || t.Columns[column].Plain || math.IsNaN(other) && math.IsNaN(floor) {
		return s
	}
	return fmt.Sprintf("%s [%s / %s]", s, ratio(v, other), ratio(v, floor))
}

func ratio(v, of float64) string {
	switch {
	case math.IsNaN(v / of), of == 0:
		return "–"
	case v/of >= 10:
		return fmt.Sprintf("%.0f", v/of)
	}
	return fmt.Sprintf("%.2f", v/of)
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*v)
}

// grid is the cells of a Markdown table; the second line says how its columns
// are aligned.
type grid [][]string

// String pads the cells, so that the table can be read without rendering.
func (g grid) String() string {
	width := make([]int, len(g[0]))
	for n, line := range g {
		for i, s := range line {
			if n != 1 {
				width[i] = max(width[i], utf8.RuneCountInString(s), 3)
			}
		}
	}
	var b strings.Builder
	for n, line := range g {
		for i, s := range line {
			right := strings.HasSuffix(g[1][i], ":")
			switch pad := width[i] - utf8.RuneCountInString(s); {
			case n == 1 && right:
				s = strings.Repeat("-", width[i]-1) + ":"
			case n == 1:
				s = strings.Repeat("-", width[i])
			case right:
				s = strings.Repeat(" ", pad) + s
			default:
				s += strings.Repeat(" ", pad)
			}
			b.WriteString("| " + s + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// Integer formats a whole number, thousands apart.
func Integer(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Rate formats a number per second, in thousands.
func Rate(v float64) string { return Integer(v/1000) + "k" }

// Latency formats nanoseconds with three digits.
func Latency(v float64) string {
	switch {
	case v < 10_000:
		return Integer(v) + " ns"
	case v < 1e6:
		return fmt.Sprintf("%.0f us", v/1e3)
	default:
		return fmt.Sprintf("%.1f ms", v/1e6)
	}
}

// Small formats a number whose fraction matters while it is small.
func Small(v float64) string {
	switch {
	case v < 0.005:
		return "0"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	default:
		return Integer(v)
	}
}
