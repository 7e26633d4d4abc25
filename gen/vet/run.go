package vet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/packages"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
)

// Run vets the packages that the patterns match, seen from dir. Without
// patterns it is the package in dir.
//
// Packages of the same module that those import are read with them, so that
// chains of calls can be followed into them; for all others the compiler's
// export data is enough. The findings are sorted by position. An error means
// that the packages cannot be loaded or do not compile; a [source.UsageError],
// that a pattern matches nothing.
func Run(dir string, patterns ...string) ([]diag.Diagnostic, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	wanted, paths, err := closure(dir, patterns)
	if err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule}, paths...)
	if err != nil {
		return nil, fmt.Errorf("loading the packages: %w", err)
	}
	if err := compiles(pkgs); err != nil {
		return nil, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, pkgs, nil)
	if err != nil {
		return nil, err
	}
	var all diag.List
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("vetting %s: %w", action.Package.PkgPath, action.Err)
		}
		if wanted[action.Package.PkgPath] {
			all.AddAll(action.Result.([]diag.Diagnostic))
		}
	}
	return all.Sorted(), nil
}

// closure lists the packages that the patterns match, and those together with
// all that they import of their module.
func closure(dir string, patterns []string) (wanted map[string]bool, paths []string, err error) {
	const mode = packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: mode}, patterns...)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the packages: %w", err)
	}
	if len(pkgs) == 0 {
		return nil, nil, &source.UsageError{Pattern: strings.Join(patterns, " "), Reason: "it matches no packages"}
	}
	wanted = map[string]bool{}
	for _, p := range pkgs {
		if p.Name == "" && len(p.Errors) > 0 {
			return nil, nil, &source.UsageError{Pattern: p.PkgPath, Reason: p.Errors[0].Msg}
		}
		wanted[p.PkgPath] = true
	}
	read := map[string]bool{}
	packages.Visit(pkgs, func(p *packages.Package) bool {
		if p.Module != nil && p.Module.Version == "" && !ours(p.PkgPath) || wanted[p.PkgPath] {
			read[p.PkgPath] = true
			return true
		}
		return false
	}, nil)
	return wanted, slices.Sorted(maps.Keys(read)), nil
}

// compiles reports what keeps packages from being understood.
func compiles(pkgs []*packages.Package) error {
	var all []error
	for _, p := range pkgs {
		for _, e := range p.Errors {
			all = append(all, e)
		}
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("the packages do not compile; run wowgen, then go build:\n%w", errors.Join(all...))
}

// Tool is the main function of a tool for go vet -vettool. It does not return.
func Tool() { unitchecker.Main(Analyzer) }
