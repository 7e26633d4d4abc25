package emit

import (
	"slices"
	"time"

	"github.com/dave/jennifer/jen"
)

// duration writes a duration as a person would: 250 * time.Millisecond.
func duration(text string) *jen.Statement {
	d, err := time.ParseDuration(text)
	if err != nil {
		return jen.Lit(0)
	}
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second}, {"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond}} {
		if d%unit.size == 0 {
			if d == unit.size {
				return jen.Qual("time", unit.name)
			}
			return jen.Lit(int(d/unit.size)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Lit(int(d)).Op("*").Qual("time", "Nanosecond")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
