package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wowgen/wow/example/internal/cli"
)

// Session holds the text of the program's session to a file. It tells the same
// each time.
func Session(t *testing.T, p *cli.Program, file string) {
	t.Helper()
	for range 3 {
		var out, errs bytes.Buffer
		if code := p.Run(t.Context(), nil, cli.Streams{Out: &out, Err: &errs}); code != 0 || errs.Len() > 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		Expect(t, file, out.String())
	}
}

// Run gives each file *.in of a folder to the program's command run, and holds
// the results to the file *.want beside it.
func Run(t *testing.T, p *cli.Program, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no input in %s (%v)", dir, err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, window := range []string{"1", "64"} {
			var out, errs bytes.Buffer
			if code := p.Run(t.Context(), []string{"run", "-window", window}, cli.Streams{In: bytes.NewReader(in), Out: &out, Err: &errs}); code != 0 {
				t.Fatalf("%s: exit %d: %s", file, code, errs.String())
			}
			Expect(t, strings.TrimSuffix(file, ".in")+".want", out.String())
		}
	}
}
