package wowtest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

type leaf struct {
	Name  string
	Big   *int
	Any   any
	Tags  []string
	Count map[string]leaf
	Score float64
}

func TestEqualValuesDoNotDiffer(t *testing.T) {
	one, same := 1, 1
	now := time.Now()
	for _, c := range []struct{ a, b any }{
		{leaf{}, leaf{}},
		{leaf{Big: &one}, leaf{Big: &same}},
		{leaf{Tags: nil}, leaf{Tags: []string{}}},
		{leaf{Count: nil}, leaf{Count: map[string]leaf{}}},
		{now, now.UTC().Round(0)},
		{leaf{Score: math.NaN()}, leaf{Score: math.NaN()}},
		{nil, nil},
	} {
		if d := diff(c.a, c.b); len(d) > 0 {
			t.Errorf("%v and %v differ: %v", c.a, c.b, d)
		}
	}
}

func TestDifferencesNameTheirPath(t *testing.T) {
	one, two := 1, 2
	for _, c := range []struct {
		a, b any
		want string
	}{
		{leaf{Name: "a"}, leaf{Name: "b"}, `leaf.Name: want "a", got "b"`},
		{leaf{Big: &one}, leaf{Big: &two}, `leaf.Big: want 1, got 2`},
		{leaf{Big: &one}, leaf{}, `leaf.Big: want 1, got nil`},
		{leaf{Any: 1}, leaf{Any: "1"}, `leaf.Any: want int, got string`},
		{leaf{Tags: []string{"a"}}, leaf{Tags: []string{"a", "b"}}, `leaf.Tags[1]: want nothing, got "b"`},
		{leaf{Count: map[string]leaf{"x": {Name: "a"}}}, leaf{Count: map[string]leaf{"x": {}}}, `leaf.Count["x"].Name: want "a", got ""`},
		{leaf{Count: map[string]leaf{"x": {Name: "a"}}}, leaf{}, `leaf.Count["x"]: want leaf{Name: "a"}, got nothing`},
		{leaf{}, leaf{Count: map[string]leaf{"x": {}}}, `leaf.Count["x"]: want nothing, got leaf{}`},
		{leaf{Score: 1}, leaf{Score: 2}, `leaf.Score: want 1, got 2`},
		{leaf{}, 1, `leaf: want leaf, got int`},
		{time.Unix(0, 0).UTC(), time.Unix(1, 0).UTC(), `Time: want 1970-01-01T00:00:00Z, got 1970-01-01T00:00:01Z`},
	} {
		if got := strings.TrimSpace(list("want", "got", diff(c.a, c.b))); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	a, b := make([]int, 1000), make([]int, 1000)
	for i := range b {
		b[i] = 1
	}
	if got := len(diff(a, b)); got != maxDifferences {
		t.Errorf("got %d differences, want %d", got, maxDifferences)
	}
	type ring struct{ Next *ring }
	r, q := new(ring), new(ring)
	r.Next, q.Next = r, q
	if got := fmt.Sprint(diff(r, q)); !strings.Contains(got, "cycle") {
		t.Errorf("two rings: %s", got)
	}
	if got := show(r); !strings.Contains(got, "…") {
		t.Errorf("a ring is shown as %s", got)
	}
}

func TestValuesAreShownAsTheyAreWritten(t *testing.T) {
	one := 1
	v := leaf{Name: "a", Big: &one, Tags: []string{"x", "y"}, Any: time.Second, Count: map[string]leaf{"k": {Score: 1.5}}}
	want := `leaf{Name: "a", Big: &1, Any: 1s, Tags: {"x", "y"}, Count: {"k": leaf{Score: 1.5}}}`
	if got := show(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := show([]byte("raw")); got != `"raw"` {
		t.Errorf("bytes are shown as %s", got)
	}
}
