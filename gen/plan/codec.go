package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// checkCodec reports fields that encoding/json would drop or refuse, so that
// what is read back is what was written.
func (u *Unit) checkCodec(typ, what string) {
	t := u.Pkg.Types[typ]
	if t == nil || u.marshals(typ) {
		return
	}
	w := codecWalk{u: u, root: typ, what: what, seen: map[*source.Type]bool{}}
	w.typ(t, typ)
}

// marshals tells whether a type encodes itself.
func (u *Unit) marshals(typ string) bool {
	return u.hasMethod(typ, "MarshalJSON") != nil || u.hasMethod(typ, "MarshalText") != nil
}

type codecWalk struct {
	u    *Unit
	root string
	what string
	seen map[*source.Type]bool
}

func (w *codecWalk) typ(t *source.Type, path string) {
	b := w.u.base(t)
	if b == nil || w.seen[b] {
		return
	}
	w.seen[b] = true
	if b.Kind == source.Struct {
		w.fields(b, path)
		return
	}
	if b.Kind == source.Interface && len(b.Methods)+len(b.Embeds) > 0 {
		w.faceless(b.Pos, path)
		return
	}
	if b.Under != nil {
		w.expr(b.Under, path, b.Pos)
	}
}

// faceless reports an interface with methods: what it held is written, and can
// never be read again.
func (w *codecWalk) faceless(pos schema.Pos, at string) {
	w.report(pos, at, "an interface: nothing says which type to read into it", "write a struct, or a string that names the error")
}

func (w *codecWalk) fields(s *source.Type, path string) {
	for _, f := range s.Fields {
		if name, ok := reflect.StructTag(f.Tag).Lookup("json"); ok && name == "-" {
			continue
		}
		at := path + "." + f.Name
		exported := f.Name != "" && strings.ToUpper(f.Name[:1]) == f.Name[:1] && f.Name[0] != '_'
		if f.Name != "" && f.Name[0] >= 0x80 {
			exported = schema.Export(f.Name) == f.Name
		}
		if f.Embedded && !exported && f.Type.Kind != source.Pointer {
			exported = true // its exported fields are promoted
		}
		if f.Name == "_" {
			continue
		}
		if !exported {
			w.report(f.Pos, at, "an unexported field", "export it, tag it `json:\"-\"`, or let "+cmp.Or(s.Name, w.root)+" marshal itself")
			continue
		}
		w.expr(f.Type, at, f.Pos)
	}
}

func (w *codecWalk) expr(e *source.Expr, at string, pos schema.Pos) {
	if e == nil {
		return
	}
	switch e.Kind {
	case source.Func:
		w.report(pos, at, "a function", "keep functions out of it: let a handler type hold them")
	case source.Chan:
		w.report(pos, at, "a channel", "keep channels out of it: let a handler type hold them")
	case source.InterfaceLit:
		if !e.Empty {
			w.faceless(pos, at)
		}
	case source.Map:
		if !w.key(e.Key) {
			w.report(pos, at, "a map with keys of type "+e.Key.Text, "use keys that are strings or whole numbers, or that have MarshalText")
			return
		}
		w.expr(e.Elem, at, pos)
	case source.StructLit:
		w.fields(e.Lit, at)
	case source.Named:
		switch {
		case e.Is("", "error"), e.Is(source.WowPath, "DomainEvent"), e.Is(source.WowPath, "Sendable"):
			w.faceless(pos, at)
		case e.Path == "" && (e.Name == "complex64" || e.Name == "complex128"):
			w.report(pos, at, "a complex number", "store its two parts")
		case e.Path == w.u.Pkg.Path && !w.u.marshals(e.Name):
			if t := w.u.Pkg.Types[e.Name]; t != nil {
				w.typ(t, at)
			}
		}
	default:
		w.expr(e.Elem, at, pos)
	}
}

// key tells whether a map can have such keys in JSON, as far as this package
// shows.
func (w *codecWalk) key(e *source.Expr) bool {
	switch {
	case e.Kind != source.Named:
		return e.Kind == source.Pointer
	case e.Path == "":
		switch e.Name {
		case "any", "bool", "comparable", "complex64", "complex128", "error", "float32", "float64":
			return false
		}
		return true
	case e.Path != w.u.Pkg.Path || w.u.marshals(e.Name):
		return true
	}
	b := w.u.base(w.u.Pkg.Types[e.Name])
	return b == nil || b.Kind != source.Struct && b.Kind != source.Interface && (b.Under == nil || w.key(b.Under))
}

