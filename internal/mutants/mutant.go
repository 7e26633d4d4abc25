package main

import (
	"fmt"
	"strings"
)

// mutant is a bug to plant: changes to files of one package.
type mutant struct {
	name  string
	hunks []hunk
}

// hunk replaces lines of a file: from becomes to.
type hunk struct {
	file     string
	from, to []string
}

// parse reads mutants in the format that executor.mutants explains.
func parse(text string) ([]mutant, error) {
	var all []mutant
	file := ""
	for n, line := range strings.Split(text, "\n") {
		wrong := func(what string) ([]mutant, error) {
			return nil, fmt.Errorf("mutants: line %d, %q: %s", n+1, line, what)
		}
		switch name, isName := strings.CutPrefix(line, "== "); {
		case line == "":
			file = "" // a change ends
		case strings.HasPrefix(line, "#"):
		case isName:
			all = append(all, mutant{name: name})
			file = ""
		case len(all) == 0:
			return wrong("a mutant begins with == and a name")
		case strings.HasPrefix(line, "-- "):
			file = line[3:]
			m := &all[len(all)-1]
			m.hunks = append(m.hunks, hunk{file: file})
		case file == "":
			return wrong("which file? Name it in a line with -- before")
		default:
			m := &all[len(all)-1]
			h := &m.hunks[len(m.hunks)-1]
			switch line[0] {
			case ' ':
				h.from, h.to = append(h.from, line[1:]), append(h.to, line[1:])
			case '-':
				h.from = append(h.from, line[1:])
			case '+':
				h.to = append(h.to, line[1:])
			default:
				return wrong("a change begins with a space, - or +")
			}
		}
	}
	for _, m := range all {
		if len(m.hunks) == 0 {
			return nil, fmt.Errorf("mutants: %q changes nothing", m.name)
		}
	}
	return all, nil
}

// apply returns the source with the hunk applied.
func (h hunk) apply(source string) (string, error) {
	lines := strings.Split(source, "\n")
	at := -1
	for i := range lines {
		if matches(lines[i:], h.from) {
			if at >= 0 {
				return "", fmt.Errorf("%s: lines %d and %d both look like this:\n\t%s", h.file, at+1, i+1, strings.Join(h.from, "\n\t"))
			}
			at = i
		}
	}
	if at < 0 || len(h.from) == 0 {
		return "", fmt.Errorf("%s: stale, there is no such code any more:\n\t%s", h.file, strings.Join(h.from, "\n\t"))
	}
	out := append([]string{}, lines[:at]...)
	out = append(out, h.to...)
	out = append(out, lines[at+len(h.from):]...)
	return strings.Join(out, "\n"), nil
}

// matches reports whether lines begin with want, space around them aside.
func matches(lines, want []string) bool {
	if len(lines) < len(want) {
		return false
	}
	for i, w := range want {
		if strings.TrimSpace(lines[i]) != strings.TrimSpace(w) {
			return false
		}
	}
	return true
}
