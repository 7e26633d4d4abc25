package plan

import (
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// maxEmbedding bounds how deep embedded structs are followed.
const maxEmbedding = 16

// base follows aliases and definitions by other types of the package to the
// type that says what it is. It is nil when that is not of this package.
func (u *Unit) base(t *source.Type) *source.Type {
	for range maxEmbedding {
		if t == nil || t.Under == nil {
			return t
		}
		if t.Under.Kind != source.Named {
			if t.Kind == source.Alias && t.Under.Lit != nil {
				return t.Under.Lit
			}
			return t
		}
		if t.Under.Path != u.Pkg.Path {
			if t.Kind == source.Alias && t.Under.Path != "" {
				return nil
			}
			return t
		}
		next := u.Pkg.Types[t.Under.Name]
		if next == nil {
			return t
		}
		t = next
	}
	return t
}

// promoted is a field or method with the way to it.
type promotedField struct {
	source.Field
	depth int
}

// fields lists the fields of a struct, those of embedded structs of the same
// package too, as Go promotes them.
func (u *Unit) fields(t *source.Type) []promotedField {
	if known, ok := u.fieldsOf[t]; ok {
		return known
	}
	out := u.promotedFields(t)
	u.fieldsOf[t] = out
	return out
}

func (u *Unit) promotedFields(t *source.Type) []promotedField {
	var out []promotedField
	level := []*source.Type{u.base(t)}
	seen := map[*source.Type]bool{}
	taken := map[string]bool{}
	for depth := 0; len(level) > 0 && depth < maxEmbedding; depth++ {
		var next []*source.Type
		count := map[string]int{}
		var here []promotedField
		for _, s := range level {
			if s == nil || s.Kind != source.Struct || seen[s] {
				continue
			}
			seen[s] = true
			for _, f := range s.Fields {
				count[f.Name]++
				here = append(here, promotedField{f, depth})
				if f.Embedded {
					if e := u.local(f.Type); e != nil {
						next = append(next, u.base(e))
					}
				}
			}
		}
		for _, f := range here {
			if !taken[f.Name] && count[f.Name] == 1 {
				out = append(out, f)
			}
		}
		for name := range count {
			taken[name] = true
		}
		level = next
	}
	return out
}

// local returns the type of this package that an expression names, itself or
// by pointer.
func (u *Unit) local(e *source.Expr) *source.Type {
	if e != nil && e.Kind == source.Pointer {
		e = e.Elem
	}
	if e == nil || e.Kind != source.Named || e.Path != u.Pkg.Path {
		return nil
	}
	return u.Pkg.Types[e.Name]
}

// methodsOf lists the methods of a type, promoted ones too, sorted by name.
func (u *Unit) methodsOf(name string) []*source.Method {
	if known, ok := u.methodSets[name]; ok {
		return known
	}
	out := u.promotedMethods(name)
	u.methodSets[name] = out
	return out
}

func (u *Unit) promotedMethods(name string) []*source.Method {
	taken := map[string]bool{}
	var out []*source.Method
	level := []string{name}
	seen := map[string]bool{}
	for depth := 0; len(level) > 0 && depth < maxEmbedding; depth++ {
		var next []string
		count := map[string]int{}
		var here []*source.Method
		for _, typ := range level {
			t := u.Pkg.Types[typ]
			if t == nil || seen[typ] {
				continue
			}
			seen[typ] = true
			methods := u.Pkg.Methods[typ]
			if t.Kind == source.Alias {
				if target := u.local(t.Under); target != nil {
					methods = u.Pkg.Methods[target.Name]
				}
			}
			base := u.base(t)
			if base != nil && base.Kind == source.Interface {
				methods = append(slices.Clone(methods), u.interfaceMethods(base, 0)...)
			}
			for _, m := range methods {
				if m.Name == "_" {
					continue
				}
				count[m.Name]++
				here = append(here, m)
			}
			if base == nil {
				continue
			}
			for _, f := range base.Fields {
				count[f.Name]++
				if f.Embedded {
					if e := u.local(f.Type); e != nil {
						next = append(next, e.Name)
					}
				}
			}
		}
		for _, m := range here {
			if !taken[m.Name] && count[m.Name] == 1 {
				out = append(out, m)
			}
		}
		for n := range count {
			taken[n] = true
		}
		level = next
	}
	slices.SortFunc(out, func(a, b *source.Method) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (u *Unit) interfaceMethods(t *source.Type, depth int) []*source.Method {
	out := slices.Clone(t.Methods)
	if depth > maxEmbedding {
		return out
	}
	for _, e := range t.Embeds {
		if other := u.base(u.local(e)); other != nil && other.Kind == source.Interface {
			out = append(out, u.interfaceMethods(other, depth+1)...)
		}
	}
	return out
}

// hasMethod tells whether a type has a method of that name.
func (u *Unit) hasMethod(typ, name string) *source.Method {
	for _, m := range u.methodsOf(typ) {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// ref returns the name of a named type. A type of this package that is an
// alias stands for its target.
func (u *Unit) ref(e *source.Expr) schema.Ref {
	if e == nil || e.Kind != source.Named {
		return schema.Ref{}
	}
	r := schema.Ref{Path: e.Path, Name: e.Name}
	for range maxEmbedding {
		if r.Path != u.Pkg.Path {
			break
		}
		t := u.Pkg.Types[r.Name]
		if t == nil || t.Kind != source.Alias || t.Under.Kind != source.Named || u.roles[r.Name] != "" || len(t.Under.Args) > 0 {
			break
		}
		r = schema.Ref{Path: t.Under.Path, Name: t.Under.Name}
	}
	return r
}

// show writes a type's name as this package's files do.
func (u *Unit) show(r schema.Ref) string {
	if r.Path == u.Pkg.Path || r.Path == "" {
		return r.Name
	}
	if name, ok := u.Model.Imports[r.Path]; ok {
		return name + "." + r.Name
	}
	return source.GuessName(r.Path) + "." + r.Name
}

// isStruct tells whether a reference is a struct of this package.
func (u *Unit) isStruct(r schema.Ref) bool {
	if r.Path != u.Pkg.Path {
		return false
	}
	t := u.Pkg.Types[r.Name]
	if t == nil || t.Kind == source.Alias {
		return false
	}
	b := u.base(t)
	return b != nil && b.Kind == source.Struct
}
