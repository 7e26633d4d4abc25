package cli

import (
	"flag"
	"fmt"

	"github.com/wowgen/wow/gen/vet"
)

var vetCommand = command{
	name: "vet", usage: "vet [flags] [patterns]", summary: "report handlers that block, change state while deciding, or cannot be replayed",
	example: "wowgen vet ./...\ngo vet -vettool=$(go tool -n wowvet) ./...    # the same, cached, with -fix",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		format := fs.String("format", "text", "of diagnostics: text, json or github")
		return func(env Env, patterns []string) int {
			if err := checkFormat(*format, formats); err != nil {
				return usage(env, err)
			}
			found, err := vet.Run(env.Dir, patterns...)
			if err != nil {
				return fail(env, fmt.Errorf("vet: %w", err))
			}
			if len(found) > 0 || *format == "json" {
				if err := print(env, *format, found); err != nil {
					return fail(env, err)
				}
			}
			if len(found) > 0 {
				return Problems
			}
			return Fine
		}
	},
}
