package gen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/source"
)

// imported are the packages that generated code and the scenarios import,
// loaded once.
var imported = sync.OnceValues(func() (importer, error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports},
		"github.com/wowgen/wow", "github.com/wowgen/wow/runtime", "context", "time", "database/sql/driver")
	if err != nil {
		return nil, err
	}
	known := importer{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		known[p.PkgPath] = p.Types
	}
	return known, nil
})

type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not loaded", path)
}

// check type-checks the files of one package.
func (i importer) check(files map[string]string) error {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for name, src := range files {
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	conf := types.Config{Importer: i}
	_, err := conf.Check("example.com/app", fset, parsed, nil)
	return err
}

// compiles holds what is generated for a package that compiles on its own to
// the compiler. It reports whether there was anything to hold.
func compiles(t *testing.T, src string) bool {
	t.Helper()
	known, err := imported()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.go": src}
	if known.check(files) != nil {
		return false
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/app\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "a.go"), src)
	r, err := gen.Run(gen.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed {
		return false
	}
	for _, c := range r.Changes {
		if base := filepath.Base(c.Path); base == source.GenName {
			files[base] = string(c.New)
		}
	}
	if err := known.check(files); err != nil {
		t.Errorf("the output does not compile: %v\n%s\n%s", err, src, files[source.GenName])
	}
	return len(files) > 1
}
