package cli_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/gen/cli"
)

func TestVet(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	run := func(args ...string) (exit int, stdout, stderr string) {
		var out, errs bytes.Buffer
		exit = cli.Main(cli.Env{Dir: root, Stdout: &out, Stderr: &errs}, append([]string{"vet"}, args...))
		return exit, out.String(), errs.String()
	}

	exit, stdout, stderr := run("./example/...")
	require.Equal(t, cli.Fine, exit, stderr)
	require.Empty(t, stdout+stderr)

	exit, stdout, stderr = run("./gen/vet/testdata/yaml")
	require.Equal(t, cli.Problems, exit)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `gen/vet/testdata/yaml/yaml.go:41:2: Shelves.OnBorrowed can block, and holds a worker while it does
    time.Sleep(1) // want `+"`Shelves.OnBorrowed can block`"+`
  wanted: a handler that does not wait, is declared blocking, or waits inside wow.Await
  found: Shelves.OnBorrowed -> time.Sleep
  fix: write //wow:blocking above the method, or wrap the call: wow.Await(ctx, func(ctx context.Context) (T, error) { ... })
`)

	exit, stdout, _ = run("-format=json", "./gen/vet/testdata/yaml")
	require.Equal(t, cli.Problems, exit)
	var found []struct{ File, Code string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &found))
	require.Len(t, found, 4)
	require.Equal(t, "not-replayable", found[0].Code)
	require.Equal(t, "gen/vet/testdata/yaml/yaml.go", found[0].File)

	exit, _, stderr = run("./nowhere")
	require.Equal(t, cli.Usage, exit)
	require.Contains(t, stderr, "nowhere")
	exit, _, stderr = run("-format=xml")
	require.Equal(t, cli.Usage, exit)
	require.Contains(t, stderr, "-format=xml")
}
