package wowtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wowgen/wow"
)

// Values are shown much as they are written in a test, on one line and without
// the fields that are zero: OrderPaid{Cents: 500}.

// show writes a message or a state.
func show(v any) string {
	if d, ok := v.(wow.Deferred); ok {
		name, after, cmd := d.Deferred()
		if cmd == nil {
			return fmt.Sprintf("Cancel(%q)", name)
		}
		return fmt.Sprintf("Later(%q, %v, %s)", name, after, show(cmd))
	}
	return showValue(deref(reflect.ValueOf(v)))
}

// lines shows each element of a list.
func lines[V any](vs []V) []string {
	shown := make([]string, len(vs))
	for i, v := range vs {
		shown[i] = show(v)
	}
	return shown
}

// list shows differences, one a line.
func list(a, b string, differences []difference) string {
	var w strings.Builder
	for _, d := range differences {
		fmt.Fprintf(&w, "  %s: %s %s, %s %s\n", d.path, a, d.a, b, d.b)
	}
	return strings.TrimRight(w.String(), "\n")
}

// typeName is the name of v's type, without its package.
func typeName(v any) string { return nameOf(reflect.TypeOf(v)) }

func nameOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "*" + nameOf(t.Elem())
	case t.Name() == "":
		return t.String()
	}
	return t.Name()
}

func deref(v reflect.Value) reflect.Value {
	for range maxDepth {
		if !v.IsValid() || (v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface) || v.IsNil() {
			break
		}
		v = v.Elem()
	}
	return v
}

func showValue(v reflect.Value) string {
	var w strings.Builder
	write(&w, v, 0)
	return w.String()
}

func write(w *strings.Builder, v reflect.Value, depth int) {
	if !v.IsValid() {
		w.WriteString("nil")
		return
	}
	if depth > maxDepth {
		w.WriteString("…")
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() && v.CanInterface() {
		w.WriteString(v.Interface().(time.Time).Format(time.RFC3339Nano))
		return
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		w.WriteString(time.Duration(v.Int()).String())
		return
	}
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(w, "%q", v.String())
	case reflect.Pointer:
		if v.IsNil() {
			w.WriteString("nil")
			return
		}
		w.WriteByte('&')
		write(w, v.Elem(), depth+1)
	case reflect.Interface:
		write(w, v.Elem(), depth+1)
	case reflect.Struct:
		w.WriteString(nameOf(v.Type()))
		var fields []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				var one strings.Builder
				write(&one, f, depth+1)
				fields = append(fields, v.Type().Field(i).Name+": "+one.String())
			}
		}
		writeList(w, fields)
	case reflect.Map:
		var entries []string
		for _, k := range sortedKeys(v) {
			var one strings.Builder
			write(&one, v.MapIndex(k), depth+1)
			entries = append(entries, showValue(k)+": "+one.String())
		}
		writeList(w, entries)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			fmt.Fprintf(w, "%q", v.Bytes())
			return
		}
		var elements []string
		for i := range v.Len() {
			var one strings.Builder
			write(&one, v.Index(i), depth+1)
			elements = append(elements, one.String())
		}
		writeList(w, elements)
	default:
		fmt.Fprintf(w, "%v", v) // fmt sees unexported fields through a reflect.Value
	}
}

func writeList(w *strings.Builder, elements []string) {
	w.WriteString("{" + strings.Join(elements, ", ") + "}")
}

// sortedKeys orders the keys of a map by how they are shown.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(showValue(a), showValue(b)) })
	return keys
}
