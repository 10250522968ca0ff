package archtest

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
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

// Check returns one sentence for each import that is not on the plan, and for each room that has no line or no doc.go.
func (p Plan) Check(files []File) []string {
	var problems []string
	documented := map[string]bool{}
	for _, f := range files {
		base := path.Base(f.Name)
		documented[f.room()] = documented[f.room()] || base == "doc.go" || base == "main.go"
		problems = append(problems, p.checkFile(f)...)
	}
	for room, ok := range documented {
		if !ok {
			problems = append(problems, fmt.Sprintf("room %s has no doc.go", room))
		}
	}
	slices.Sort(problems)
	return problems
}

func (p Plan) checkFile(f File) []string {
	r, ok := p.rooms[f.room()]
	if !ok {
		return []string{fmt.Sprintf("%s: room %s has no line in internal/archtest/rooms.txt", f.Name, f.room())}
	}
	var problems []string
	for _, imported := range f.Imports {
		if r.allows(f.room(), imported) || f.test() && p.allowsTest(imported) {
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: room %s may not import %s (internal/archtest/rooms.txt)", f.Name, f.room(), imported))
	}
	return problems
}

// Unused returns one sentence for each room without a file, and for each permission, other than std and pure, that nothing
// needs: what a test imports counts only for the line `tests`.
func (p Plan) Unused(files []File) []string {
	imports := map[string][]string{} // of a room, without its tests
	var tests []string
	for _, f := range files {
		if f.test() {
			tests = append(tests, f.Imports...)
			continue
		}
		imports[f.room()] = append(imports[f.room()], f.Imports...)
	}
	problems := p.tests.unused("tests", tests)
	for room, r := range p.rooms {
		if _, ok := imports[room]; !ok {
			problems = append(problems, fmt.Sprintf("room %s has a line in internal/archtest/rooms.txt and no file", room))
			continue
		}
		problems = append(problems, r.unused(room, imports[room])...)
	}
	slices.Sort(problems)
	return problems
}

func (r rule) unused(room string, imports []string) []string {
	var problems []string
	report := func(permission string, needed func(imported string) bool) {
		if !slices.ContainsFunc(imports, needed) {
			problems = append(problems, fmt.Sprintf("room %s may import %s and does not (internal/archtest/rooms.txt)", room, permission))
		}
	}
	for _, ours := range r.rooms {
		report(ours, func(imported string) bool { return imported == module+"/"+ours })
	}
	for _, name := range r.packages {
		report(name, func(imported string) bool { return imported == name })
	}
	for _, tree := range r.trees {
		report(tree+"/...", func(imported string) bool { return below(tree, imported) })
	}
	return problems
}

func below(tree, imported string) bool {
	return imported == tree || strings.HasPrefix(imported, tree+"/")
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
	if slices.ContainsFunc(r.trees, func(tree string) bool { return below(tree, imported) }) {
		return true
	}
	if isStd := !strings.Contains(strings.Split(imported, "/")[0], "."); isStd {
		return r.std || r.pure && slices.Contains(pure, imported)
	}
	return false
}
