package gen_test

import (
	"os"
	"testing"

	"github.com/wowgen/wow/gen"
)

func BenchmarkBig(b *testing.B) {
	dir := os.Getenv("BIG")
	for b.Loop() {
		if _, err := gen.Run(gen.Config{Dir: dir, Patterns: []string{"./..."}}); err != nil {
			b.Fatal(err)
		}
	}
}
