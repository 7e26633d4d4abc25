package gen_test

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/wowgen/wow/gen"
)

// generate runs on a package of one Go file and, unless nil, a wow.yaml. What
// must hold whatever the input is: no panic, a diagnostic for each refusal,
// Go that parses, and the same outcome again.
func generate(t *testing.T, goFile, yaml []byte) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/app\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "a.go"), string(goFile))
	if yaml != nil {
		write(t, filepath.Join(dir, "wow.yaml"), string(yaml))
	}
	outcome := func() string {
		r, err := gen.Run(gen.Config{Dir: dir})
		if err != nil {
			t.Fatalf("not a mistake in the input: %v", err)
		}
		var b strings.Builder
		for _, d := range r.Diagnostics {
			if d.Code == "internal" {
				t.Fatalf("%s\n%s", d.Message, d.Found)
			}
			if d.Message == "" || d.Fix == "" || d.Wanted == "" || !d.Pos.IsValid() {
				t.Fatalf("a diagnostic lacks a part: %+v", d)
			}
			b.WriteString(d.Pos.String() + d.Message + "\n")
		}
		for _, c := range r.Changes {
			if strings.HasSuffix(c.Path, ".go") && c.New != nil {
				want, err := format.Source(c.New)
				if err != nil {
					t.Fatalf("what was written does not parse: %v\n%s", err, c.New)
				}
				if !bytes.Equal(c.New, want) {
					t.Fatalf("not as gofmt would have it, first at:\n%s", firstDifference(string(c.New), string(want)))
				}
			}
			b.Write(c.New)
		}
		return b.String()
	}
	if first, second := outcome(), outcome(); first != second {
		t.Fatalf("two runs differ, first at:\n%s", firstDifference(second, first))
	}
}

// seeds adds a file of all scenarios to a corpus.
func seeds(f *testing.F, pick func(name string) bool) {
	archives, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatal("no scenarios", err)
	}
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if pick(file.Name) && !strings.HasPrefix(file.Name, "want/") {
				f.Add(file.Data)
			}
		}
	}
}

func FuzzGo(f *testing.F) {
	seeds(f, func(name string) bool { return strings.HasSuffix(name, ".go") })
	f.Fuzz(func(t *testing.T, src []byte) { generate(t, src, nil) })
}

func FuzzYAML(f *testing.F) {
	seeds(f, func(name string) bool { return strings.HasSuffix(name, ".yaml") })
	plain, err := os.ReadFile("testdata/fuzz.go.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, yaml []byte) { generate(t, plain, yaml) })
}

func FuzzDirectives(f *testing.F) {
	for _, s := range []string{"aggregate context=a", "projection name=x serial", "command create key=ID", "retry max=3", " event", "on name=x from=y", "ignore why", "event revision=2"} {
		f.Add(s, s)
	}
	plain, err := os.ReadFile("testdata/fuzz.go.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, onType, onMethod string) {
		if strings.ContainsAny(onType+onMethod, "\n\r\x00") {
			t.Skip("not one line")
		}
		src := bytes.ReplaceAll(plain, []byte("//TYPE"), []byte("//wow:"+onType))
		generate(t, bytes.ReplaceAll(src, []byte("//METHOD"), []byte("//wow:"+onMethod)), nil)
	})
}
