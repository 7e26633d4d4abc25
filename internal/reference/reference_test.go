package reference

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the pages")

// TestReferenceIsWhatTheTableSays compares docs/reference with the table.
func TestReferenceIsWhatTheTableSays(t *testing.T) {
	const dir = "../../docs/reference"
	files := Files()
	if *update {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, files, e.Name(), "docs/reference has a page that nothing writes")
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "docs/reference/%s: run make reference", name)
	}
}
