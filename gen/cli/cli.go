// Package cli is the commands of wowgen: flags, formats and exit codes around
// package gen.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Exit codes.
const (
	Fine     = 0
	Problems = 1 // in the input
	Usage    = 2
	Drift    = 3 // of the output, with -check
)

// Env is what a command sees of the world.
type Env struct {
	Dir    string // working directory
	Stdout io.Writer
	Stderr io.Writer
}

// command is one word of the command line.
type command struct {
	name    string
	usage   string
	summary string
	example string
	flags   func(fs *flag.FlagSet) func(env Env, args []string) int
}

// commands are listed in the order of the help.
func commands() []command {
	return []command{
		generateCommand, initCommand, explainCommand, graphCommand, vetCommand, compatCommand, directivesCommand,
		schemaCommand, cleanCommand, versionCommand,
	}
}

// Main runs one command line and returns the exit code.
func Main(env Env, args []string) int {
	c, rest, ok := pick(env, args)
	if !ok {
		return Usage
	}
	if c == nil {
		help(env.Stdout)
		return Fine
	}
	return c.run(env, rest)
}

// pick finds the command that is meant: the first word, or generate when that
// is a flag or a pattern.
func pick(env Env, args []string) (*command, []string, bool) {
	all := commands()
	if len(args) == 0 {
		return &all[0], nil, true
	}
	word := args[0]
	switch word {
	case "help", "-h", "-help", "--help":
		if word == "help" && len(args) > 1 {
			return pick(env, []string{args[1], "-h"})
		}
		return nil, nil, true
	case "-version", "--version":
		word = "version"
	}
	var names []string
	for i := range all {
		if all[i].name == word {
			return &all[i], args[1:], true
		}
		names = append(names, all[i].name)
	}
	if strings.HasPrefix(word, "-") || strings.ContainsAny(word, "./\\") {
		return &all[0], args, true
	}
	fmt.Fprintf(env.Stderr, "wowgen: there is no command %q", word)
	if similar := schema.Suggest(word, names); similar != "" {
		fmt.Fprintf(env.Stderr, ", did you mean %s?", similar)
	}
	fmt.Fprintf(env.Stderr, "\nA directory is written ./%s. wowgen -h lists the commands.\n", word)
	return nil, nil, false
}

func help(w io.Writer) {
	fmt.Fprint(w, "wowgen turns annotated Go types, or a wow.yaml, into typed dispatchers.\n\nUsage:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-52s %s\n", "wowgen "+c.usage, c.summary)
	}
	fmt.Fprint(w, `
Patterns are as in the go command: ./... is this directory and all below it;
the default is the directory itself.

Exit codes: 0 fine, 1 problems in the input, 2 usage, 3 the output has drifted.
Write wowgen COMMAND -h for its flags and an example.
`)
}

// run parses a command's flags, which may stand among its arguments.
func (c *command) run(env Env, args []string) int {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	do := c.flags(fs)
	var rest []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			c.help(env.Stdout, fs)
			return Fine
		}
		if err != nil {
			fmt.Fprintf(env.Stderr, "wowgen %s: %v\n", c.name, err)
			var names []string
			fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
			if _, name, ok := strings.Cut(err.Error(), "not defined: -"); ok {
				if similar := schema.Suggest(name, names); similar != "" {
					fmt.Fprintf(env.Stderr, "Did you mean -%s?\n", similar)
				}
			}
			fmt.Fprintf(env.Stderr, "wowgen %s -h lists its flags.\n", c.name)
			return Usage
		}
		if fs.NArg() == 0 {
			break
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
	return do(env, rest)
}

func (c *command) help(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "wowgen %s: %s\n\nUsage:\n\n  wowgen %s\n", c.name, c.summary, c.usage)
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(w, "\nFlags:\n\n")
			first = false
		}
		fmt.Fprintf(w, "  -%-10s %s\n", f.Name, f.Usage)
	})
	fmt.Fprintf(w, "\nExample:\n\n%s\n", indent(c.example))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// usage reports an error of the command line.
func usage(env Env, err error) int {
	fmt.Fprintln(env.Stderr, "wowgen:", err)
	return Usage
}

// fail reports an error that is neither usage nor input: a disk that is full.
func fail(env Env, err error) int {
	if e := (*source.UsageError)(nil); errors.As(err, &e) {
		return usage(env, err)
	}
	fmt.Fprintln(env.Stderr, "wowgen:", err)
	return Problems
}

// formats are how diagnostics can be written.
var formats = []string{"text", "json", "github"}

func checkFormat(format string, known []string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("-format=%s: write one of %s", format, strings.Join(known, ", "))
}

// print writes diagnostics in the format that was asked for.
func print(env Env, format string, found []diag.Diagnostic) error {
	p := &diag.Printer{Dir: env.Dir}
	switch format {
	case "json":
		return p.JSON(env.Stdout, found)
	case "github":
		return p.GitHub(env.Stdout, found)
	}
	return p.Text(env.Stderr, found)
}
