package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxDirs bounds what one pattern may match: walking a whole disk by mistake ends.
const MaxDirs = 100_000

// YAMLName is the name under which a package's YAML is found.
const YAMLName = "wow.yaml"

// Input is one directory to generate for, and the YAML files that were named
// for it apart from its wow.yaml.
type Input struct {
	Dir  string
	YAML []string
}

// UsageError is a pattern that cannot be meant.
type UsageError struct{ Pattern, Reason string }

func (e *UsageError) Error() string {
	return fmt.Sprintf("pattern %q: %s", e.Pattern, e.Reason)
}

// Match turns patterns into directories, as the go command does: a directory,
// a directory and all below it (dir/...), an import path of the module, or a
// YAML file. Without patterns it is the directory dir. The result is sorted.
func (m *Modules) Match(dir string, patterns []string) ([]Input, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	found := map[string]*Input{}
	add := func(at string) *Input {
		if found[at] == nil {
			found[at] = &Input{Dir: at}
		}
		return found[at]
	}
	for _, pattern := range patterns {
		if ext := filepath.Ext(pattern); ext == ".yaml" || ext == ".yml" {
			file := abs(dir, pattern)
			if info, err := os.Stat(file); err != nil || info.IsDir() {
				return nil, &UsageError{pattern, "there is no such file"}
			}
			in := add(filepath.Dir(file))
			if filepath.Base(file) != YAMLName && !slices.Contains(in.YAML, file) {
				in.YAML = append(in.YAML, file)
			}
			continue
		}
		root, below := strings.CutSuffix(filepath.ToSlash(pattern), "...")
		root = strings.TrimSuffix(root, "/")
		if root == "" {
			root = "."
			if strings.HasPrefix(pattern, "/") {
				root = "/"
			}
		}
		if strings.Contains(root, "...") {
			return nil, &UsageError{pattern, "... may only stand at the end"}
		}
		at, err := m.rootOf(dir, root)
		if err != nil {
			return nil, &UsageError{pattern, err.Error()}
		}
		if !below {
			if !hasInput(at) {
				return nil, &UsageError{pattern, "there are no Go or YAML files in the directory"}
			}
			add(at)
			continue
		}
		dirs, err := m.walk(at)
		if err != nil {
			return nil, &UsageError{pattern, err.Error()}
		}
		if len(dirs) == 0 {
			return nil, &UsageError{pattern, "it matches no packages"}
		}
		for _, d := range dirs {
			add(d)
		}
	}
	inputs := make([]Input, 0, len(found))
	for _, in := range found {
		slices.Sort(in.YAML)
		inputs = append(inputs, *in)
	}
	slices.SortFunc(inputs, func(a, b Input) int { return strings.Compare(a.Dir, b.Dir) })
	return inputs, nil
}

// rootOf finds the directory that a pattern without its dots names.
func (m *Modules) rootOf(dir, root string) (string, error) {
	relative := root == "." || root == ".." || strings.HasPrefix(root, "./") || strings.HasPrefix(root, "../")
	if at := abs(dir, root); relative || filepath.IsAbs(root) {
		info, err := os.Stat(at)
		if err != nil || !info.IsDir() {
			return "", fmt.Errorf("there is no such directory")
		}
		return at, nil
	}
	if mod, err := m.Of(dir); err == nil {
		if at, ok := m.DirOf(mod, root); ok {
			if _, own := within(root, mod.Path); own || mod.uses(at) {
				return at, nil
			}
			if other, err := m.Of(at); err == nil && mod.uses(other.Dir) {
				return at, nil
			}
			return "", fmt.Errorf("the package is not of this module")
		}
	}
	if info, err := os.Stat(abs(dir, root)); err == nil && info.IsDir() {
		return "", fmt.Errorf("the module has no such package: write ./%s for the directory", root)
	}
	return "", fmt.Errorf("there is no such command or package: see wowgen -h")
}

// walk finds the directories with input at or below root, passing over what
// the go command passes over: testdata, vendor, names that begin with . or _,
// and other modules unless they are in the workspace.
func (m *Modules) walk(root string) ([]string, error) {
	var dirs []string
	base, _ := m.Of(root)
	top := root + string(filepath.Separator) // the root itself may be a symbolic link
	err := filepath.WalkDir(top, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			if len(dirs) > 0 && dirs[len(dirs)-1] == filepath.Dir(at) {
				return nil
			}
			if isInput(entry.Name()) {
				if len(dirs) == MaxDirs {
					return fmt.Errorf("it matches more than %d packages", MaxDirs)
				}
				dirs = append(dirs, filepath.Dir(at))
			}
			return nil
		}
		if at == top {
			return nil
		}
		name := entry.Name()
		if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return filepath.SkipDir
		}
		if _, err := os.Lstat(filepath.Join(at, "go.mod")); err == nil && (base == nil || !base.uses(at)) {
			return filepath.SkipDir
		}
		return nil
	})
	slices.Sort(dirs)
	return slices.Compact(dirs), err
}

func isInput(name string) bool {
	if name == YAMLName {
		return true
	}
	return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

func hasInput(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && isInput(e.Name()) })
}

func abs(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
