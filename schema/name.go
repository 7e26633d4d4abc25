package schema

import (
	"strings"
	"unicode"
)

// Snake turns a Go name into its wire name. An acronym is one word:
// HTTPServer becomes http_server, UserID becomes user_id.
func Snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' {
			if b.Len() > 0 && i < len(runes)-1 {
				b.WriteByte('_')
			}
			continue
		}
		if i > 0 && unicode.IsUpper(r) && runes[i-1] != '_' {
			afterLower := !unicode.IsUpper(runes[i-1])
			endsAcronym := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || endsAcronym {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Camel lowers the first word of a Go name, an acronym as a whole:
// HTTPServer becomes httpServer, ID becomes id.
func Camel(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || (i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// Export raises the first letter of a Go name.
func Export(name string) string {
	for i, r := range name {
		return string(unicode.ToUpper(r)) + name[i+len(string(r)):]
	}
	return name
}

// Suggest finds the candidate that a mistyped word most likely means, or "".
func Suggest(word string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d < bestDistance || (d == bestDistance && best != "" && c < best) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the edits between two words: insert, delete, replace, and
// the swap of two neighbours.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
