package schema

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxWireName bounds a wire name in bytes, so that context.aggregate fits its
// column in every store.
const MaxWireName = 60

// Check reports what is wrong with a value: what was wanted, or "" when it is fine.
func (a *Arg) Check(text string) (wanted string) {
	switch a.Kind {
	case Flag:
		if text != "true" {
			return "the bare word " + a.Name
		}
	case Wire:
		return checkWire(text)
	case WireRef:
		before, after, dotted := strings.Cut(text, ".")
		if dotted {
			if w := checkWire(before); w != "" {
				return w
			}
			return checkWire(after)
		}
		return checkWire(text)
	case Ident:
		if !token.IsIdentifier(text) {
			return "a Go identifier"
		}
	case Enum:
		for _, v := range a.Values {
			if v == text {
				return ""
			}
		}
		return "one of " + strings.Join(a.Values, ", ")
	case Count:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > a.Max || strconv.Itoa(n) != text {
			if a.Max == 1 {
				return "1"
			}
			return fmt.Sprintf("a whole number from 1 to %d", a.Max)
		}
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return "a duration above zero, such as 250ms or 1m30s"
		}
	case Snapshot:
		if text == "off" {
			return ""
		}
		every, ok := strings.CutPrefix(text, "every:")
		n, err := strconv.Atoi(every)
		if !ok || err != nil || n < 1 || n > 1_000_000 || strconv.Itoa(n) != every {
			return "off, or every:N with N from 1 to 1000000"
		}
	case Begin:
		if _, err := time.Parse(time.RFC3339, text); err != nil && text != "now" && text != "beginning" {
			return "beginning, now, or a time such as 2026-01-31T12:00:00Z"
		}
	case Word:
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return "a word without spaces"
		}
		if len(text) > 200 {
			return "a word of at most 200 bytes"
		}
	}
	return ""
}

// checkWire reports what is wrong with a wire name. Dots and dashes may stand
// inside one; upper case may not, because stores and brokers differ in how
// they compare it.
func checkWire(s string) string {
	const wanted = "a wire name: lower-case letters, digits, _ - or . after a first letter"
	if s == "" || !utf8.ValidString(s) {
		return wanted
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) && !unicode.IsUpper(r) && !unicode.IsTitle(r):
		case i > 0 && (unicode.IsDigit(r) || unicode.IsMark(r)):
		case i > 0 && i < len(s)-1 && strings.ContainsRune("_-.", r):
		default:
			return wanted
		}
	}
	if len(s) > MaxWireName {
		return fmt.Sprintf("a wire name of at most %d bytes", MaxWireName)
	}
	return ""
}
