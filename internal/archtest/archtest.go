package archtest

import (
	_ "embed"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed rooms.txt
var rooms string

// pure is the part of the standard library that cannot do I/O, block, race, read a clock or roll dice.
var pure = []string{"cmp", "errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings",
	"unicode", "unicode/utf8"}

const module = "molt"

// A Plan says what each room may import.
type Plan struct {
	rooms map[string]rule
	tests rule
}

// rule is one line of rooms.txt.
type rule struct {
	std, pure bool
	rooms     []string // ours
	packages  []string // from outside, and single packages of the standard library
	trees     []string // from outside, with everything below
}

// Rooms parses rooms.txt.
func Rooms() (Plan, error) { return parse(rooms) }

func parse(text string) (Plan, error) {
	p := Plan{rooms: map[string]rule{}}
	var names []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			return p, fmt.Errorf("archtest: rooms.txt: no colon in %q", line)
		}
		name = strings.TrimSpace(name)
		if _, twice := p.rooms[name]; twice {
			return p, fmt.Errorf("archtest: rooms.txt: room %s has two lines", name)
		}
		p.rooms[name] = parseRule(strings.Fields(rest))
		names = append(names, name)
	}
	p.tests = p.rooms["tests"]
	delete(p.rooms, "tests")
	return p, p.check(names)
}

func parseRule(words []string) rule {
	var r rule
	for _, w := range words {
		switch outside, isOutside := strings.CutPrefix(w, "+"); {
		case w == "std":
			r.std = true
		case w == "pure":
			r.pure = true
		case isOutside && strings.HasSuffix(outside, "/..."):
			r.trees = append(r.trees, strings.TrimSuffix(outside, "/..."))
		case isOutside || strings.HasPrefix(w, "encoding/") || w == "regexp":
			r.packages = append(r.packages, outside)
		default:
			r.rooms = append(r.rooms, w)
		}
	}
	return r
}

// check reports a line that names no room, and a pure room that would reach an impure one.
func (p *Plan) check(names []string) error {
	for _, name := range names {
		for _, imported := range p.rooms[name].rooms {
			r, ok := p.rooms[imported]
			if !ok {
				return fmt.Errorf("archtest: rooms.txt: room %s may import %s, which has no line", name, imported)
			}
			if p.rooms[name].pure && !p.rooms[name].std && !r.pure {
				return fmt.Errorf("archtest: rooms.txt: room %s is pure and may import %s, which is not", name, imported)
			}
		}
	}
	return nil
}

// Check compares every Go file below root with the plan and returns one sentence for each import that is not on it, and
// for each room that has no line or no doc.go.
func (p Plan) Check(root fs.FS) ([]string, error) {
	var problems []string
	documented := map[string]bool{}
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
		room := path.Dir(name)
		documented[room] = documented[room] || path.Base(name) == "doc.go" || path.Base(name) == "main.go"
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found, err := p.checkFile(name, room, src)
		problems = append(problems, found...)
		return err
	})
	for room, ok := range documented {
		if !ok {
			problems = append(problems, fmt.Sprintf("room %s has no doc.go", room))
		}
	}
	slices.Sort(problems)
	return problems, err
}

// skipFolder leaves out what is not source of this module.
func skipFolder(name string) error {
	base := path.Base(name)
	if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "bin" || base == "scripts") {
		return fs.SkipDir
	}
	return nil
}

func (p Plan) checkFile(name, room string, src []byte) ([]string, error) {
	r, ok := p.rooms[room]
	if !ok {
		return []string{fmt.Sprintf("%s: room %s has no line in internal/archtest/rooms.txt", name, room)}, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), src, parser.ImportsOnly)
	if err != nil {
		return nil, fmt.Errorf("archtest: %w", err)
	}
	test := strings.HasSuffix(name, "_test.go")
	var problems []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("archtest: %s: %w", name, err)
		}
		if r.allows(room, imported) || test && p.allowsTest(imported) {
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: room %s may not import %s (internal/archtest/rooms.txt)", name, room, imported))
	}
	return problems, nil
}

func (p Plan) allowsTest(imported string) bool {
	return strings.HasPrefix(imported, module+"/") || p.tests.allows("", imported)
}

func (r rule) allows(room, imported string) bool {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		return ours == room || slices.Contains(r.rooms, ours)
	}
	if slices.Contains(r.packages, imported) {
		return true
	}
	for _, tree := range r.trees {
		if imported == tree || strings.HasPrefix(imported, tree+"/") {
			return true
		}
	}
	if isStd := !strings.Contains(strings.Split(imported, "/")[0], "."); isStd {
		return r.std || r.pure && slices.Contains(pure, imported)
	}
	return false
}
