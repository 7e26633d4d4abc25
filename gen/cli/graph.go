package cli

import (
	"flag"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/graph"
)

var graphCommand = command{
	name: "graph", usage: "graph [-format=mermaid|dot|json] [patterns]", summary: "draw what follows from what",
	example: "wowgen graph ./... > flow.mmd\nwowgen graph -format=dot ./... | dot -Tsvg > flow.svg",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		format := fs.String("format", "mermaid", "mermaid, dot or json; loops are red, what nobody handles is dashed")
		return func(env Env, patterns []string) int {
			if err := checkFormat(*format, graph.Formats); err != nil {
				return usage(env, err)
			}
			r, code := planned(env, patterns)
			if r == nil {
				return code
			}
			if err := graph.New(r.Packages).Write(env.Stdout, *format); err != nil {
				return fail(env, err)
			}
			return Fine
		}
	},
}

// planned plans packages for a command that only asks. Mistakes are printed,
// and end it; warnings are generate's business.
func planned(env Env, patterns []string) (*gen.Result, int) {
	r, found, err := gen.Plan(gen.Config{Dir: env.Dir, Patterns: patterns})
	if err != nil {
		return nil, fail(env, err)
	}
	if !found.HasErrors() {
		return r, Fine
	}
	var errors []diag.Diagnostic
	for _, d := range found.Sorted() {
		if d.Severity == diag.Error {
			errors = append(errors, d)
		}
	}
	if err := print(env, "text", errors); err != nil {
		return nil, fail(env, err)
	}
	return nil, Problems
}
