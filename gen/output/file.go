package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/diff"
)

// Change is what is to become of one file.
type Change struct {
	Path   string
	Old    []byte // nil: there is none
	New    []byte // nil: it is to go
	Edited bool   // by hand: wowgen refuses to write it
}

// Verb says what happens to the file.
func (c *Change) Verb() string {
	switch {
	case c.Old == nil:
		return "create"
	case c.New == nil:
		return "remove"
	}
	return "update"
}

// Diff is the change as a unified diff, the file under the given name.
func (c *Change) Diff(name string) []byte {
	return diff.Diff(name, c.Old, name+" (generated)", c.New)
}

// Read returns a file's contents, nil when there is no such file.
func Read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

// Same tells whether two contents differ in their line ends at most.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\r') < 0 {
		return false
	}
	return bytes.Equal(bytes.ReplaceAll(a, []byte("\r\n"), []byte("\n")), b)
}

// TempPrefix begins the names of our temporary files. One is left behind when
// a run is killed; nothing reads it, and wowgen clean removes it.
const TempPrefix = ".wowgen-"

// maxWriters bounds the files that are written at once.
const maxWriters = 8

// Apply carries out changes. All new contents are on disk, beside their
// places, before the first file is replaced.
func Apply(changes []*Change) (err error) {
	temps := make([]string, len(changes))
	defer func() {
		for _, t := range temps {
			if t != "" {
				err = errors.Join(err, os.Remove(t))
			}
		}
	}()
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxWriters)
	for i, c := range changes {
		if c.New == nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var err error
			if temps[i], err = writeBeside(c); err != nil {
				errs[i] = fmt.Errorf("output: writing %q: %w", c.Path, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, c := range changes {
		if c.New == nil {
			if err := os.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("output: removing %q: %w", c.Path, err)
			}
			continue
		}
		if err := os.Rename(temps[i], c.Path); err != nil {
			return fmt.Errorf("output: replacing %q: %w", c.Path, err)
		}
		temps[i] = ""
	}
	return nil
}

func writeBeside(c *Change) (string, error) {
	mode := fs.FileMode(0o644)
	if c.Old != nil {
		if info, err := os.Stat(c.Path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	f, err := os.CreateTemp(filepath.Dir(c.Path), TempPrefix+"*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(c.New)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	return f.Name(), err
}
