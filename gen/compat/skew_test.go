package compat_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/gen/emit"
)

// The two tests below build the shop with one file of the project changed, as
// it would be when a generator and a runtime of different releases meet. What
// the compiler prints first has to be what to do.

const (
	shopFile    = "example/shop/domain/wow_gen.go"
	runtimeFile = "runtime/generated.go"
)

// TestOldFileMeetsNewerRuntime has a runtime that knows only format 2. The
// compiler shortens constants that are longer than 72 characters.
func TestOldFileMeetsNewerRuntime(t *testing.T) {
	const remedy = "wow_gen.go is older than package runtime: run go tool wowgen ./..."
	out := build(t, runtimeFile, "const Format1 uint = 1",
		"const Format1 = \""+remedy+"\"\n\nconst "+emit.FormatName(2)+" uint = 2")
	require.Regexp(t, `^example/shop/domain/wow_gen.go:\d+:\d+: cannot use wowrt.Format1 \(untyped string constant "`+remedy+`"\) as uint value`, out)
}

// TestNewFileMeetsOlderRuntime has a generated file of format 2.
func TestNewFileMeetsOlderRuntime(t *testing.T) {
	out := build(t, shopFile, "wowrt.Format1", "wowrt."+emit.FormatName(2))
	require.Regexp(t, `^\S+:\d+:\d+: undefined: wowrt.Format2OrUpgradeWow`, out)
}

// build compiles the shop with one file changed, which has to fail, and returns
// what the compiler prints after the name of the package.
func build(t *testing.T, file, was, is string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	path := filepath.Join(root, filepath.FromSlash(file))
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(src), was), "%s in %s", was, file)
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(src), was, is, 1)), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay="+overlay, "./example/shop/domain")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	_, rest, ok := strings.Cut(string(out), "# github.com/wowgen/wow/example/shop/domain\n")
	require.True(t, ok, string(out))
	return rest
}
