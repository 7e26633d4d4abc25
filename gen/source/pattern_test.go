package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADirectoryBehindASymbolicLinkIsWalked(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real", "shop"), 0o755))
	for name, text := range map[string]string{"go.mod": "module example.com/m\n", "a.go": "package m\n", "shop/b.go": "package shop\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "real", name), []byte(text), 0o600))
	}
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("real", link))
	for _, root := range []string{filepath.Join(dir, "real"), link} {
		got, err := new(Modules).walk(root)
		require.NoError(t, err)
		require.Equal(t, []string{root, filepath.Join(root, "shop")}, got)
	}
}
