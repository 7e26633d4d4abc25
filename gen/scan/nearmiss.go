package scan

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/schema"
)

func quoted(s string) string { return strconv.Quote(s) }

// Near misses are comments that were meant as directives and are none, to Go
// as to us. gofmt moves a space into them, which makes them prose for ever.
// Only known words count, and only at the start of a line: a sentence about
// wow: events must not become an error.
var (
	tight    = regexp.MustCompile(`^//[ \t]?\+?(?i:wow)[ \t]*:[ \t]*([A-Za-z]+)`) // one blank at most before the tool
	loose    = regexp.MustCompile(`^//\+?(?i:wow)[ \t.\-/]+([A-Za-z]+)`)          // no colon
	nameless = regexp.MustCompile(`^//wow:?[ \t]*$`)                              // a directive that was begun
	block    = regexp.MustCompile(`^[ \t*]*(?i:wow):([A-Za-z]+)`)                 // in a /* comment
)

func (s *goScanner) nearMiss(group *ast.CommentGroup, c *ast.Comment) {
	if s.insideFunction(c) {
		return
	}
	text := strings.TrimRight(c.Text, "\r\n")
	if body, ok := strings.CutPrefix(text, "/*"); ok {
		pos := s.file.Pos(c.Slash)
		for i, line := range strings.Split(body, "\n") {
			if m := block.FindStringSubmatch(line); m != nil {
				if i > 0 {
					pos.Line, pos.Column = pos.Line+i, 1
				}
				s.missed(pos, line, m[1], "a directive in a /* comment is ignored by Go tools and by wowgen")
			}
		}
		return
	}
	if nameless.MatchString(text) {
		s.unknown(s.file.Pos(c.Slash), "")
		return
	}
	if m := tight.FindStringSubmatch(text); m != nil {
		spaced := strings.HasPrefix(text, "// ") || strings.HasPrefix(text, "//\t")
		afterColon := text[strings.IndexByte(text, ':')+1:]
		if spaced && (afterColon == "" || afterColon[0] == ' ' || afterColon[0] == '\t') {
			return // "// wow: …" is how a sentence begins
		}
		s.missed(s.file.Pos(c.Slash), text, m[1], "this comment is not a directive")
		return
	}
	if m := loose.FindStringSubmatch(text); m != nil {
		s.missed(s.file.Pos(c.Slash), text, m[1], "this comment is not a directive")
	}
}

func (s *goScanner) missed(pos schema.Pos, text, word, message string) {
	name := strings.ToLower(word)
	if _, known := schema.Lookup(name); !known {
		return
	}
	s.found.Add(diag.Diagnostic{
		Pos: pos, Code: "near-miss", Message: message,
		Wanted: "//wow:" + name + " with no space before or after wow:, all in lower case",
		Found:  strings.TrimSpace(text), Fix: "write //wow:" + name, See: name,
	})
}

// insideFunction tells whether a comment stands in a function's body.
func (s *goScanner) insideFunction(c *ast.Comment) bool {
	for _, decl := range s.file.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil && fn.Body.Pos() < c.Pos() && c.End() <= fn.Body.End() {
			return true
		}
	}
	return false
}
