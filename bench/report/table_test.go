package report

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 100}, 3},
	} {
		if got := Median(c.samples); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.samples, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is not a number")
	}
}

func TestOursIsComparedWithTheBestOfTheOthersAndTheBestFloor(t *testing.T) {
	table := Table{
		Title:   "ns",
		Columns: []Column{{Name: "W1", Format: Integer}, {Name: "rate", More: true, Format: Integer}},
		Rows: []Row{
			{"floor", Floor, [][]float64{{20, 30, 25}, nil}},
			{"slow", Other, [][]float64{{900}, {10}}},
			{"quick", Other, [][]float64{{100, 1000, 90}, {20}}},
			{"ours", Ours, [][]float64{{50}, {30}}},
			{"absent", Other, [][]float64{nil, nil}},
		},
	}
	const want = `## ns

|                      |               W1 |          rate |
| -------------------- | ---------------: | ------------: |
| *floor*              |               25 |             – |
| slow                 |              900 |            10 |
| quick                |              100 |            20 |
| **ours**             | 50 [0.50 / 2.00] | 30 [1.50 / –] |
| spread of the rounds |             475% |             – |
`
	if got := table.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const verdict = `## In short

|      | best peer |     | best floor | ours |     | of peer | of floor |
| ---- | --------- | --: | ---------: | ---- | --: | ------: | -------: |
| W1   | quick     | 100 |         25 | ours |  50 |    0.50 |     2.00 |
| rate | quick     |  20 |          – | ours |  30 |    1.50 |        – |
`
	if got := Verdict(table); got != verdict {
		t.Errorf("got\n%s\nwant\n%s", got, verdict)
	}
}
