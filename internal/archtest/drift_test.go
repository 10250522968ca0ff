package archtest

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	page    = regexp.MustCompile(`\bdocs/[\w/.-]+\.(?:md|svg)\b`)
	place   = regexp.MustCompile("`([\\w./-]+/[\\w./-]*)`")
	call    = regexp.MustCompile("`([A-Za-z]\\w*)\\(\\)`")
	example = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
)

// texts are the files of the repository with one of the extensions, by their names from the root.
func texts(t *testing.T, extensions ...string) map[string]string {
	found := map[string]string{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		if err == nil && d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "bin", "runs", "node_modules"}, base)) {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && slices.Contains(extensions, path.Ext(name)) {
			var text []byte
			text, err = fs.ReadFile(root, name)
			found[name] = string(text)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files: %v", len(found), err)
	}
	return found
}

func exists(name ...string) bool {
	_, err := os.Stat(filepath.Join(append([]string{"../.."}, name...)...))
	return err == nil
}

// TestPlaces: every link of a page, every page that a file names, and every file or room that a page names is there.
func TestPlaces(t *testing.T) {
	for name, text := range texts(t, ".md", ".go", ".py", ".sh", ".yaml") {
		for _, p := range page.FindAllString(text, -1) {
			if !exists(p) {
				t.Errorf("%s names %s, which is not there", name, p)
			}
		}
		if path.Ext(name) != ".md" {
			continue
		}
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			if !exists(path.Dir(name), l[1]) {
				t.Errorf("%s: link to %s leads nowhere", name, l[1])
			}
		}
		for _, p := range place.FindAllStringSubmatch(text, -1) {
			top, _, _ := strings.Cut(p[1], "/")
			if ours := exists(top) && top != "bin" && top != "runs"; ours && !exists(p[1]) && !exists(path.Dir(name), p[1]) {
				t.Errorf("%s names %s, which is not there", name, p[1])
			}
		}
	}
}

// TestNames: every function and every test that a page names is defined.
func TestNames(t *testing.T) {
	defined := map[string]bool{}
	for _, text := range texts(t, ".go", ".py", ".js") {
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:func (?:\([^)]*\) )?|def |function )(\w+)`).FindAllStringSubmatch(text, -1) {
			defined[m[1]] = true
		}
	}
	seen := 0
	for name, text := range texts(t, ".md") {
		for _, pattern := range []*regexp.Regexp{call, example} {
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				seen++
				if !defined[m[1]] {
					t.Errorf("%s names %s, which nothing defines", name, m[1])
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("pages name %d functions and tests; the patterns are broken", seen)
	}
}

// TestDocLinks: what a comment links to, as [Name], is a name of that package.
func TestDocLinks(t *testing.T) {
	links := 0
	for dir, files := range packages(t) {
		known := map[string]bool{}
		for _, f := range files {
			declare(known, f)
		}
		for _, f := range files {
			for _, group := range f.Comments {
				for _, name := range linked(group.Text()) {
					links++
					if !known[name] {
						t.Errorf("%s: a comment links to [%s], which is not there", dir, name)
					}
				}
			}
		}
	}
	if links < 20 {
		t.Errorf("found %d links; the parser is broken", links)
	}
}

// packages parses the code of every room, by folder.
func packages(t *testing.T) map[string][]*ast.File {
	rooms := map[string][]*ast.File{}
	for name, text := range texts(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		rooms[path.Dir(name)] = append(rooms[path.Dir(name)], f)
	}
	return rooms
}

// declare notes the names of a file: Name, Type.Method, and fields.
func declare(known map[string]bool, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			known[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					known[s.Name.Name] = true
					declareFields(known, s.Type)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						known[n.Name] = true
					}
				}
			}
		}
	}
}

// declareFields notes the fields of a struct: a shape may be one of them, as in [Layers].
func declareFields(known map[string]bool, of ast.Expr) {
	if s, ok := of.(*ast.StructType); ok {
		for _, field := range s.Fields.List {
			for _, n := range field.Names {
				known[n.Name] = true
			}
		}
	}
}

// receiver is "Type." of a method.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if list, ok := of.(*ast.IndexExpr); ok {
		of = list.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name + "."
}

// linked are the names that a comment links to: [Name] and [Type.Method]. One capital, or a name in capitals, is a shape.
func linked(text string) []string {
	var names []string
	p := comment.Parser{LookupSym: func(recv, name string) bool {
		if recv != "" {
			name = recv + "." + name
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
			names = append(names, name)
		}
		return true
	}}
	p.Parse(text)
	return names
}
