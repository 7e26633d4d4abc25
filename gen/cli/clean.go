package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wowgen/wow/gen/output"
	"github.com/wowgen/wow/gen/source"
)

var cleanCommand = command{
	name: "clean", usage: "clean [-n] [patterns]", summary: "remove outputs of ours that nobody has edited",
	example: "wowgen clean ./...",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		dry := fs.Bool("n", false, "say what would be removed, remove nothing")
		return func(env Env, patterns []string) int { return clean(env, patterns, *dry) }
	},
}

// clean removes generated Go files. The lock file stays: it is no output that
// could be made again.
func clean(env Env, patterns []string, dry bool) int {
	inputs, err := (&source.Modules{}).Match(env.Dir, patterns)
	if err != nil {
		return fail(env, err)
	}
	var changes []*output.Change
	for _, in := range inputs {
		entries, err := os.ReadDir(in.Dir)
		if err != nil {
			return fail(env, err)
		}
		for _, entry := range entries {
			if !entry.IsDir() && strings.HasPrefix(entry.Name(), output.TempPrefix) {
				changes = append(changes, &output.Change{Path: filepath.Join(in.Dir, entry.Name())})
			}
		}
		for _, name := range []string{source.GenName, source.TypesName} {
			path := filepath.Join(in.Dir, name)
			old, err := output.Read(path)
			if err != nil {
				return fail(env, err)
			}
			switch output.Inspect(old) {
			case output.Intact:
				changes = append(changes, &output.Change{Path: path, Old: old})
			case output.Edited, output.Broken:
				fmt.Fprintf(env.Stderr, "%s: left alone, it was edited by hand\n", rel(env, path))
			case output.Foreign:
				fmt.Fprintf(env.Stderr, "%s: left alone, it is not ours\n", rel(env, path))
			}
		}
	}
	for _, c := range changes {
		fmt.Fprintf(env.Stdout, "remove %s\n", rel(env, c.Path))
	}
	if dry {
		return Fine
	}
	if err := output.Apply(changes); err != nil {
		return fail(env, err)
	}
	return Fine
}
