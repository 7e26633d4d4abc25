package cli

import (
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/wowgen/wow/gen/emit"
	"github.com/wowgen/wow/schema"
)

var directivesCommand = command{
	name: "directives", usage: "directives [name]", summary: "what can be declared, and how",
	example: "wowgen directives retry",
	flags: func(*flag.FlagSet) func(Env, []string) int {
		return func(env Env, args []string) int {
			if len(args) == 0 {
				listDirectives(env.Stdout)
				return Fine
			}
			if len(args) > 1 {
				return usage(env, fmt.Errorf("directives takes one name"))
			}
			name := strings.TrimPrefix(strings.TrimPrefix(args[0], "//"), "wow:")
			d, ok := schema.Lookup(name)
			if !ok {
				err := fmt.Errorf("there is no directive %q", name)
				if similar := schema.Suggest(name, schema.DirectiveNames()); similar != "" {
					err = fmt.Errorf("there is no directive %q, did you mean %s?", name, similar)
				}
				return usage(env, err)
			}
			describe(env.Stdout, d)
			return Fine
		}
	},
}

func listDirectives(w io.Writer) {
	for i := range schema.Directives {
		d := &schema.Directives[i]
		fmt.Fprintf(w, "%-18s %s\n", "//wow:"+d.Name, d.Summary)
	}
	fmt.Fprintf(w, "\nField tags: ")
	for i, t := range schema.FieldTags {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprintf(w, "`wow:%q`", t)
	}
	fmt.Fprint(w, "\nwowgen directives NAME tells all about one.\n")
}

// describe writes all that the table says about a directive.
func describe(w io.Writer, d *schema.Directive) {
	fmt.Fprintf(w, "%s\n\nOn %s: %s.\n\n%s\n", d.Usage(), d.On, d.Summary, d.Doc)
	args := d.Args
	if d.Positional != nil {
		args = append([]schema.Arg{*d.Positional}, args...)
	}
	if len(args) > 0 {
		fmt.Fprintln(w)
	}
	for i := range args {
		a := &args[i]
		fmt.Fprintf(w, "  %-26s %s", a.Usage(), a.Summary)
		if a.Default != "" {
			fmt.Fprintf(w, " (default: %s)", a.Default)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nExample:\n\n%s\n", indent(d.Example))
}

var schemaCommand = command{
	name: "schema", usage: "schema", summary: "print the JSON Schema of wow.yaml",
	example: "wowgen schema > wow.schema.json",
	flags: func(*flag.FlagSet) func(Env, []string) int {
		return func(env Env, args []string) int {
			if len(args) > 0 {
				return usage(env, fmt.Errorf("schema takes no arguments"))
			}
			if _, err := env.Stdout.Write(schema.JSONSchema()); err != nil {
				return fail(env, err)
			}
			return Fine
		}
	},
}

var versionCommand = command{
	name: "version", usage: "version", summary: "print the version of wowgen, and the format it writes",
	example: "wowgen version",
	flags: func(*flag.FlagSet) func(Env, []string) int {
		return func(env Env, args []string) int {
			if len(args) > 0 {
				return usage(env, fmt.Errorf("version takes no arguments"))
			}
			version := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok {
				if info.Main.Path == "github.com/wowgen/wow" {
					version = info.Main.Version
				}
				for _, dep := range info.Deps {
					if dep.Path == "github.com/wowgen/wow" {
						version = dep.Version
					}
				}
			}
			fmt.Fprintf(env.Stdout, "wowgen %s, format %d\n", version, emit.Format)
			return Fine
		}
	},
}
