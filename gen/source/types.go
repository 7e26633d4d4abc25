package source

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"github.com/wowgen/wow/schema"
)

// WowPath is the import path of the vocabulary package.
const WowPath = "github.com/wowgen/wow"

// ExprKind says what kind of type an expression is, as far as it matters here.
type ExprKind uint8

// The kinds of type expressions.
const (
	Other   ExprKind = iota // functions, channels, maps, literals, arrays, type parameters
	Named                   // T, pkg.T, T[A]
	Pointer                 // *Elem
	Slice                   // []Elem
	Func
	Chan
	Map
	Array
	StructLit
	InterfaceLit
)

// Expr is a type as it is written.
type Expr struct {
	Kind  ExprKind
	Path  string // import path of a named type; "" for a predeclared one, "?" when no import explains it
	Qual  string // the qualifier as written
	Name  string
	Args  []*Expr // type arguments of a named type
	Elem  *Expr   // of a pointer, slice, array, map or channel
	Key   *Expr   // of a map
	Text  string  // as written
	Empty bool    // an interface literal without methods
	Lit   *Type   // of a struct literal
}

// Is tells whether the expression is the plain named type path.name.
func (e *Expr) Is(path, name string) bool {
	return e != nil && e.Kind == Named && e.Path == path && e.Name == name
}

// Wow returns the type argument of wow.name[T], and whether it is that.
func (e *Expr) Wow(name string) (*Expr, bool) {
	if e.Is(WowPath, name) && len(e.Args) == 1 {
		return e.Args[0], true
	}
	return nil, false
}

// Field is a field of a struct.
type Field struct {
	Name     string
	Type     *Expr
	Embedded bool
	Tag      string // the tag's value, unquoted
	Pos      schema.Pos
	TagPos   schema.Pos
}

// TypeKind says what kind of type is declared.
type TypeKind uint8

// The kinds of declared types.
const (
	Defined   TypeKind = iota // type T int, type T other.T
	Struct                    // type T struct{…}
	Interface                 // type T interface{…}
	Alias                     // type T = …
)

// Type is a type that a package declares.
type Type struct {
	Name    string
	Kind    TypeKind
	Generic bool
	Under   *Expr // what a Defined or Alias type stands for
	Fields  []Field
	Embeds  []*Expr   // of an interface
	Methods []*Method // of an interface
	Pos     schema.Pos
	File    *File
}

// Param is a parameter of a method.
type Param struct {
	Name string
	Type *Expr
}

// Method is a method, or a function when Recv is empty.
type Method struct {
	Recv      string // base name of the receiver's type
	Pointer   bool
	Generic   bool // has type parameters, or a receiver that has
	Name      string
	Params    []Param
	Variadic  bool
	Results   []*Expr
	Signature string // as written, without the body
	Pos       schema.Pos
	File      *File
}

// converter turns syntax into the types of this package.
type converter struct {
	pkg  *Package
	file *File
	src  []byte
	base int // offset of the file in the file set
}

func (c *converter) pos(p token.Pos) schema.Pos {
	q := c.pkg.fset.PositionFor(p, false)
	return schema.Pos{File: c.file.Path, Line: q.Line, Column: q.Column}
}

func (c *converter) text(n ast.Node) string {
	from, to := int(n.Pos())-c.base, int(n.End())-c.base
	if from < 0 || to > len(c.src) || from > to {
		return ""
	}
	return strings.Join(strings.Fields(string(c.src[from:to])), " ")
}

func (c *converter) expr(e ast.Expr) *Expr {
	out := &Expr{Text: c.text(e)}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.expr(e.X)
	case *ast.Ident:
		out.Kind, out.Name = Named, e.Name
		_, declared := c.pkg.Names[e.Name]
		switch {
		case c.file.dotWow && !declared && ast.IsExported(e.Name):
			out.Path = WowPath
		case !predeclared[e.Name] || declared:
			out.Path = c.pkg.Path
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			out.Kind, out.Qual, out.Name = Named, x.Name, e.Sel.Name
			out.Path = "?" // resolved once all imports are known
			if path, ok := c.file.imports[x.Name]; ok {
				out.Path = path
			} else if path, ok := c.file.guess(x.Name); ok {
				out.Path = path
			}
		}
	case *ast.IndexExpr:
		*out = *c.expr(e.X)
		out.Text = c.text(e)
		out.Args = []*Expr{c.expr(e.Index)}
	case *ast.IndexListExpr:
		*out = *c.expr(e.X)
		out.Text = c.text(e)
		for _, a := range e.Indices {
			out.Args = append(out.Args, c.expr(a))
		}
	case *ast.StarExpr:
		out.Kind, out.Elem = Pointer, c.expr(e.X)
	case *ast.ArrayType:
		out.Kind, out.Elem = Array, c.expr(e.Elt)
		if e.Len == nil {
			out.Kind = Slice
		}
	case *ast.Ellipsis:
		out.Kind = Slice
		if e.Elt != nil {
			out.Elem = c.expr(e.Elt)
		}
	case *ast.MapType:
		out.Kind, out.Key, out.Elem = Map, c.expr(e.Key), c.expr(e.Value)
	case *ast.ChanType:
		out.Kind, out.Elem = Chan, c.expr(e.Value)
	case *ast.FuncType:
		out.Kind = Func
	case *ast.StructType:
		out.Kind = StructLit
		out.Lit = &Type{Kind: Struct, Fields: c.fields(e.Fields), Pos: c.pos(e.Pos()), File: c.file}
	case *ast.InterfaceType:
		out.Kind = InterfaceLit
		out.Empty = len(e.Methods.List) == 0
	}
	return out
}

