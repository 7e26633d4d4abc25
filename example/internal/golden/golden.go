// Package golden holds the output of a program to a file that is committed.
// The flag -update of a test writes the files anew.
package golden

import (
	"flag"
	"os"
	"strings"
)

var update = flag.Bool("update", false, "write the expected output anew")

// TB is what this package needs of a test.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Expect fails unless got is what the file holds, and says where they differ.
func Expect(t TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s, line %d:\ngot  %s\nwant %s", file, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: got %d lines, want %d", file, len(g), len(w))
}
