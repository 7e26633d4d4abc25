package cli

import (
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/output"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
	"github.com/wowgen/wow/templates"
)

var initCommand = command{
	name: "init", usage: "init [-yaml] DIR", summary: "write a package that compiles, runs and has a test",
	example: "wowgen init ./tasks\ngo test ./tasks/...\ngo run ./tasks/cmd/tasks",
	flags: func(fs *flag.FlagSet) func(Env, []string) int {
		yaml := fs.Bool("yaml", false, "declare in wow.yaml instead of directives")
		return func(env Env, args []string) int {
			if len(args) != 1 {
				return usage(env, errors.New("init takes one directory"))
			}
			return scaffold(env, args[0], *yaml)
		}
	},
}

// scaffold writes a new package and generates for it. It touches no file that
// exists.
func scaffold(env Env, name string, yaml bool) int {
	dir := name
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, filepath.FromSlash(name))
	}
	mod, err := moduleAbove(dir)
	if err != nil {
		return usage(env, fmt.Errorf("init %s: %w", name, err))
	}
	pkg := packageName(filepath.Base(dir))
	data := templates.Data{Package: pkg, Context: schema.Snake(pkg), Import: mod.PathOf(dir)}
	files, err := templates.Scaffold(yaml, data)
	if err != nil {
		return fail(env, err)
	}
	var changes []*output.Change
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return usage(env, fmt.Errorf("init %s: %s exists already, and is left alone", name, rel(env, path)))
		}
		changes = append(changes, &output.Change{Path: path, New: f.Data})
	}
	for _, c := range changes {
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
			return fail(env, err)
		}
	}
	if err := output.Apply(changes); err != nil {
		return fail(env, err)
	}
	r, err := gen.Run(gen.Config{Dir: dir})
	if err != nil {
		return fail(env, err)
	}
	if len(r.Diagnostics) > 0 {
		if err := print(env, "text", r.Diagnostics); err != nil {
			return fail(env, err)
		}
		return Problems
	}
	if err := output.Apply(r.Changes); err != nil {
		return fail(env, err)
	}
	for _, c := range append(changes, r.Changes...) {
		fmt.Fprintf(env.Stdout, "create %s\n", rel(env, c.Path))
	}
	at := "./" + rel(env, dir)
	fmt.Fprintf(env.Stdout, "\nNext:\n\n  go get -tool github.com/wowgen/wow/cmd/wowgen   # once for the module\n  go test %s/...\n  go run %s/cmd/%s\n", at, at, pkg)
	return Fine
}

// moduleAbove finds the module of a directory that need not exist yet.
func moduleAbove(dir string) (*source.Module, error) {
	at := dir
	for {
		if info, err := os.Stat(at); err == nil {
			if !info.IsDir() {
				return nil, fmt.Errorf("%s is a file", at)
			}
			return (&source.Modules{}).Of(at)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil, errors.New("no such directory")
		}
		at = parent
	}
}

// packageName makes a package name of a directory's.
func packageName(base string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(base))
	name = strings.TrimLeft(name, "0123456789")
	if !token.IsIdentifier(name) || name == "main" {
		return "tasks"
	}
	return name
}
