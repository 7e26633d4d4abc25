package gen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/source"
)

const shopDir = "../example/shop/domain"

// TestShopIsUpToDate holds the committed output of the example to what the
// generator writes now.
func TestShopIsUpToDate(t *testing.T) {
	r, err := gen.Run(gen.Config{Dir: abs(t, shopDir)})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Diagnostics {
		t.Errorf("%s: %s", d.Pos, d.Message)
	}
	for _, c := range r.Changes {
		t.Errorf("%s is out of date:\n%s", c.Path, c.Diff(c.Path))
	}
}

// TestYAMLGivesTheSameBytes declares the example once more in YAML, its
// directives taken away, and compares with the committed output.
func TestYAMLGivesTheSameBytes(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "example", "shop", "domain")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "go.mod"), "module github.com/wowgen/wow\n\ngo 1.26\n")
	directive := regexp.MustCompile(`(?m)^//wow:.*\n`)
	files, err := filepath.Glob(filepath.Join(shopDir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the example's files: %v, %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == source.GenName {
			continue
		}
		write(t, filepath.Join(dir, filepath.Base(file)), directive.ReplaceAllString(read(t, file), ""))
	}
	write(t, filepath.Join(dir, source.YAMLName), read(t, "testdata/shop.yaml"))
	r, err := gen.Run(gen.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Diagnostics {
		t.Errorf("%s: %s\n%s", d.Pos, d.Message, d.Fix)
	}
	got := map[string]string{}
	for _, c := range r.Changes {
		got[filepath.Base(c.Path)] = string(c.New)
	}
	for _, name := range []string{source.GenName, source.LockName} {
		if want := read(t, filepath.Join(shopDir, name)); got[name] != want {
			t.Errorf("%s from YAML differs from the one from Go, first at:\n%s", name, firstDifference(got[name], want))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer than the other"
}

func abs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
