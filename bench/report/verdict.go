package report

import "math"

// Verdict is one line per column of the tables: the best of the others, the
// best floor, and ours, where several rows of ours run, the best of them.
func Verdict(tables ...Table) string {
	out := grid{{"", "best peer", "", "best floor", "ours", "", "of peer", "of floor"}, {"---", "---", "---:", "---:", "---", "---:", "---:", "---:"}}
	for _, t := range tables {
		for i, c := range t.Columns {
			if c.Plain {
				continue
			}
			other, ours := t.leader(i, Other), t.leader(i, Ours)
			floor := t.best(i, Floor)
			if ours.Samples == nil {
				continue
			}
			out = append(out, []string{c.Name + t.Mark, other.Name, t.show(other, i), format(c, floor), ours.Name, t.show(ours, i),
				ratio(median(ours, i), median(other, i)), ratio(median(ours, i), floor)})
		}
	}
	return "## In short\n\n" + out.String()
}

// leader returns the best row of a kind in a column, or an empty one.
func (t Table) leader(column int, k Kind) Row {
	best := t.best(column, k)
	for _, r := range t.Rows {
		if r.Kind == k && median(r, column) == best {
			return r
		}
	}
	return Row{Name: "–"}
}

func median(r Row, column int) float64 {
	if r.Samples == nil {
		return math.NaN()
	}
	return Median(r.Samples[column])
}

func (t Table) show(r Row, column int) string { return format(t.Columns[column], median(r, column)) }

func format(c Column, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return c.Format(v)
}
