package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Module is a module that packages were found in.
type Module struct {
	Dir  string // where its go.mod is
	Path string

	requires map[string]string // module path to version
	replaces map[string]string // module path to directory, or to path@version
	work     *workspace
}

// workspace is a go.work file: the modules that are edited together.
type workspace struct {
	dirs     []string
	replaces map[string]string
}

// Modules finds the module of a directory, each go.mod read once. It may be
// used by several goroutines.
type Modules struct {
	mu    sync.Mutex
	byDir map[string]*Module
}

// Of returns the module that dir belongs to: the nearest go.mod above it.
func (m *Modules) Of(dir string) (*Module, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(dir)
}

func (m *Modules) of(dir string) (*Module, error) {
	if mod, ok := m.byDir[dir]; ok {
		return mod, nil
	}
	if m.byDir == nil {
		m.byDir = map[string]*Module{}
	}
	file := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, fmt.Errorf("no go.mod here or above: run go mod init in the module's root")
		}
		mod, err := m.of(parent)
		if err == nil {
			m.byDir[dir] = mod
		}
		return mod, err
	}
	if err != nil {
		return nil, err
	}
	mod, err := parseModule(dir, file, data)
	if err != nil {
		return nil, err
	}
	mod.work = m.workspaceAbove(dir)
	m.byDir[dir] = mod
	return mod, nil
}

func parseModule(dir, file string, data []byte) (*Module, error) {
	f, err := modfile.ParseLax(file, data, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if f.Module == nil {
		return nil, fmt.Errorf("%s has no module line", file)
	}
	mod := &Module{Dir: dir, Path: f.Module.Mod.Path, requires: map[string]string{}, replaces: map[string]string{}}
	for _, r := range f.Require {
		mod.requires[r.Mod.Path] = r.Mod.Version
	}
	// ParseLax passes over replace lines, which dependencies may not use; ours may.
	if full, err := modfile.Parse(file, data, nil); err == nil {
		addReplaces(mod.replaces, dir, full.Replace)
	}
	return mod, nil
}

func addReplaces(to map[string]string, dir string, list []*modfile.Replace) {
	for _, r := range list {
		switch {
		case r.New.Version != "":
			to[r.Old.Path] = r.New.Path + "@" + r.New.Version
		case filepath.IsAbs(r.New.Path):
			to[r.Old.Path] = filepath.Clean(r.New.Path)
		default:
			to[r.Old.Path] = filepath.Join(dir, filepath.FromSlash(r.New.Path))
		}
	}
}

// workspaceAbove finds the go.work file that holds for dir, as the go command
// does: GOWORK names it or says off, else the nearest one above.
func (m *Modules) workspaceAbove(dir string) *workspace {
	file := os.Getenv("GOWORK")
	if file == "off" {
		return nil
	}
	for at := dir; file == ""; {
		candidate := filepath.Join(at, "go.work")
		if _, err := os.Stat(candidate); err == nil {
			file = candidate
			break
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil
		}
		at = parent
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	f, err := modfile.ParseWork(file, data, nil)
	if err != nil {
		return nil
	}
	w := &workspace{replaces: map[string]string{}}
	for _, use := range f.Use {
		at := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(file), at)
		}
		w.dirs = append(w.dirs, at)
	}
	addReplaces(w.replaces, filepath.Dir(file), f.Replace)
	return w
}

// uses tells whether the workspace of the module edits the module in dir, too.
func (m *Module) uses(dir string) bool {
	if m.work == nil {
		return false
	}
	for _, d := range m.work.dirs {
		if d == dir {
			return true
		}
	}
	return false
}

// PathOf returns the import path of a directory of the module.
func (m *Module) PathOf(dir string) string {
	rel, err := filepath.Rel(m.Dir, dir)
	if err != nil || rel == "." {
		return m.Path
	}
	return path.Join(m.Path, filepath.ToSlash(rel))
}

// DirOf finds the directory of an import path, as seen from the module: in the
// module itself, its workspace, its vendor directory, a replaced directory, or
// the module cache.
func (m *Modules) DirOf(from *Module, importPath string) (string, bool) {
	if rest, ok := within(importPath, from.Path); ok {
		return existing(from.Dir, rest)
	}
	if from.work != nil {
		for _, dir := range from.work.dirs {
			if mod, err := m.Of(dir); err == nil {
				if rest, ok := within(importPath, mod.Path); ok {
					if at, ok := existing(mod.Dir, rest); ok {
						return at, true
					}
				}
			}
		}
	}
	if at, ok := existing(filepath.Join(from.Dir, "vendor"), importPath); ok {
		return at, true
	}
	best, target := "", ""
	consider := func(modPath, at string) {
		if _, ok := within(importPath, modPath); ok && len(modPath) >= len(best) {
			best, target = modPath, at
		}
	}
	for modPath, version := range from.requires {
		consider(modPath, modPath+"@"+version)
	}
	for modPath, at := range from.replaces {
		consider(modPath, at)
	}
	if from.work != nil {
		for modPath, at := range from.work.replaces {
			consider(modPath, at)
		}
	}
	if best == "" {
		return "", false
	}
	rest, _ := within(importPath, best)
	if !filepath.IsAbs(target) {
		modPath, version, _ := strings.Cut(target, "@")
		escaped, err := module.EscapePath(modPath)
		if err != nil {
			return "", false
		}
		escapedVersion, err := module.EscapeVersion(version)
		if err != nil {
			return "", false
		}
		target = filepath.Join(moduleCache(), filepath.FromSlash(escaped)+"@"+escapedVersion)
	}
	return existing(target, rest)
}

func moduleCache() string {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return dir
	}
	gopath := os.Getenv("GOPATH")
	if gopath == "" {
		home, _ := os.UserHomeDir()
		gopath = filepath.Join(home, "go")
	}
	return filepath.Join(filepath.SplitList(gopath)[0], "pkg", "mod")
}

// within returns what is left of an import path below a module's path.
func within(importPath, modPath string) (rest string, ok bool) {
	if importPath == modPath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modPath+"/")
}

func existing(root, rest string) (string, bool) {
	dir := filepath.Join(root, filepath.FromSlash(rest))
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}
