package gen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/output"
)

// module writes a module of packages with one aggregate each, and so many
// commands and events.
func module(b *testing.B, packages, commands int) string {
	b.Helper()
	root := b.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	file("go.mod", "module example.com/big\n\ngo 1.26\n")
	for p := range packages {
		dir := fmt.Sprintf("p%02d", p)
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			b.Fatal(err)
		}
		var s strings.Builder
		fmt.Fprintf(&s, "package %s\n\n//wow:aggregate context=%[1]s\ntype Box struct {\n\tID string `wow:\"key\"`\n\tN  int\n}\n", dir)
		for i := range commands {
			fmt.Fprintf(&s, `
// Cmd%[1]d is a command.
type Cmd%[1]d struct {
	ID      string `+"`wow:\"key\"`"+`
	A, B, C int
}

type Done%[1]d struct{ A, B, C int }

func (b *Box) Cmd%[1]d(cmd Cmd%[1]d) (Done%[1]d, error) {
	return Done%[1]d{cmd.A, cmd.B, cmd.C}, nil
}

func (b *Box) Done%[1]d(e Done%[1]d) { b.N += e.A }
`, i)
		}
		file(filepath.Join(dir, "a.go"), s.String())
	}
	return root
}

func run(b *testing.B, dir string) []*output.Change {
	r, err := gen.Run(gen.Config{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		b.Fatal(err)
	}
	if r.Failed {
		b.Fatalf("%+v", r.Diagnostics[0])
	}
	return r.Changes
}

func BenchmarkOnePackage(b *testing.B) {
	dir := module(b, 1, 11)
	for b.Loop() {
		run(b, dir)
	}
}

// Fifty packages with 22 handlers each.
func BenchmarkFiftyPackages(b *testing.B) {
	dir := module(b, 50, 11)
	for b.Loop() {
		run(b, dir)
	}
}

func BenchmarkFiftyPackagesUnchanged(b *testing.B) {
	dir := module(b, 50, 11)
	if err := output.Apply(run(b, dir)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n := len(run(b, dir)); n != 0 {
			b.Fatalf("%d changes", n)
		}
	}
}
