package vet

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/schema"
)

// TestRolesAreTheGenerators holds that the analyzer, which knows types, takes
// the same methods for handlers as the generator, which reads syntax only.
func TestRolesAreTheGenerators(t *testing.T) {
	for _, pattern := range []string{
		"example/shop/domain", "gen/vet/testdata/blocking", "gen/vet/testdata/state", "gen/vet/testdata/replay",
		"gen/vet/testdata/order", "gen/vet/testdata/contexts", "gen/vet/testdata/fixes", "gen/vet/testdata/across",
		"gen/vet/testdata/stale", "gen/vet/testdata/ungenerated", "gen/vet/testdata/yaml",
	} {
		t.Run(pattern, func(t *testing.T) {
			require.Equal(t, generatorRoles(t, pattern), analyzerRoles(t, pattern))
		})
	}
}

func generatorRoles(t *testing.T, pattern string) map[string]string {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	r, _, err := gen.Plan(gen.Config{Dir: root, Patterns: []string{"./" + pattern}})
	require.NoError(t, err)
	roles := map[string]string{}
	add := func(typ string, c schema.Call, r role) {
		roles[typ+"."+c.Method] = string(r)
		if c.Blocking {
			roles[typ+"."+c.Method] += ", blocking"
		}
	}
	for _, p := range r.Packages {
		for _, a := range p.Aggregates {
			for _, d := range a.Decides {
				typ := a.Type
				if d.On != nil {
					typ = d.On.Type
				}
				add(typ, d.Call, decide)
			}
			for _, e := range a.Applies {
				add(a.Type, e.Call, apply)
			}
		}
		for _, c := range p.Consumers {
			r := process
			if c.Kind == schema.Saga {
				r = saga
			}
			for _, f := range c.Functions {
				add(c.Type, f.Call, r)
			}
		}
	}
	require.NotEmpty(t, roles)
	return roles
}

func analyzerRoles(t *testing.T, pattern string) map[string]string {
	pkgs, err := packages.Load(&packages.Config{Dir: "../..", Mode: packages.LoadSyntax | packages.NeedModule}, "./"+pattern)
	require.NoError(t, err)
	graph, err := checker.Analyze([]*analysis.Analyzer{{
		Name: "roles", Doc: "lists the handlers", ResultType: reflect.TypeFor[*model](),
		Run: func(pass *analysis.Pass) (any, error) { return newModel(pass), nil },
	}}, pkgs, nil)
	require.NoError(t, err)
	roles := map[string]string{}
	for _, action := range graph.Roots {
		require.NoError(t, action.Err)
		for _, h := range action.Result.(*model).handlers {
			roles[h.name] = string(h.role)
			if h.blocking() {
				roles[h.name] += ", blocking"
			}
		}
	}
	return roles
}
