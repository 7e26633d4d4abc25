package vet

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wowgen/wow/gen/source"
)

func TestExamplesAreClean(t *testing.T) {
	findings, err := Run("../..", "./example/...")
	require.NoError(t, err)
	require.Empty(t, findings)
}

// TestRunReadsWhatItNeeds holds that a run over one package follows calls into
// the others of its module, and reports only what it was asked for.
func TestRunReadsWhatItNeeds(t *testing.T) {
	findings, err := Run("testdata/across")
	require.NoError(t, err)
	var codes []string
	for _, f := range findings {
		require.Equal(t, "across.go", filepath.Base(f.Pos.File))
		require.NotEmpty(t, f.Wanted)
		require.NotEmpty(t, f.Found)
		require.NotEmpty(t, f.Fix)
		codes = append(codes, f.Code)
	}
	require.Equal(t, []string{"blocks", "state-changed", "state-changed", "not-replayable"}, codes)
}

// TestRunSaysWhyItCannot holds that a package that does not compile, or is not
// there, is an error that says what to do.
func TestRunSaysWhyItCannot(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module shop\n\ngo 1.26\n")
	write("shop.go", "package shop\n\nvar x int = missing\n")
	_, err := Run(dir)
	require.ErrorContains(t, err, "run wowgen, then go build")
	require.ErrorContains(t, err, "shop.go:3:13: undefined: missing")
	_, err = Run(dir, "./nowhere")
	var usage *source.UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "nowhere")
}

// TestVetTool holds that go vet can run the analyzer, with facts that go from
// package to package through files. The tool is this very test.
func TestVetTool(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	run := func(pattern string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+self, pattern)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), asTool+"=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("./gen/vet/testdata/across/store")
	require.NoError(t, err, out)
	out, err = run("./gen/vet/testdata/across")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Regexp(t, `gen/vet/testdata/across/across.go:\d+:2: Box.Put can block, and holds a worker while it does
    store.Save\("a"\) .*
  wanted: a handler that does not wait, is declared blocking, or waits inside wow.Await
  found: Box.Put -> store.Save -> save \(store.go:\d+\) -> os.WriteFile \(store.go:\d+\)
  fix: write //wow:blocking above the method, or wrap the call: wow.Await`, out)
}

// asTool is the variable that makes the test binary a tool for go vet.
const asTool = "WOWVET_TEST_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		Tool()
	}
	goleak.VerifyTestMain(m)
}