func (c *converter) fields(list *ast.FieldList) []Field {
	if list == nil {
		return nil
	}
	var out []Field
	for _, f := range list.List {
		field := Field{Type: c.expr(f.Type), Pos: c.pos(f.Pos())}
		if f.Tag != nil {
			field.TagPos = c.pos(f.Tag.Pos())
			if tag, err := strconv.Unquote(f.Tag.Value); err == nil {
				field.Tag = tag
			}
		}
		if len(f.Names) == 0 {
			field.Embedded = true
			base := field.Type
			if base.Kind == Pointer {
				base = base.Elem
			}
			field.Name = base.Name
			out = append(out, field)
			continue
		}
		for _, name := range f.Names {
			field.Name, field.Pos = name.Name, c.pos(name.Pos())
			out = append(out, field)
		}
	}
	return out
}

// typ converts a type declaration.
func (c *converter) typ(spec *ast.TypeSpec) *Type {
	t := &Type{Name: spec.Name.Name, Pos: c.pos(spec.Name.Pos()), File: c.file}
	t.Generic = spec.TypeParams != nil && len(spec.TypeParams.List) > 0
	under := spec.Type
	for {
		paren, ok := under.(*ast.ParenExpr)
		if !ok {
			break
		}
		under = paren.X
	}
	switch u := under.(type) {
	case *ast.StructType:
		t.Kind, t.Fields = Struct, c.fields(u.Fields)
	case *ast.InterfaceType:
		t.Kind = Interface
		for _, f := range u.Methods.List {
			fn, ok := f.Type.(*ast.FuncType)
			if !ok {
				t.Embeds = append(t.Embeds, c.expr(f.Type))
				continue
			}
			for _, name := range f.Names {
				m := &Method{Recv: t.Name, Name: name.Name, Pos: c.pos(name.Pos()), File: c.file}
				m.Signature = c.text(f)
				c.signature(m, fn)
				t.Methods = append(t.Methods, m)
			}
		}
	default:
		t.Under = c.expr(spec.Type)
	}
	if spec.Assign.IsValid() {
		t.Kind = Alias
		t.Under = c.expr(spec.Type)
	}
	return t
}

// method converts a function or method declaration.
func (c *converter) method(fn *ast.FuncDecl) *Method {
	m := &Method{Name: fn.Name.Name, Pos: c.pos(fn.Name.Pos()), File: c.file}
	m.Generic = fn.Type.TypeParams != nil && len(fn.Type.TypeParams.List) > 0
	end := fn.Type.End()
	from, to := int(fn.Pos())-c.base, int(end)-c.base
	if from >= 0 && to <= len(c.src) && from <= to {
		m.Signature = strings.Join(strings.Fields(string(c.src[from:to])), " ")
	}
	if fn.Recv != nil && len(fn.Recv.List) > 0 {
		recv := fn.Recv.List[0].Type
		for {
			switch r := recv.(type) {
			case *ast.ParenExpr:
				recv = r.X
				continue
			case *ast.StarExpr:
				m.Pointer = true
				recv = r.X
				continue
			case *ast.IndexExpr:
				m.Generic = true
				recv = r.X
				continue
			case *ast.IndexListExpr:
				m.Generic = true
				recv = r.X
				continue
			}
			break
		}
		if id, ok := recv.(*ast.Ident); ok {
			m.Recv = id.Name
		} else {
			m.Recv = "?"
		}
	}
	c.signature(m, fn.Type)
	return m
}

func (c *converter) signature(m *Method, fn *ast.FuncType) {
	if fn.Params != nil {
		for _, p := range fn.Params.List {
			t := c.expr(p.Type)
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				m.Variadic = true
			}
			if len(p.Names) == 0 {
				m.Params = append(m.Params, Param{Type: t})
			}
			for _, name := range p.Names {
				m.Params = append(m.Params, Param{name.Name, t})
			}
		}
	}
	if fn.Results != nil {
		for _, r := range fn.Results.List {
			t := c.expr(r.Type)
			for range max(1, len(r.Names)) {
				m.Results = append(m.Results, t)
			}
		}
	}
}

// predeclared are the names of Go's universe that may stand for a type.
var predeclared = map[string]bool{
	"any": true, "bool": true, "byte": true, "comparable": true, "complex64": true, "complex128": true,
	"error": true, "float32": true, "float64": true, "int": true, "int8": true, "int16": true, "int32": true,
	"int64": true, "rune": true, "string": true, "uint": true, "uint8": true, "uint16": true, "uint32": true,
	"uint64": true, "uintptr": true,
}
