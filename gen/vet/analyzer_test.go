package vet

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestFindings holds what is reported, and that nothing else is: every line of
// the packages in testdata that has no want comment is one that a naive check
// might be wrong about.
func TestFindings(t *testing.T) {
	var patterns []string
	for _, name := range []string{"blocking", "state", "replay", "order", "contexts", "stale", "ungenerated", "across", "clients", "yaml"} {
		patterns = append(patterns, "./gen/vet/testdata/"+name)
	}
	analysistest.Run(findings{t}, "../..", Analyzer, patterns...)
}

// TestFixes holds what an editor, or go vet -fix, makes of the findings.
func TestFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(findings{t}, "../..", Analyzer, "./gen/vet/testdata/fixes")
}

// findings leaves the facts alone: they are how packages talk to each other,
// and what comes of them is seen in the findings.
type findings struct{ t *testing.T }

func (f findings) Errorf(format string, args ...any) {
	f.t.Helper()
	if text := fmt.Sprintf(format, args...); !strings.Contains(text, "unexpected fact") {
		f.t.Error(text)
	}
}
