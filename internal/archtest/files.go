package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A File is what a Go file imports.
type File struct {
	Name    string // slash-separated, from the root
	Imports []string
}

func (f File) room() string { return path.Dir(f.Name) }
func (f File) test() bool   { return strings.HasSuffix(f.Name, "_test.go") }

// Files reads the imports of every Go file below root.
func Files(root fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		imports, err := importsOf(name, src)
		files = append(files, File{name, imports})
		return err
	})
	return files, err
}

// skipFolder leaves out what is not source of this module.
func skipFolder(name string) error {
	base := path.Base(name)
	if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "bin" || base == "scripts") {
		return fs.SkipDir
	}
	return nil
}

func importsOf(name string, src []byte) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("archtest: %w", err)
	}
	var imports []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("archtest: %s: %w", name, err)
		}
		imports = append(imports, imported)
	}
	return imports, nil
}
