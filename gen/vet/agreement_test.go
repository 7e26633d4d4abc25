package vet

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/output"
	"github.com/wowgen/wow/schema"
)

// roles are the handlers of packages, by import path and method: "saga", or
// "saga, blocking".
type roles map[string]map[string]string

func (r roles) add(pkg, method string, as role, blocking bool) {
	if r[pkg] == nil {
		r[pkg] = map[string]string{}
	}
	r[pkg][method] = string(as)
	if blocking {
		r[pkg][method] += ", blocking"
	}
}

// TestRolesAreTheGenerators holds that the analyzer, which knows types, takes
// the same methods for handlers as the generator, which reads syntax only: in
// the examples, in testdata, and in all scenarios of the generator. Nothing that
// was just generated may be called stale.
func TestRolesAreTheGenerators(t *testing.T) {
	root := t.TempDir()
	wow, err := filepath.Abs("../..")
	require.NoError(t, err)
	patterns := []string{wowPath + "/example/shop/domain", wowPath + "/example/transfer/domain"}
	for _, name := range []string{"blocking", "state", "replay", "order", "contexts", "fixes", "across", "clients", "stale", "ungenerated", "yaml"} {
		patterns = append(patterns, wowPath+"/gen/vet/testdata/"+name)
	}
	want := generatorRoles(t, wow, patterns)
	require.Len(t, want, len(patterns))

	files, err := filepath.Glob("../testdata/scenarios/ok-*.txtar")
	require.NoError(t, err)
	work := "go 1.26.0\n\nuse " + wow + "\n"
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if unpack(t, file, filepath.Join(root, name), "example.com/"+name) {
			work += "use ./" + name + "\n"
			patterns = append(patterns, "example.com/"+name+"/...")
			for pkg, methods := range generatorRoles(t, filepath.Join(root, name), []string{"./..."}) {
				want[pkg] = methods
			}
		}
	}
	require.Greater(t, len(want), 50)
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.work"), []byte(work), 0o600))
	got := analyzerRoles(t, root, wow, patterns)
	for pkg := range want {
		require.Equal(t, want[pkg], got[pkg], "handlers of %s", pkg)
	}
	require.Len(t, got, len(want))
}

// unpack writes a scenario as a module and generates its code. It tells false
// for those that set up modules of their own, or do not run over all packages.
func unpack(t *testing.T, file, dir, module string) bool {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	if bytes.Contains(archive.Comment, []byte("args:")) || bytes.Contains(archive.Comment, []byte("edit:")) {
		return false
	}
	files := map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n"}
	for _, f := range archive.Files {
		switch {
		case strings.HasSuffix(f.Name, "go.mod") || strings.HasSuffix(f.Name, "go.work"):
			return false
		case f.Name == "stderr" || f.Name == "stdout" || strings.HasPrefix(f.Name, "want/"):
		default:
			name, _ := strings.CutSuffix(f.Name, "@crlf")
			files[name] = strings.ReplaceAll(string(f.Data), "example.com/app", module)
		}
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	r, err := gen.Run(gen.Config{Dir: dir, Patterns: []string{"./..."}})
	require.NoError(t, err)
	require.False(t, r.Failed, "%s: %v", file, r.Diagnostics)
	require.NoError(t, output.Apply(r.Changes))
	return true
}

func generatorRoles(t *testing.T, dir string, patterns []string) roles {
	r, _, err := gen.Plan(gen.Config{Dir: dir, Patterns: patterns})
	require.NoError(t, err)
	all := roles{}
	for _, p := range r.Packages {
		for _, a := range p.Aggregates {
			for _, d := range a.Decides {
				typ := a.Type
				if d.On != nil {
					if typ = d.On.Type; d.On.Interface {
						continue // the user's methods are elsewhere
					}
				}
				all.add(p.Path, typ+"."+d.Method, decide, d.Blocking)
			}
			for _, e := range a.Applies {
				all.add(p.Path, a.Type+"."+e.Method, apply, false)
			}
		}
		for _, c := range p.Consumers {
			r := process
			if c.Kind == schema.Saga {
				r = saga
			}
			for _, f := range c.Functions {
				if !c.Interface {
					all.add(p.Path, c.Type+"."+f.Method, r, f.Blocking)
				}
			}
		}
	}
	return all
}

func analyzerRoles(t *testing.T, root, wow string, patterns []string) roles {
	pkgs, err := packages.Load(&packages.Config{
		Dir: root, Env: append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work")),
		// What is imported is read without the bodies of its functions: that is
		// faster than compiling packages which nobody has compiled before.
		Mode: packages.LoadAllSyntax,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err == nil && !strings.HasPrefix(name, root) && !strings.HasPrefix(name, wow) {
				for _, decl := range file.Decls {
					if f, ok := decl.(*ast.FuncDecl); ok {
						f.Body = nil
					}
				}
			}
			return file, err
		},
	}, patterns...)
	require.NoError(t, err)
	graph, err := checker.Analyze([]*analysis.Analyzer{{
		Name: "roles", Doc: "lists the handlers", ResultType: reflect.TypeFor[*model](),
		RunDespiteErrors: true, // an import that only bodies use is one
		Run:              func(pass *analysis.Pass) (any, error) { return newModel(pass), nil },
	}}, pkgs, nil)
	require.NoError(t, err)
	all := roles{}
	for _, action := range graph.Roots {
		require.NoError(t, action.Err)
		require.Empty(t, action.Package.Errors)
		for _, h := range action.Result.(*model).handlers {
			all.add(action.Package.PkgPath, h.name, h.role, h.declared || h.offload)
			if !strings.Contains(action.Package.PkgPath, "/testdata/") {
				require.True(t, h.called && (!h.declared || h.offload), "%s of %s is called stale", h.name, action.Package)
			}
		}
	}
	return all
}
