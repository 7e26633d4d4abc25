// Package lint holds the rules of the architecture as tests. Each failure says
// what to do instead.
package lint

import (
	"bufio"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/wowgen/wow"

// layers lists what each part of the module may import of the module and of
// others. The longest matching folder counts; tests may import more. Only the
// standard library is always allowed.
var layers = map[string][]string{
	"executor":         {},
	".":                {"executor"},
	"runtime/store":    {".", "runtime/store"},
	"runtime/memory":   {".", "runtime/store", "internal/bell", "internal/leases", "github.com/google/uuid"},
	"runtime/sqlite":   {".", "runtime/store/...", "internal/...", "modernc.org/sqlite/...", "github.com/google/uuid"},
	"runtime/postgres": {".", "runtime/store/...", "internal/...", "github.com/jackc/pgx/v5/...", "github.com/google/uuid"},
	"runtime/view":     {".", "internal/retried"},
	"runtime/bus":      {"."},
	"runtime/bustest":  {"runtime/bus", "github.com/stretchr/testify/..."},
	"runtime/kafka":    {"runtime/bus", "github.com/twmb/franz-go/..."},
	"runtime/ctl":      {".", "runtime", "runtime/store"},
	"runtime/storetest": {".", "runtime/store/...", "runtime/memory",
		"github.com/stretchr/testify/...", "pgregory.net/rapid", "github.com/google/uuid"},
	"runtime/wowtest": {".", "runtime", "runtime/store/...", "runtime/memory", "github.com/stretchr/testify/..."},
	"runtime":         {".", "executor", "runtime/store", "runtime/memory", "runtime/bus", "internal/retried", "github.com/google/uuid", "gopkg.in/yaml.v3", "google.golang.org/protobuf/..."},
	"schema":          {},
	"templates":       {},
	"gen": {"schema", "templates", "gen/...", "internal/...",
		"github.com/dave/jennifer/...", "github.com/rogpeppe/go-internal/diff", "golang.org/x/mod/...", "gopkg.in/yaml.v3", "golang.org/x/tools/..."},
	"cmd":     {"gen/...", "runtime/...", "schema", "."},
	"example": {".", "runtime/...", "example/..."},
}

// TestImportsPointDown keeps example -> generated -> runtime -> wow -> executor
// and cmd -> gen -> schema.
func TestImportsPointDown(t *testing.T) {
	eachGoFile(t, func(t *testing.T, name string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		layer, allowed := layerOf(path.Dir(name))
		if layer == "" {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if !strings.Contains(strings.Split(imported, "/")[0], ".") {
				continue // the standard library
			}
			if rest, ours := strings.CutPrefix(imported+"/", module+"/"); ours {
				imported = path.Clean(rest)
			}
			if imported == path.Dir(name) || matches(imported, allowed) {
				continue
			}
			t.Errorf("%s imports %s: %s may import only %v. Move the code down, or state the reason for a new direction in layers",
				name, imported, layer, allowed)
		}
	})
}

// TestFilesAreShort keeps one reason to exist per file.
func TestFilesAreShort(t *testing.T) {
	const limit = 600
	eachGoFile(t, func(t *testing.T, name string) {
		if strings.HasSuffix(name, "_gen.go") {
			return
		}
		if n := len(lines(t, name)); n > limit {
			t.Errorf("%s has %d lines, the limit is %d: split it by story", name, n, limit)
		}
	})
}

// TestForbiddenWords keeps a few calls out of places where they have cost us.
func TestForbiddenWords(t *testing.T) {
	rules := []struct {
		word, instead string
		where         func(name string) bool
	}{
		{"atomic.AddInt", "use the typed atomics, as in atomic.Int64", anywhere},
		{"atomic.LoadInt", "use the typed atomics, as in atomic.Int64", anywhere},
		{"atomic.StoreInt", "use the typed atomics, as in atomic.Int64", anywhere},
		{"require.Eventually", "wait on a channel, or use a synctest bubble", anywhere},
		{"assert.Eventually", "wait on a channel, or use a synctest bubble", anywhere},
		{"panic(\"unfinished", "finish it", anywhere},
		{"func init()", "no work at import: construct it where it is used", func(name string) bool {
			return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "bench/")
		}},
	}
	eachGoFile(t, func(t *testing.T, name string) {
		if strings.HasPrefix(name, "internal/lint/") {
			return
		}
		for i, line := range lines(t, name) {
			for _, r := range rules {
				if r.where(name) && strings.Contains(line, r.word) {
					t.Errorf("%s:%d: %s: %s", name, i+1, r.word, r.instead)
				}
			}
		}
	})
}

const root = "../.."

func anywhere(string) bool { return true }

func layerOf(dir string) (layer string, allowed []string) {
	for d := dir; ; d = path.Dir(d) {
		if allowed, ok := layers[d]; ok && (d != "." || dir == ".") {
			return d, allowed
		}
		if d == "." {
			return "", nil
		}
	}
}

func matches(imported string, allowed []string) bool {
	for _, a := range allowed {
		if prefix, all := strings.CutSuffix(a, "/..."); all && (imported == prefix || strings.HasPrefix(imported, prefix+"/")) {
			return true
		}
		if imported == a {
			return true
		}
	}
	return false
}

// eachGoFile calls f with the path of every Go file of the project, from the
// root, test data and other people's code left out.
func eachGoFile(t *testing.T, f func(t *testing.T, name string)) {
	t.Helper()
	n := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "vendor" || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			n++
			f(t, name)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, n, 10, "the walk saw hardly any file")
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(filepath.Join(root, name))
	require.NoError(t, err)
	defer file.Close()
	var all []string
	for s := bufio.NewScanner(file); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}
