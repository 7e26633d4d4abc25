package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/wowgen/wow/gen"
)

// outputs generates for a directory and returns the new files by name.
func outputs(t *testing.T, dir string) map[string]string {
	t.Helper()
	r, err := gen.Run(gen.Config{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Diagnostics {
		if r.Failed {
			t.Errorf("%s: %s", d.Pos, d.Message)
		}
	}
	out := map[string]string{}
	for _, c := range r.Changes {
		name, err := filepath.Rel(dir, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(name)] = string(c.New)
	}
	return out
}

// unpack writes the input of a scenario, its Go files under the names that
// rename gives them.
func unpack(t *testing.T, scenario string, rename func(dir, base string) string, text func(string) string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata/scenarios", scenario+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.com/app\n\ngo 1.26\n")
	for _, f := range a.Files {
		if f.Name == "stderr" || f.Name == "stdout" || strings.HasPrefix(f.Name, "want/") {
			continue
		}
		dir, base := filepath.Split(filepath.FromSlash(f.Name))
		if strings.HasSuffix(base, ".go") {
			base = rename(dir, base)
		}
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, dir, base), text(string(f.Data)))
	}
	return root
}

// TestSameBytes generates the same declarations from files with other names,
// in another directory, with Windows line ends, on one processor and on many.
func TestSameBytes(t *testing.T) {
	same := func(s string) string { return s }
	keep := func(_, base string) string { return base }
	for _, scenario := range []string{"ok-consumers", "ok-results", "ok-two-aggregates", "ok-messages-elsewhere", "ok-upcast", "ok-yaml", "ok-yaml-fields", "ok-across-packages"} {
		t.Run(scenario, func(t *testing.T) {
			want := outputs(t, unpack(t, scenario, keep, same))
			if len(want) == 0 {
				t.Fatal("nothing was generated")
			}
			n := 0
			reversed := func(_, base string) string {
				n++
				return fmt.Sprintf("f%02d_%s", 99-n, base)
			}
			crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
			before := runtime.GOMAXPROCS(0)
			defer runtime.GOMAXPROCS(before)
			for name, dir := range map[string]string{
				"other file names":  unpack(t, scenario, reversed, same),
				"Windows line ends": unpack(t, scenario, keep, crlf),
			} {
				for _, procs := range []int{1, 8} {
					runtime.GOMAXPROCS(procs)
					got := outputs(t, dir)
					if len(got) != len(want) {
						t.Errorf("%s: %d files, want %d", name, len(got), len(want))
					}
					for file, text := range want {
						if got[file] != text {
							t.Errorf("%s, %d processors: %s differs, first at:\n%s", name, procs, file, firstDifference(got[file], text))
						}
					}
				}
			}
		})
	}
}
