package gen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime"
)

// offers are the structs by which generated code tells a runtime what was
// declared.
var offers = []any{
	wow.CommandType{}, wow.EventType{}, wow.StateType{},
	runtime.Aggregate{}, runtime.CommandHandler{}, runtime.Function{}, runtime.Retry{},
	runtime.Processor{}, runtime.Projection{}, runtime.Saga{}, runtime.Transaction{},
}

// Everything that a runtime can be told can be declared, in Go and in YAML: some
// scenario of each kind writes it.
func TestAllThatARuntimeOffersCanBeDeclared(t *testing.T) {
	written := map[bool]map[string]bool{false: {}, true: {}} // from YAML: "Projection.Serial"
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		yaml := slices.ContainsFunc(a.Files, func(f txtar.File) bool { return strings.HasSuffix(f.Name, ".yaml") })
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, "want/") && strings.HasSuffix(f.Name, "/wow_gen.go") {
				fieldsSet(f.Data, written[yaml])
			}
		}
	}
	for _, offer := range offers {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(offer)) {
			name := reflect.TypeOf(offer).Name() + "." + f.Name
			for _, yaml := range []bool{false, true} {
				if f.IsExported() && !written[yaml][name] {
					t.Errorf("%s: no scenario writes it (from YAML: %t)", name, yaml)
				}
			}
		}
	}
}

// fieldsSet notes the fields that composite literals of a file set.
func fieldsSet(src []byte, set map[string]bool) {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return // a scenario about a file that is broken
	}
	note := func(typ ast.Expr, lit *ast.CompositeLit) {
		if sel, ok := typ.(*ast.SelectorExpr); ok {
			for _, e := range lit.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					set[sel.Sel.Name+"."+pair.Key.(*ast.Ident).Name] = true
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		note(lit.Type, lit)
		if list, ok := lit.Type.(*ast.ArrayType); ok {
			for _, e := range lit.Elts {
				if inner, ok := e.(*ast.CompositeLit); ok {
					note(list.Elt, inner)
				}
			}
		}
		return true
	})
}

// The same declarations give the same bytes.
func TestGoAndYAMLAreOne(t *testing.T) {
	var want [2]string
	for i, name := range []string{"ok-everything", "ok-everything-yaml"} {
		a, err := txtar.ParseFile(filepath.Join("testdata/scenarios", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		want[i] = string(a.Files[len(a.Files)-1].Data)
	}
	if want[0] == "" || want[0] != want[1] {
		t.Errorf("they differ, first at:\n%s", firstDifference(want[1], want[0]))
	}
}
