package cli

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/output"
)

var generateCommand = command{
	name: "generate", usage: "[generate] [flags] [patterns]", summary: "write what the declarations ask for",
	example: "wowgen ./...           # generate for all packages of the module\nwowgen -check ./...    # in CI: print what has drifted, exit 3",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		g := &generate{}
		fs.BoolVar(&g.check, "check", false, "print a unified diff of what is out of date, exit 3, write nothing")
		fs.BoolVar(&g.dry, "n", false, "say what would be written, write nothing")
		fs.BoolVar(&g.strict, "strict", false, "take warnings for errors")
		fs.BoolVar(&g.watching, "watch", false, "generate again whenever the input changes, until interrupted")
		fs.BoolVar(&g.verbose, "v", false, "say what is written, and what is left alone")
		fs.StringVar(&g.format, "format", "text", "of diagnostics: text, json or github")
		return g.run
	},
}

type generate struct {
	check, dry, strict, verbose, watching bool
	format                                string
}

func (g *generate) run(env Env, patterns []string) int {
	if err := checkFormat(g.format, formats); err != nil {
		return usage(env, err)
	}
	if g.watching {
		if g.check || g.dry {
			return usage(env, errors.New("-watch writes: it does not go with -check or -n"))
		}
		return g.watch(env, patterns)
	}
	return g.once(env, patterns)
}

// once generates one time.
func (g *generate) once(env Env, patterns []string) int {
	r, err := gen.Run(gen.Config{Dir: env.Dir, Patterns: patterns, Strict: g.strict, Checking: g.check})
	if err != nil {
		return fail(env, err)
	}
	if len(r.Diagnostics) > 0 || g.format == "json" {
		if err := print(env, g.format, r.Diagnostics); err != nil {
			return fail(env, err)
		}
	}
	if r.Failed {
		return Problems
	}
	if g.verbose {
		for _, p := range r.Packages {
			if p.Empty() {
				fmt.Fprintf(env.Stderr, "%s: nothing is annotated\n", rel(env, p.Dir))
			}
		}
	}
	switch {
	case g.check:
		return drift(env, r.Changes, patterns)
	case g.dry:
		for _, c := range r.Changes {
			fmt.Fprintf(env.Stdout, "%s %s\n", c.Verb(), rel(env, c.Path))
		}
		return Fine
	}
	if err := output.Apply(r.Changes); err != nil {
		return fail(env, err)
	}
	if g.verbose {
		for _, c := range r.Changes {
			fmt.Fprintf(env.Stderr, "%s %s\n", c.Verb(), rel(env, c.Path))
		}
	}
	return Fine
}

// drift says which files are out of date, then prints the diff. What to do
// stands before it and again behind it: a reader of a log begins at either end.
func drift(env Env, changes []*output.Change, patterns []string) int {
	if len(changes) == 0 {
		return Fine
	}
	are := fmt.Sprintf("%d files are", len(changes))
	if len(changes) == 1 {
		are = "1 file is"
	}
	summary := fmt.Sprintf("wowgen: %s out of date: run wowgen%s\n", are, spaced(patterns))
	fmt.Fprint(env.Stderr, summary)
	for _, c := range changes {
		note := ""
		if c.Edited {
			note = ": it was edited by hand; move the edit to a file of your own and remove it first"
		}
		fmt.Fprintf(env.Stderr, "  %s %s%s\n", c.Verb(), rel(env, c.Path), note)
	}
	for _, c := range changes {
		if _, err := env.Stdout.Write(c.Diff(rel(env, c.Path))); err != nil {
			return fail(env, err)
		}
	}
	fmt.Fprint(env.Stderr, summary)
	return Drift
}

func rel(env Env, path string) string {
	r, err := filepath.Rel(env.Dir, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(r)
}

func spaced(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}
