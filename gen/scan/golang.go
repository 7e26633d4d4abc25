package scan

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// goScanner reads the directives of one Go file. It walks all comments, not
// only docs, because a directive that is detached from its declaration is in
// no doc, and must not be ignored in silence.
type goScanner struct {
	pkg   *source.Package
	file  *source.File
	found *diag.List
	out   *schema.Declared

	owners map[*ast.CommentGroup]owner
}

// owner is the declaration that a comment group belongs to.
type owner struct {
	place  schema.Place // 0 where no directive may stand
	what   string       // for people
	target schema.Target
	fix    string // how a directive gets to where it may stand
}

func (s *goScanner) scan() {
	for _, group := range s.file.AST.Comments {
		for _, c := range group.List {
			if !mentionsWow(c.Text) {
				continue
			}
			if s.owners == nil {
				s.findOwners()
			}
			s.comment(group, c)
		}
	}
	s.tags()
}

// mentionsWow spares most comments a closer look.
func mentionsWow(text string) bool {
	for i := 0; i+3 <= len(text); i++ {
		if text[i]|0x20 == 'w' && text[i+1]|0x20 == 'o' && text[i+2]|0x20 == 'w' {
			return true
		}
	}
	return false
}

func (s *goScanner) comment(group *ast.CommentGroup, c *ast.Comment) {
	before := s.found.Len()
	s.directive(group, c)
	if s.found.Len() > before {
		s.out.Doubt(s.owners[group].target.Type)
	}
}

func (s *goScanner) directive(group *ast.CommentGroup, c *ast.Comment) {
	d, ok := ast.ParseDirective(c.Slash, strings.TrimRight(c.Text, "\r\n"))
	if !ok || d.Tool != "wow" {
		s.nearMiss(group, c)
		return
	}
	pos := s.file.Pos(c.Slash)
	if s.file.Test {
		s.found.Warn(diag.Diagnostic{
			Pos: pos, Code: "test-file", Message: "directives in test files are not read",
			Wanted: "declarations in files that are built into the package", Found: "//wow:" + d.Name + " in a _test.go file",
			Fix: "move the declaration, or remove the directive",
		})
		return
	}
	def, ok := schema.Lookup(d.Name)
	if !ok {
		s.unknown(pos, d.Name)
		return
	}
	own, ok := s.owners[group]
	if !ok {
		own = s.strayOwner(group)
	}
	if own.place&def.On == 0 {
		s.misplaced(pos, def, own)
		return
	}
	decl := &schema.Decl{Directive: def, Target: own.target, Pos: pos}
	// What is wrong with its arguments does not change what the type is: were it
	// dropped, a state with a tagged key would be taken for a command.
	if s.arguments(decl, &d) || def.On&schema.OnType != 0 {
		s.out.Decls = append(s.out.Decls, decl)
	}
	s.constrained(decl)
}

func (s *goScanner) unknown(pos schema.Pos, name string) {
	d := diag.Diagnostic{
		Pos: pos, Code: "unknown-directive", Message: "unknown directive //wow:" + name,
		Wanted: "one of " + strings.Join(schema.DirectiveNames(), ", "), Found: name,
		Fix: "remove it; wowgen directives lists what there is",
	}
	if name == "" {
		d.Message, d.Found = "a directive without a name", "//wow:"
	}
	if similar := schema.Suggest(name, schema.DirectiveNames()); similar != "" {
		d.Fix = "write //wow:" + similar
	}
	s.found.Add(d)
}

func (s *goScanner) misplaced(pos schema.Pos, def *schema.Directive, own owner) {
	d := diag.Diagnostic{
		Pos: pos, Code: "misplaced-directive",
		Message: "//wow:" + def.Name + " stands on " + own.what,
		Wanted:  def.On.String(), Found: own.what, Fix: own.fix, See: def.Name,
	}
	if d.Fix == "" {
		d.Fix = "move it to the doc comment of " + def.On.String()
		if def.On == schema.OnPackage {
			d.Fix = "move it to the comment above the package clause"
		}
	}
	s.found.Add(d)
}

// constrained warns about a declaration that a build constraint may leave out.
func (s *goScanner) constrained(decl *schema.Decl) {
	if s.file.Constraint == "" {
		return
	}
	s.found.Warn(diag.Diagnostic{
		Pos: decl.Pos, Code: "build-constraint",
		Message: "declaration under the build constraint " + s.file.Constraint,
		Wanted:  "declarations that hold in every build", Found: s.file.Constraint,
		Fix: "move the declaration to a file without a constraint: the output has none",
	})
}

