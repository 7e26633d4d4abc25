package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/zip"
)

// TestTheTreeIsAModule: one file with a name that Go refuses, and nobody can
// `go get` the module any more.
func TestTheTreeIsAModule(t *testing.T) {
	files, err := zip.CheckDir(root)
	require.NoError(t, err)
	require.NoError(t, files.Err())
	require.NotEmpty(t, files.Valid)
}
