package wowtest

import (
	"fmt"
	"reflect"
)

// Differences are told by path, as in
//
//	ItemAdded.Qty: want 2, got 3
//
// because that is what a reader looks for in two long lines. Reflection is
// fine here: nothing in this package runs in production.

const (
	maxDifferences = 20  // more of them hide the first
	maxDepth       = 100 // a deeper value is taken for a cycle
)

// difference is one place where two values are not equal.
type difference struct{ path, a, b string }

// diff returns where two values differ, nothing if they are equal.
func diff(a, b any) []difference {
	var c comparison
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	path := "nil"
	if va.IsValid() {
		path = nameOf(deref(va).Type())
	}
	c.compare(path, va, vb, 0)
	return c.found
}

// diffLists returns where two lists differ, in length or in an element.
func diffLists[V any](want, got []V) []difference {
	var all []difference
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			all = append(all, difference{fmt.Sprintf("%d", i+1), show(want[i]), "nothing"})
		case i >= len(want):
			all = append(all, difference{fmt.Sprintf("%d", i+1), "nothing", show(got[i])})
		default:
			for _, d := range diff(want[i], got[i]) {
				d.path = fmt.Sprintf("%d, %s", i+1, d.path)
				all = append(all, d)
			}
		}
	}
	return all
}

type comparison struct{ found []difference }

func (c *comparison) note(path string, a, b string) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, difference{path, a, b})
	}
}

func (c *comparison) compare(path string, a, b reflect.Value, depth int) {
	if !a.IsValid() || !b.IsValid() {
		if a.IsValid() != b.IsValid() {
			c.note(path, showValue(a), showValue(b))
		}
		return
	}
	if a.Type() != b.Type() {
		c.note(path, nameOf(a.Type()), nameOf(b.Type()))
		return
	}
	if depth > maxDepth {
		c.note(path, "less than 100 levels", "a deeper value, or a cycle")
		return
	}
	if equal, ok := byMethod(a, b); ok {
		if !equal {
			c.note(path, showValue(a), showValue(b))
		}
		return
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		c.compare(path, a.Elem(), b.Elem(), depth+1)
	case reflect.Struct:
		for i := range a.NumField() {
			c.compare(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i), depth+1)
		}
	case reflect.Map:
		c.compareMaps(path, a, b, depth)
	case reflect.Slice, reflect.Array:
		for i := range max(a.Len(), b.Len()) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= a.Len():
				c.note(at, "nothing", showValue(b.Index(i)))
			case i >= b.Len():
				c.note(at, showValue(a.Index(i)), "nothing")
			default:
				c.compare(at, a.Index(i), b.Index(i), depth+1)
			}
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if a.Pointer() != b.Pointer() {
			c.note(path, showValue(a), showValue(b))
		}
	default:
		if !a.Equal(b) && !(a.CanFloat() && a.Float() != a.Float() && b.Float() != b.Float()) {
			c.note(path, showValue(a), showValue(b))
		}
	}
}

func (c *comparison) compareMaps(path string, a, b reflect.Value, depth int) {
	for _, k := range sortedKeys(a) {
		at := fmt.Sprintf("%s[%s]", path, showValue(k))
		if other := b.MapIndex(k); other.IsValid() {
			c.compare(at, a.MapIndex(k), other, depth+1)
		} else {
			c.note(at, showValue(a.MapIndex(k)), "nothing")
		}
	}
	for _, k := range sortedKeys(b) {
		if !a.MapIndex(k).IsValid() {
			c.note(fmt.Sprintf("%s[%s]", path, showValue(k)), "nothing", showValue(b.MapIndex(k)))
		}
	}
}

// byMethod compares with the type's own method Equal, as time.Time has one.
func byMethod(a, b reflect.Value) (equal, ok bool) {
	if !a.CanInterface() || !b.CanInterface() || (a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil())) {
		return false, false
	}
	m := a.MethodByName("Equal")
	if !m.IsValid() {
		return false, false
	}
	t := m.Type()
	if t.NumIn() != 1 || t.NumOut() != 1 || t.In(0) != b.Type() || t.Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return m.Call([]reflect.Value{b})[0].Bool(), true
}
