package output

import (
	"bytes"
	"go/parser"
	"go/token"
)

// broken tells whether a file does not parse. Conflict markers do not, and
// neither does a file that was cut off.
func broken(src []byte) bool {
	if len(bytes.TrimSpace(src)) == 0 {
		return true
	}
	_, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	return err != nil
}
