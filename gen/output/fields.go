package output

import (
	"slices"
	"strings"
)

// FieldChange is a difference between two shapes of a message that matters to
// somebody who writes or reads the older one.
type FieldChange struct {
	Kind  string // removed, retyped or widened
	Field string // "Lines[].Qty"
	Was   string
	Is    string
}

// CompareFields lists what is different about the fields of a message. Their
// order, and fields that are new, make no difference: what is missing in JSON
// is read as the zero value, and what is unknown is passed over.
func CompareFields(was, is []string) []FieldChange {
	var changes []FieldChange
	for _, field := range was {
		name, typ, _ := strings.Cut(field, " ")
		now, ok := find(is, name)
		if !ok {
			changes = append(changes, FieldChange{"removed", name, typ, ""})
			continue
		}
		changes = append(changes, compareTypes(name, typ, now)...)
	}
	return changes
}

// find returns the type of a field. As in encoding/json, the case of its name
// counts only where two names differ in nothing else.
func find(fields []string, name string) (typ string, ok bool) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, f := range fields {
			if n, t, _ := strings.Cut(f, " "); same(n, name) {
				return t, true
			}
		}
	}
	return "", false
}

// compareTypes compares types as the lock file describes them: []T, map[T],
// {Name T, Name T}, the name of a type, or ? for what is nested too deep.
func compareTypes(path, was, is string) []FieldChange {
	if was == is || was == "?" || is == "?" {
		return nil
	}
	if a, b, ok := both(was, is, "{", "}"); ok {
		inner := CompareFields(splitFields(a), splitFields(b))
		for i := range inner {
			inner[i].Field = path + "." + inner[i].Field
		}
		return inner
	}
	if a, b, ok := both(was, is, "map[", "]"); ok {
		return compareTypes(path+"[]", a, b)
	}
	if a, b, ok := both(was, is, "[]", ""); ok {
		return compareTypes(path+"[]", a, b)
	}
	if widened(was, is) {
		return []FieldChange{{"widened", path, was, is}}
	}
	return []FieldChange{{"retyped", path, was, is}}
}

// both strips a prefix and a suffix that two types share.
func both(a, b, prefix, suffix string) (x, y string, ok bool) {
	for _, t := range []*string{&a, &b} {
		rest, found := strings.CutPrefix(*t, prefix)
		if !found {
			return "", "", false
		}
		if rest, found = strings.CutSuffix(rest, suffix); !found {
			return "", "", false
		}
		*t = rest
	}
	return a, b, true
}

// splitFields splits "A int, B map[{C int, D int}]" at its outer commas.
func splitFields(list string) []string {
	var fields []string
	depth, from := 0, 0
	for i, r := range list {
		switch r {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ',':
			if depth == 0 {
				fields = append(fields, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(list[from:]); last != "" {
		fields = append(fields, last)
	}
	return fields
}

// widened tells whether every value of the one number type is one of the other.
func widened(was, is string) bool {
	for _, family := range [][]string{
		{"int8", "int16", "int32 rune", "int64 int"},
		{"uint8 byte", "uint16", "uint32", "uint64 uint"},
		{"float32", "float64"},
	} {
		rank := func(t string) int {
			return slices.IndexFunc(family, func(names string) bool { return slices.Contains(strings.Fields(names), t) })
		}
		if a, b := rank(was), rank(is); a >= 0 && b >= a {
			return true
		}
	}
	return false
}
