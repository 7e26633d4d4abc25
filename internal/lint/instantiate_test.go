package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLanesAreCompiledOnce holds generated packages to what they have to
// compile: a Runtime, which they name, must not have the executor's generic
// types in its fields, or the compiler writes all their methods into each of
// these packages. runtime.mailboxes says more.
func TestLanesAreCompiledOnce(t *testing.T) {
	sources, err := filepath.Glob("../../runtime/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal("no runtime", err)
	}
	for _, name := range sources {
		if _, err := os.Stat(name); err != nil { // so that a cached result ends with a change here
			t.Fatal(err)
		}
	}
	for _, pkg := range []string{"./example/transfer/domain", "./example/shop/domain"} {
		cmd := exec.Command("go", "list", "-export", "-f", "{{.Export}}", pkg)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		object, err := os.ReadFile(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(object, []byte("runtime.(*Gateway).Send")) {
			t.Fatalf("%s has no generated client: the test looks at the wrong thing", pkg)
		}
		if bytes.Contains(object, []byte("executor.(*Lane[")) {
			t.Errorf("%s compiles the methods of executor.Lane: hold lanes in the runtime as mailboxes", pkg)
		}
	}
}
