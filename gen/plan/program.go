package plan

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/scan"
	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// Program is all packages of one run.
type Program struct {
	Modules *source.Modules
	Found   *diag.List
	Units   []*Unit // of the patterns, by directory

	mu       sync.Mutex
	byPath   map[string]*demand
	wholeMod map[string][]*Unit // all units of a module, where they had to be looked for
	patterns map[string]*Unit
}

// demand is a package that is read once, whoever asks first.
type demand struct {
	once sync.Once
	unit *Unit
}

// Load reads, plans and links the packages of the inputs.
func Load(modules *source.Modules, inputs []source.Input, found *diag.List) (*Program, error) {
	p := &Program{Modules: modules, Found: found, byPath: map[string]*demand{}, wholeMod: map[string][]*Unit{}, patterns: map[string]*Unit{}}
	units := make([]*Unit, len(inputs))
	errs := make([]error, len(inputs))
	each(len(inputs), func(i int) {
		if len(inputs[i].YAML) == 0 && !source.Quick(inputs[i].Dir) {
			return
		}
		pkg, err := modules.Read(inputs[i])
		if err != nil {
			errs[i] = err
			return
		}
		units[i] = newUnit(pkg, found)
	})
	for i, err := range errs {
		if err != nil {
			return nil, &source.UsageError{Pattern: inputs[i].Dir, Reason: err.Error()}
		}
	}
	for _, u := range units {
		if u != nil {
			p.Units = append(p.Units, u)
			p.patterns[u.Pkg.Path] = u
		}
	}
	p.link()
	return p, nil
}

// each calls do for 0..n-1 on as many goroutines as there are processors.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// unitOf returns the unit of an import path as seen from another unit: one of
// the patterns, or one that is read now. It is nil when the package is not at
// hand.
func (p *Program) unitOf(from *Unit, path string) *Unit {
	if u, ok := p.patterns[path]; ok {
		return u
	}
	if path == "" || path == "?" || !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !p.sameModule(from, path) {
		return nil // the standard library declares no messages
	}
	p.mu.Lock()
	d := p.byPath[path]
	if d == nil {
		d = &demand{}
		p.byPath[path] = d
	}
	p.mu.Unlock()
	d.once.Do(func() {
		if dir, ok := p.Modules.DirOf(from.Pkg.Module, path); ok {
			d.unit = p.read(dir, path)
		}
	})
	return d.unit
}

func (p *Program) sameModule(from *Unit, path string) bool {
	return path == from.Pkg.Module.Path || strings.HasPrefix(path, from.Pkg.Module.Path+"/")
}

// read plans a package that no pattern named. Its own mistakes are not this
// run's business.
func (p *Program) read(dir, path string) *Unit {
	pkg, err := p.Modules.ReadImport(dir, path)
	if err != nil || pkg.Name == "" {
		return nil
	}
	return newUnit(pkg, &diag.List{})
}

// everywhere returns all units of the module that u is in: an aggregate that a
// command names from another package may be in any of them.
func (p *Program) everywhere(u *Unit) []*Unit {
	mod := u.Pkg.Module
	if all, ok := p.wholeMod[mod.Dir]; ok {
		return all
	}
	all := slices.Clone(p.Units)
	inputs, err := p.Modules.Match(mod.Dir, []string{"./..."})
	if err == nil {
		units := make([]*Unit, len(inputs))
		each(len(inputs), func(i int) {
			path := mod.PathOf(inputs[i].Dir)
			if _, known := p.patterns[path]; known || !source.Quick(inputs[i].Dir) {
				return
			}
			units[i] = p.unitOf(u, path)
		})
		for _, other := range units {
			if other != nil {
				all = append(all, other)
			}
		}
	}
	p.wholeMod[mod.Dir] = all
	return all
}

// Packages returns the models of all units that were asked for.
func (p *Program) Packages() []*schema.Package {
	packages := make([]*schema.Package, len(p.Units))
	for i, u := range p.Units {
		packages[i] = u.Model
	}
	return packages
}

// newUnit reads the declarations of a package and plans it on its own.
func newUnit(pkg *source.Package, found *diag.List) *Unit {
	u := &Unit{Pkg: pkg, found: found}
	found.AddAll(pkg.Diags)
	u.declared = scan.Package(pkg, found)
	u.plan()
	return u
}