func (w *codecWalk) report(pos schema.Pos, at, found, fix string) {
	message := "the " + w.what + " " + w.root + " would lose " + at + " when it is stored"
	if w.what == "state" {
		if a := w.u.states[w.root]; a != nil && a.Snapshot > 0 {
			fix += "; or write snapshot=off"
		}
		message = "the state " + w.root + " would lose " + at + " in a snapshot"
	}
	w.u.report(pos, diag.Diagnostic{
		Code: "not-encodable", Message: message, Wanted: "fields that encoding/json writes and reads", Found: found, Fix: fix, See: "aggregate",
	})
}

// fingerprint is a sum over the shape of a state's Go type, as JSON sees it. A
// snapshot of another shape is not used.
func (u *Unit) fingerprint(t *source.Type) string {
	var b strings.Builder
	u.describe(&b, t, map[*source.Type]bool{})
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:6])
}

func (u *Unit) describe(b *strings.Builder, t *source.Type, seen map[*source.Type]bool) {
	base := u.base(t)
	if base == nil || seen[base] {
		return
	}
	seen[base] = true
	if base.Kind != source.Struct {
		if base.Under != nil {
			b.WriteString("=" + base.Under.Text + ";")
			u.describeExpr(b, base.Under, seen)
		}
		return
	}
	b.WriteString("{")
	u.describeFields(b, base, seen)
	b.WriteString("}")
}

func (u *Unit) describeFields(b *strings.Builder, s *source.Type, seen map[*source.Type]bool) {
	for _, f := range s.Fields {
		b.WriteString(jsonName(f) + " ")
		if f.Type.Kind == source.StructLit {
			b.WriteString("struct;")
		} else {
			b.WriteString(f.Type.Text + ";")
		}
		u.describeExpr(b, f.Type, seen)
	}
}

func (u *Unit) describeExpr(b *strings.Builder, e *source.Expr, seen map[*source.Type]bool) {
	switch {
	case e == nil:
	case e.Kind == source.Named && e.Path == u.Pkg.Path:
		if t := u.Pkg.Types[e.Name]; t != nil {
			b.WriteString(e.Name)
			u.describe(b, t, seen)
		}
	case e.Kind == source.StructLit:
		u.describeFields(b, e.Lit, seen)
	default:
		u.describeExpr(b, e.Elem, seen)
	}
}

// jsonName is the name that encoding/json gives a field.
func jsonName(f source.Field) string {
	if tag, ok := reflect.StructTag(f.Tag).Lookup("json"); ok {
		if name, _, _ := strings.Cut(tag, ","); name != "" {
			return name
		}
	}
	return f.Name
}

// lockFields are the fields of a message as they are on the wire.
func (u *Unit) lockFields(typ string) []schema.LockField {
	var out []schema.LockField
	for _, f := range u.fields(u.Pkg.Types[typ]) {
		if name := jsonName(f.Field); name != "-" && !f.Embedded {
			out = append(out, schema.LockField{Name: name, Type: u.wireType(f.Type, 0)})
		}
	}
	return out
}

// wireType describes a field's type by what it is on the wire: a name of this
// package stands for what it is made of.
func (u *Unit) wireType(e *source.Expr, depth int) string {
	if e == nil || depth > 4 {
		return "?"
	}
	switch e.Kind {
	case source.Pointer:
		return u.wireType(e.Elem, depth)
	case source.Slice, source.Array:
		return "[]" + u.wireType(e.Elem, depth)
	case source.Map:
		return "map[" + u.wireType(e.Elem, depth) + "]"
	case source.Named:
		if e.Path != u.Pkg.Path {
			return e.Text
		}
		t := u.Pkg.Types[e.Name]
		if t == nil || u.marshals(e.Name) {
			return e.Name
		}
		b := u.base(t)
		if b == nil {
			return e.Text
		}
		if b.Kind == source.Struct {
			return "{" + u.wireFields(b, depth+1) + "}"
		}
		if b.Under != nil {
			return u.wireType(b.Under, depth+1)
		}
	case source.StructLit:
		return "{" + u.wireFields(e.Lit, depth+1) + "}"
	}
	return e.Text
}

func (u *Unit) wireFields(s *source.Type, depth int) string {
	var parts []string
	for _, f := range s.Fields {
		if name := jsonName(f); name != "-" {
			parts = append(parts, name+" "+u.wireType(f.Type, depth))
		}
	}
	return strings.Join(parts, ", ")
}
