// Package output keeps what the generator writes: it knows our files from
// others, an untouched one from an edited one, and replaces them so that a
// reader, or a crash, meets the old file or the new one and never half of it.
package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"go/scanner"
	"go/token"
	"strings"

	"github.com/wowgen/wow/gen/source"
)

// sumPrefix begins the last line of a generated Go file.
const sumPrefix = "// wowgen:sum "

// Sign adds the line that holds the sum over the file's tokens.
func Sign(src []byte) []byte {
	src = bytes.TrimRight(src, "\n")
	return signed(src, sum(src))
}

func signed(src []byte, sum string) []byte {
	out := make([]byte, 0, len(src)+len("\n\n")+len(sumPrefix)+len(sum)+len("\n"))
	return append(append(append(append(append(out, src...), "\n\n"...), sumPrefix...), sum...), '\n')
}

// sum adds up the tokens and comments of a file, so that reformatting and line
// ends do not count, and an edit does.
func sum(src []byte) string {
	var d digest
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return d.sum()
		case tok == token.SEMICOLON && lit == "\n":
			continue
		case lit == "":
			lit = tok.String()
		}
		d.add(tok, lit)
	}
}

// digest is what is summed up, token by token.
type digest []byte

func (d *digest) add(tok token.Token, text string) {
	switch {
	case tok != token.COMMENT:
		*d = append(*d, text...)
	case strings.HasPrefix(text, sumPrefix):
		return
	default:
		space := ""
		for word := range strings.FieldsSeq(text) {
			*d = append(append(*d, space...), word...)
			space = " "
		}
	}
	*d = append(*d, 0)
}

func (d digest) sum() string {
	h := sha256.Sum256(d)
	return hex.EncodeToString(h[:8])
}

// SameTokens tells whether two signed files hold the same tokens.
func SameTokens(a, b []byte) bool { return recordedSum(a) == recordedSum(b) }

// recordedSum is what the last line of a file says, or "".
func recordedSum(src []byte) string {
	src = bytes.TrimRight(src, " \t\r\n")
	recorded, _ := bytes.CutPrefix(src[bytes.LastIndexByte(src, '\n')+1:], []byte(sumPrefix))
	if len(recorded) != 16 {
		return ""
	}
	return string(recorded)
}

// State is what a file on disk is to us.
type State uint8

// The states of an output file.
const (
	Absent  State = iota
	Intact        // ours, as we wrote it
	Broken        // ours, and it does not parse: truncated, or full of conflict markers
	Edited        // ours, and somebody changed it
	Foreign       // not ours
)

// Inspect tells what a generated Go file is.
func Inspect(src []byte) State {
	if src == nil {
		return Absent
	}
	if !source.IsOurs(src) {
		return Foreign
	}
	switch {
	case recordedSum(src) == sum(src):
		return Intact
	case broken(src):
		return Broken
	}
	return Edited
}
