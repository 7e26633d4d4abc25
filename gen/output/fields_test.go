package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawType draws a type as lock files describe it.
func drawType(t *rapid.T, depth int) string {
	kinds := 2
	if depth < 4 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"int", "string", "time.Time", "bool"}).Draw(t, "name")
	case 1:
		return "pair.Of[" + rapid.SampledFrom([]string{"int", "string"}).Draw(t, "first") + ", map[string]int]"
	case 2:
		return "[]" + drawType(t, depth+1)
	case 3:
		return "map[" + drawType(t, depth+1) + "]"
	}
	return "{" + strings.Join(drawFields(t, depth+1), ", ") + "}"
}

func drawFields(t *rapid.T, depth int) []string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "D"}), 0, 4, rapid.ID).Draw(t, "names")
	fields := make([]string, len(names))
	for i, n := range names {
		fields[i] = n + " " + drawType(t, depth)
	}
	return fields
}

// TestShapesThatOnlyGrow holds that new fields, wherever they are nested and in
// whatever order, change nothing, and that a field which is taken out again is
// found, by its path.
func TestShapesThatOnlyGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := drawFields(t, 0)
		require.Equal(t, was, append([]string{}, splitFields(strings.Join(was, ", "))...))
		is := append([]string{"New " + drawType(t, 0)}, was...)
		require.Empty(t, CompareFields(was, is))
		nest := func(fields []string) []string {
			return []string{"X map[[]{" + strings.Join(fields, ", ") + "}]"}
		}
		require.Empty(t, CompareFields(nest(was), nest(is)))
		require.Equal(t, []FieldChange{{Kind: "removed", Field: "X[][].New", Was: strings.TrimPrefix(is[0], "New ")}}, CompareFields(nest(is), nest(was)))
	})
}

func TestTypes(t *testing.T) {
	for _, tt := range []struct{ was, is, kind string }{
		{"int", "int", ""},
		{"int32", "int64", "widened"},
		{"int64", "int", "widened"},
		{"int64", "int32", "retyped"},
		{"float32", "float64", "widened"},
		{"uint8", "int16", "retyped"},
		{"int", "string", "retyped"},
		{"[]int", "int", "retyped"},
		{"[]int", "map[int]", "retyped"},
		{"{A int}", "{A int, B {C string}}", ""},
		{"{A int}", "string", "retyped"},
		{"{Qty int}", "{qty int}", ""},
		{"{Qty int, qty string}", "{qty string, Qty int}", ""},
		{"?", "{A int}", ""},
		{"pair.Of[int, string]", "pair.Of[int, bool]", "retyped"},
	} {
		kind := ""
		for _, c := range compareTypes("F", tt.was, tt.is) {
			kind += c.Kind
		}
		require.Equal(t, tt.kind, kind, "%s became %s", tt.was, tt.is)
	}
}
