package gen_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/wowgen/wow/gen/cli"
)

var update = flag.Bool("update", false, "rewrite what the scenarios expect; look at the diff before you commit it")

// A scenario is one txtar file of testdata/scenarios. Its comment says what it
// is about, and may hold lines of the form
//
//	args: -check ./...   (of wowgen; the default is ./...)
//	exit: 3              (the exit code; the default is 0)
//	edit: yes            (the output need not compile)
//
// Its files are the input. Three kinds of names are expectations:
//
//	stderr, stdout   what is printed, exactly; a missing one is empty
//	want/F           what the file F holds afterwards; "gone\n" when there is none
//
// The module is example.com/app. Everything that was generated without an
// error is compiled and vetted, all scenarios together.
type scenario struct {
	name    string
	archive *txtar.Archive
	args    []string
	exit    int
	dir     string
	compile bool
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	root := t.TempDir()
	var compiled []*scenario
	for _, file := range files {
		s := open(t, file, root)
		t.Run(s.name, func(t *testing.T) { s.run(t, file) })
		if s.compile {
			compiled = append(compiled, s)
		}
	}
	t.Run("compile", func(t *testing.T) { compile(t, root, compiled) })
}

func open(t *testing.T, file, root string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), archive: archive, args: []string{"./..."}}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "args":
			s.args = strings.Fields(value)
		case "exit":
			if s.exit, err = strconv.Atoi(value); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.dir = filepath.Join(root, s.name)
	s.compile = s.exit == 0 && !strings.Contains(string(archive.Comment), "\nedit: yes") && (len(s.args) == 0 || s.args[len(s.args)-1] == "./...") && !slices.Contains(s.args, "-n")
	return s
}

// module is the scenario's own module path, so that all can be compiled in one
// workspace; expectations are written with example.com/app.
func (s *scenario) module() string { return "example.com/" + s.name }

func (s *scenario) expectation(name string) bool {
	return name == "stderr" || name == "stdout" || strings.HasPrefix(name, "want/")
}

func (s *scenario) run(t *testing.T, file string) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == "go.mod" }) {
		write(t, filepath.Join(s.dir, "go.mod"), "module "+s.module()+"\n\ngo 1.26\n")
	}
	want := map[string]string{"stderr": "", "stdout": ""}
	for _, f := range s.archive.Files {
		if s.expectation(f.Name) {
			want[f.Name] = string(f.Data)
			continue
		}
		text := strings.ReplaceAll(string(f.Data), "example.com/app", s.module())
		if name, ok := strings.CutSuffix(f.Name, "@crlf"); ok {
			f.Name, text = name, strings.ReplaceAll(text, "\n", "\r\n")
		}
		name := filepath.Join(s.dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, text)
	}
	var stdout, stderr bytes.Buffer
	exit := cli.Main(cli.Env{Dir: s.dir, Stdout: &stdout, Stderr: &stderr}, s.args)
	got := map[string]string{"stdout": s.normal(stdout.String()), "stderr": s.normal(stderr.String())}
	for name := range want {
		if f, ok := strings.CutPrefix(name, "want/"); ok {
			data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(f)))
			got[name] = s.normal(string(data))
			if err != nil {
				got[name] = "gone\n"
			}
		}
	}
	if exit != s.exit {
		t.Errorf("exit code %d, want %d\n%s", exit, s.exit, got["stderr"])
	}
	if *update {
		s.rewrite(t, file, got)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], want[name])
		}
	}
	if exit == cli.Fine && s.compile {
		s.again(t)
	}
}

// again runs the same once more: nothing may be left to do.
func (s *scenario) again(t *testing.T) {
	if first := s.args; len(first) > 0 && !strings.HasPrefix(first[0], "-") && !strings.HasPrefix(first[0], ".") {
		return // not the generating command
	}
	var stdout, stderr bytes.Buffer
	if exit := cli.Main(cli.Env{Dir: s.dir, Stdout: &stdout, Stderr: &stderr}, []string{"-check", "./..."}); exit != cli.Fine {
		t.Errorf("a second run would change something:\n%s%s", stdout.String(), stderr.String())
	}
	err := filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_gen.go") {
			formatted(t, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// formatted holds a generated file to gofmt.
func formatted(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	want, err := format.Source(got)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	// A file of which nothing had to change keeps the line ends it had.
	if got := bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s is not as gofmt would have it, first at:\n%s", path, firstDifference(string(got), string(want)))
	}
}

func (s *scenario) normal(text string) string {
	text = strings.ReplaceAll(text, s.module(), "example.com/app")
	text = strings.ReplaceAll(text, filepath.ToSlash(s.dir), "$DIR")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// rewrite puts what came out into the archive, new expectations at its end.
func (s *scenario) rewrite(t *testing.T, file string, got map[string]string) {
	var kept []txtar.File
	for _, f := range s.archive.Files {
		if !s.expectation(f.Name) {
			kept = append(kept, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != "" {
			kept = append(kept, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	s.archive.Files = kept
	write(t, file, string(txtar.Format(s.archive)))
}

// compile vets everything that was generated, in one workspace with wow itself.
func compile(t *testing.T, root string, all []*scenario) {
	var work strings.Builder
	fmt.Fprintf(&work, "go 1.26.0\n\nuse (\n\t%s\n", abs(t, ".."))
	var patterns []string
	for _, s := range all {
		mods, err := filepath.Glob(filepath.Join(s.dir, "go.mod"))
		if err != nil || len(mods) == 0 {
			continue
		}
		fmt.Fprintf(&work, "\t./%s\n", s.name)
		patterns = append(patterns, path.Join(s.module(), "..."))
	}
	work.WriteString(")\n")
	write(t, filepath.Join(root, "go.work"), work.String())
	for _, args := range [][]string{{"vet"}, {"build"}} {
		cmd := exec.Command("go", append(args, patterns...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK="+filepath.Join(root, "go.work"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
}
