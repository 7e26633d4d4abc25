package domain_test

import (
	"path/filepath"
	"testing"

	"github.com/wowgen/wow/gen"
)

// TestTheGeneratedFilesAreUpToDate says whether somebody forgot to generate.
func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gen.Run(gen.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Diagnostics {
		t.Errorf("%s: %s", d.Pos, d.Message)
	}
	for _, c := range r.Changes {
		t.Errorf("%s is out of date, run go generate in the root of the module:\n%s", c.Path, c.Diff(c.Path))
	}
}