// findOwners maps each doc comment to its declaration.
func (s *goScanner) findOwners() {
	s.owners = map[*ast.CommentGroup]owner{}
	file := s.file.AST
	if file.Doc != nil {
		s.owners[file.Doc] = owner{place: schema.OnPackage, what: "the package clause"}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			s.ownFunc(d)
		case *ast.GenDecl:
			s.ownGen(d)
		}
	}
}

func (s *goScanner) ownFunc(d *ast.FuncDecl) {
	if d.Doc == nil {
		return
	}
	if d.Recv == nil {
		s.owners[d.Doc] = owner{place: schema.OnFunc, what: "a function", target: schema.Target{Func: d.Name.Name}}
		return
	}
	recv := ""
	if len(d.Recv.List) > 0 {
		recv = baseName(d.Recv.List[0].Type)
	}
	s.owners[d.Doc] = owner{place: schema.OnMethod, what: "a method", target: schema.Target{Type: recv, Method: d.Name.Name}}
}

func (s *goScanner) ownGen(d *ast.GenDecl) {
	if d.Tok != token.TYPE {
		if d.Doc != nil {
			s.owners[d.Doc] = owner{what: "a " + d.Tok.String() + " declaration"}
		}
		return
	}
	if d.Doc != nil && d.Lparen.IsValid() {
		own := owner{what: "a type ( … ) group", fix: "move it above the one type that is meant, inside the parentheses"}
		if len(d.Specs) == 0 {
			own.fix = "remove it: the group is empty"
		}
		s.owners[d.Doc] = own
	}
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		own := owner{place: schema.OnType, what: "a type", target: schema.Target{Type: t.Name.Name}}
		if t.Doc != nil {
			s.owners[t.Doc] = own
		}
		if d.Doc != nil && !d.Lparen.IsValid() {
			s.owners[d.Doc] = own
		}
		after := owner{what: "the end of a line", fix: "move it above the type"}
		if t.Comment != nil {
			s.owners[t.Comment] = after
		}
		s.ownMembers(t)
	}
}

// ownMembers maps the comments inside a struct or interface.
func (s *goScanner) ownMembers(t *ast.TypeSpec) {
	var list *ast.FieldList
	iface := false
	switch u := t.Type.(type) {
	case *ast.StructType:
		list = u.Fields
	case *ast.InterfaceType:
		list, iface = u.Methods, true
	}
	if list == nil {
		return
	}
	for _, f := range list.List {
		own := owner{what: "a field", fix: "move it above the type; what a field means is said by its tag, such as `wow:\"key\"`"}
		if iface && len(f.Names) == 1 {
			own = owner{place: schema.OnMethod, what: "a method", target: schema.Target{Type: t.Name.Name, Method: f.Names[0].Name}}
		}
		if f.Doc != nil {
			s.owners[f.Doc] = own
		}
		if f.Comment != nil {
			s.owners[f.Comment] = owner{what: "the end of a line", fix: "move it above the declaration"}
		}
	}
}

// strayOwner says what a comment that belongs to no declaration stands on.
func (s *goScanner) strayOwner(group *ast.CommentGroup) owner {
	file := s.file.AST
	if group.End() < file.Package {
		return owner{what: "a comment that a blank line separates from the package clause", fix: "remove the blank line below it"}
	}
	for _, decl := range file.Decls {
		from := decl.Pos()
		if group.Pos() > decl.End() {
			continue
		}
		if group.Pos() > from {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil && group.Pos() > fn.Body.Pos() {
				return owner{what: "a comment inside a function", fix: "move it above the function"}
			}
			if gen, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range gen.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok && group.End() < t.Pos() {
						return owner{what: "a comment that a blank line separates from " + t.Name.Name, fix: "remove the blank line below it"}
					}
				}
			}
			return owner{what: "a comment inside a declaration", fix: "move it above the declaration"}
		}
		return owner{what: "a comment that a blank line separates from " + declName(decl), fix: "remove the blank line below it"}
	}
	return owner{what: "a comment at the end of the file", fix: "move it above the declaration that is meant"}
}

func declName(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		if len(d.Specs) > 0 {
			if t, ok := d.Specs[0].(*ast.TypeSpec); ok {
				return t.Name.Name
			}
		}
		return "the " + d.Tok.String() + " declaration"
	}
	return "the declaration"
}

func baseName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}
