// Package readme runs what the README shows: a claim that a newcomer meets
// first must not be the one that nothing checks.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: ([\\w./-]+))?\n(.*?)^```$")

// TestReadmeExampleRuns generates, builds and runs the files that the README
// shows, in a module of their own, and compares what they print.
func TestReadmeExampleRuns(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	dir, want := t.TempDir(), ""
	for _, block := range fence.FindAllStringSubmatch(string(readme), -1) {
		language, name, text := block[1], block[2], block[3]
		if name != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		if output, ok := strings.CutPrefix(text, "$ go run .\n"); ok && language == "console" {
			want = output
		}
	}
	require.NotEmpty(t, want, "the README shows no output of go run")
	module(t, dir)

	wowgen := filepath.Join(t.TempDir(), "wowgen")
	run(t, root, "go", "build", "-o", wowgen, "./cmd/wowgen")
	run(t, dir, wowgen)
	require.Equal(t, want, run(t, dir, "go", "run", "."))
	require.Contains(t, run(t, dir, "go", "test", "-v", "."), "--- PASS: TestAClosedCounterDoesNotGrow")
}

// TestGuaranteesNameTestsThatExist keeps the README's table from naming a test
// that was renamed or removed.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, named)

	var tests strings.Builder
	err = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		tests.Write(text)
		return err
	})
	require.NoError(t, err)
	for _, n := range named {
		if !strings.Contains(tests.String(), "func "+n[1]+"(t *testing.T)") {
			t.Errorf("README.md names %s, which no test file has", n[1])
		}
	}
}

// module makes dir a module that uses this checkout of the project.
func module(t *testing.T, dir string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	path, err := filepath.Abs(root)
	require.NoError(t, err)
	_, requirements, _ := strings.Cut(string(mod), "\n") // behind the module line
	requirements = regexp.MustCompile(`(?ms)^tool \(.*?^\)$|^tool [^(].*?$`).ReplaceAllString(requirements, "")
	text := "module demo\n" + requirements +
		"\nrequire github.com/wowgen/wow v0.0.0\nreplace github.com/wowgen/wow => " + path + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644))
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s%s", name, args, out, errs.String())
	return string(out)
}
