// Package templates holds what `wowgen init` writes: a small package that
// compiles, runs and has a test, as annotated Go or with a wow.yaml.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

//go:embed annotated yaml both
var files embed.FS

// Data is what the templates are filled with.
type Data struct {
	Package string // name of the Go package
	Context string // wire name of the bounded context
	Import  string // import path of the package
}

// File is one file of a scaffold.
type File struct {
	Name string // slash-separated, below the package's directory
	Data []byte
}

// Scaffold returns the files of a new package, sorted by name.
func Scaffold(yaml bool, data Data) ([]File, error) {
	kind := "annotated"
	if yaml {
		kind = "yaml"
	}
	var out []File
	for _, folder := range []string{"both", kind} {
		err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			t, err := template.ParseFS(files, name)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := t.Execute(&b, data); err != nil {
				return err
			}
			target := strings.TrimSuffix(strings.TrimPrefix(name, folder+"/"), ".tmpl")
			out = append(out, File{strings.ReplaceAll(target, "PACKAGE", data.Package), b.Bytes()})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("templates: filling %q: %w", path.Join(folder), err)
		}
	}
	return out, nil
}
