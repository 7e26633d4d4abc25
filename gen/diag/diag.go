// Package diag is how the generator talks about mistakes. A diagnostic always
// has five parts: where, what, the code concerned, what is wanted and found,
// and the fix. They are collected, so that one run tells all of them, sorted,
// each once.
package diag

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/wowgen/wow/schema"
)

// Severity tells whether a diagnostic stops the writing of output.
type Severity string

// The severities. Warnings do not change the exit code, unless -strict.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Related is another place that a diagnostic is about.
type Related struct {
	Pos     schema.Pos
	Message string
}

// Diagnostic is one finding about the input.
type Diagnostic struct {
	Pos      schema.Pos
	Severity Severity
	Code     string // stable, for tools: "unknown-argument"
	Message  string // what is wrong, one line
	Source   string // the code concerned; taken from the file when empty
	Wanted   string
	Found    string
	Fix      string
	Related  []Related
	See      string // the directive whose reference explains it, or ""
}

// List collects diagnostics. It may be used by several goroutines.
type List struct {
	mu  sync.Mutex
	all []Diagnostic
}

// Add collects d; a diagnostic without a severity is an error.
func (l *List) Add(d Diagnostic) {
	if d.Severity == "" {
		d.Severity = Error
	}
	l.mu.Lock()
	l.all = append(l.all, d)
	l.mu.Unlock()
}

// Warn collects d as a warning.
func (l *List) Warn(d Diagnostic) {
	d.Severity = Warning
	l.Add(d)
}

// AddAll collects what another list holds.
func (l *List) AddAll(other []Diagnostic) {
	l.mu.Lock()
	l.all = append(l.all, other...)
	l.mu.Unlock()
}

// Len is how much was found so far.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// HasErrors tells whether anything found so far stops the writing.
func (l *List) HasErrors() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.all, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns all diagnostics by position, each once.
func (l *List) Sorted() []Diagnostic {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.all, func(a, b Diagnostic) int {
		return cmp.Or(
			a.Pos.Compare(b.Pos),
			strings.Compare(a.Code, b.Code),
			strings.Compare(a.Message, b.Message),
			strings.Compare(a.Fix, b.Fix),
		)
	})
	l.all = slices.CompactFunc(l.all, func(a, b Diagnostic) bool {
		return a.Pos == b.Pos && a.Code == b.Code && a.Message == b.Message
	})
	return slices.Clone(l.all)
}
