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
	out := bytes.TrimRight(src, "\n")
	return append(append(bytes.Clone(out), '\n', '\n'), sumPrefix+sum(out)+"\n"...)
}

// sum adds up the tokens and comments of a file, so that reformatting and line
// ends do not count, and an edit does.
func sum(src []byte) string {
	h := sha256.New()
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return hex.EncodeToString(h.Sum(nil)[:8])
		case tok == token.SEMICOLON && lit == "\n":
			continue
		case tok == token.COMMENT:
			if strings.HasPrefix(lit, sumPrefix) {
				continue
			}
			lit = strings.Join(strings.Fields(lit), " ")
		case lit == "":
			lit = tok.String()
		}
		h.Write([]byte(lit))
		h.Write([]byte{0})
	}
}

// SameTokens tells whether a file on disk, ours and intact, holds the tokens
// that were written now.
func SameTokens(old, raw []byte) bool { return recordedSum(old) == sum(raw) }

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
