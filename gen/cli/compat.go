package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/wowgen/wow/gen/compat"
	"github.com/wowgen/wow/gen/diag"
)

var compatCommand = command{
	name: "compat", usage: "compat [flags] OLD_LOCK [patterns]", summary: "report what an older release, or what it stored, would not understand",
	example: "git show v1.4.0:shop/wow.lock.json | wowgen compat - ./shop",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		format := fs.String("format", "text", "of diagnostics: text, json or github")
		strict := fs.Bool("strict", false, "take warnings for errors")
		return func(env Env, args []string) int {
			if err := checkFormat(*format, formats); err != nil {
				return usage(env, err)
			}
			if len(args) == 0 {
				return usage(env, errors.New("compat: name the wow.lock.json of the older release, or - to read it from the input"))
			}
			name, lock, err := readLock(env, args[0])
			if err != nil {
				return usage(env, fmt.Errorf("compat: %w", err))
			}
			found, err := compat.Check(compat.Config{Dir: env.Dir, Name: name, Lock: lock, Patterns: args[1:]})
			if err != nil {
				return fail(env, err)
			}
			if *strict {
				for i := range found {
					found[i].Severity = diag.Error
				}
			}
			if len(found) > 0 || *format == "json" {
				if err := print(env, *format, found); err != nil {
					return fail(env, err)
				}
			}
			if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
				return Problems
			}
			return Fine
		}
	},
}

// readLock reads the lock file of an older release.
func readLock(env Env, arg string) (name string, data []byte, err error) {
	if arg == "-" {
		data, err = io.ReadAll(os.Stdin)
		return "stdin", data, err
	}
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(env.Dir, arg)
	}
	data, err = os.ReadFile(arg)
	return filepath.ToSlash(arg), data, err
}
