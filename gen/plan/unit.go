package plan

import (
	"maps"
	"slices"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Unit is one package while it is planned.
type Unit struct {
	Pkg   *source.Package
	Model *schema.Package

	declared *schema.Declared
	found    *diag.List

	types   map[string]map[string]*schema.Decl // by type, then directive
	methods map[methodKey]map[string]*schema.Decl
	options map[string]map[string]*schema.Decl // of a command's handler, by command
	upcasts []*schema.Decl

	roles    map[string]string // type to the directive that gives it a role; "?" when it cannot have it
	commands map[string]*schema.Command
	events   map[string]*schema.Event
	states   map[string]*schema.Aggregate // by the state's type
	handled  map[methodKey]bool           // methods that are handlers, or were complained about
	blamed   map[string]bool              // types that a complaint was about already
	doubtful map[string]bool              // structs that might be messages, but for a mistake that was reported
	uses     []use                        // what is said about messages of other packages

	interfaces map[string]bool                  // consumers that are written as interfaces
	fieldsOf   map[*source.Type][]promotedField // what fields has found
	methodSets map[string][]*source.Method      // what methodsOf has found

	// Explained is every method of an annotated type, for explain.
	Explained []Method
}

type methodKey struct{ typ, method string }

// Method is what became of a method of an annotated type.
type Method struct {
	Type, Name string
	Role       string // decide, apply, handle, ordinary, ignored
	Why        string
	Signature  string
	Pos        schema.Pos
}

// plan decides everything that the package alone can decide.
func (u *Unit) plan() {
	u.Model = &schema.Package{
		Path: u.Pkg.Path, Name: u.Pkg.Name, Dir: u.Pkg.Dir,
		Imports: map[string]string{}, Names: u.Pkg.Names,
	}
	u.roles = map[string]string{}
	u.interfaces = map[string]bool{}
	u.fieldsOf = map[*source.Type][]promotedField{}
	u.methodSets = map[string][]*source.Method{}
	u.states = map[string]*schema.Aggregate{}
	u.handled = map[methodKey]bool{}
	u.blamed = map[string]bool{}
	u.commands = map[string]*schema.Command{}
	u.events = map[string]*schema.Event{}
	if u.Pkg.Name == "" && len(u.declared.Decls) > 0 {
		u.report(u.declared.Decls[0].Pos, diag.Diagnostic{
			Code: "no-package", Message: "the directory has no Go file, so that nobody knows the package's name",
			Wanted: "a Go file beside the YAML", Found: "none", Fix: "write doc.go with a package clause",
		})
		return
	}
	u.index()
	u.doubt()
	u.writeTypes()
	u.giveRoles()
	u.takesNothing()
	u.aggregates()
	u.findCommands()
	u.decides()
	u.findEvents()
	u.applies()
	u.consumers()
	u.finishCommands()
	u.finishEvents()
	u.unused()
	u.sort()
}

// index sorts the declarations by what they are about.
func (u *Unit) index() {
	u.types = map[string]map[string]*schema.Decl{}
	u.methods = map[methodKey]map[string]*schema.Decl{}
	u.options = map[string]map[string]*schema.Decl{}
	for _, d := range u.declared.Decls {
		name := d.Directive.Name
		t := d.Target
		switch {
		case t.Command != "":
			put(u.options, t.Command, name, d)
		case t.Method != "":
			put(u.methods, methodKey{t.Type, t.Method}, name, d)
		case t.Func != "":
			u.upcasts = append(u.upcasts, d)
		case t.Type != "":
			put(u.types, t.Type, name, d)
		default:
			u.Model.Context = d.Arg("name")
		}
	}
}

// doubt collects the structs whose declaration could not be read, and what
// methods make of them: an event is one only when its command is. Nothing is said
// about them; it would be wrong once the mistake is mended.
func (u *Unit) doubt() {
	if len(u.declared.Doubtful) == 0 {
		return
	}
	u.doubtful = maps.Clone(u.declared.Doubtful)
	for _, methods := range u.Pkg.Methods {
		for _, m := range methods {
			if slices.ContainsFunc(m.Params, func(p source.Param) bool { return u.declared.Doubtful[messageName(p.Type)] }) {
				u.cloud(m)
			}
		}
	}
}

// cloud makes doubtful what a method returns that was complained about.
func (u *Unit) cloud(m *source.Method) {
	if u.doubtful == nil {
		u.doubtful = map[string]bool{}
	}
	for _, r := range m.Results {
		if u.doubtful[messageName(r)] = true; r.Elem != nil {
			u.doubtful[messageName(r.Elem)] = true
		}
	}
}

// messageName is the name in T, *T or wow.Command[T].
func messageName(e *source.Expr) string {
	if arg, ok := e.Wow("Command"); ok {
		e = arg
	}
	if e.Kind == source.Pointer && e.Elem != nil {
		e = e.Elem
	}
	return e.Name
}

func put[K comparable](m map[K]map[string]*schema.Decl, key K, name string, d *schema.Decl) {
	if m[key] == nil {
		m[key] = map[string]*schema.Decl{}
	}
	m[key][name] = d
}

// decl returns a declaration about a type, or nil.
func (u *Unit) decl(typ, directive string) *schema.Decl { return u.types[typ][directive] }

// method finds a method by the type that declares it.
func (u *Unit) method(key methodKey) *source.Method {
	for _, m := range u.Pkg.Methods[key.typ] {
		if m.Name == key.method {
			return m
		}
	}
	if t := u.Pkg.Types[key.typ]; t != nil {
		for _, m := range t.Methods {
			if m.Name == key.method {
				return m
			}
		}
	}
	return nil
}

func (u *Unit) report(pos schema.Pos, d diag.Diagnostic) {
	d.Pos = pos
	u.found.Add(d)
}

// missing reports that something a type needs is not there, unless that is the
// consequence of another mistake, which has been reported.
func (u *Unit) missing(typ string, pos schema.Pos, d diag.Diagnostic) {
	if u.declared.Damaged || len(u.Pkg.Diags) > 0 || u.blamed[typ] {
		return
	}
	u.report(pos, d)
}

// blame notes that a type's handlers were complained about.
func (u *Unit) blame(r schema.Ref) {
	if r.Path == u.Pkg.Path {
		u.blamed[r.Name] = true
	}
}

func (u *Unit) warn(pos schema.Pos, d diag.Diagnostic) {
	d.Pos = pos
	u.found.Warn(d)
}
