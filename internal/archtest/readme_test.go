package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var tableRow = regexp.MustCompile("(?m)^\\| .* \\| \\[[^]]+\\]\\(([^)]+)\\) \\| `([^`]+)` \\|$")

// TestWhereThingsAre: the README's table names files that exist and names that stand in them.
func TestWhereThingsAre(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRow.FindAllStringSubmatch(string(readme), -1)
	if len(rows) < 15 {
		t.Fatalf("found %d rows; the pattern or the table is broken", len(rows))
	}
	for _, row := range rows {
		file, name := row[1], row[2]
		text := contents(t, filepath.Join("../..", file))
		defined := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` + regexp.QuoteMeta(name) + `\b`)
		if !defined.MatchString(text) && !strings.Contains(file, "rooms.txt") {
			t.Errorf("README: %s does not define %s", file, name)
		}
	}
}

// contents is the text of a file, or of all Go files of a folder.
func contents(t *testing.T, name string) string {
	info, err := os.Stat(name)
	if err != nil {
		t.Errorf("README: %v", err)
		return ""
	}
	files := []string{name}
	if info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(name, "*.go"))
	}
	var all strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Errorf("README: %v", err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestDocs: the page of every room has its five headings, and says to start reading where something is.
func TestDocs(t *testing.T) {
	files, err := Files(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`[\w/]+\.(go|txt|py)\b`)
	for _, f := range files {
		if path.Base(f.Name) != "doc.go" {
			continue
		}
		text := contents(t, filepath.Join("../..", f.Name))
		for _, heading := range []string{"does", "takes", "gives", "must not know", "start reading"} {
			if !regexp.MustCompile(`(?m)^//\W+` + heading + `\b`).MatchString(text) {
				t.Errorf("%s has no line %q", f.Name, heading)
			}
		}
		_, start, _ := strings.Cut(text, "start reading")
		start, _, _ = strings.Cut(start, "\npackage")
		for _, name := range page.FindAllString(start, -1) {
			if _, err := os.Stat(filepath.Join("../..", f.room(), name)); err != nil {
				t.Errorf("%s: start reading at %s: %v", f.Name, name, err)
			}
		}
	}
}

var code = regexp.MustCompile(`MOLT-[A-Z]\d{3}`)

// TestErrorCodesAreDocumented: every code of run/problem/problem.go has a section in docs/errors.md, and every alarm a row.
func TestErrorCodesAreDocumented(t *testing.T) {
	page := contents(t, "../../docs/errors.md")
	for _, c := range code.FindAllString(contents(t, "../../run/problem/problem.go"), -1) {
		if !strings.Contains(page, "## "+c) {
			t.Errorf("docs/errors.md has no section %s", c)
		}
	}
	alarm := regexp.MustCompile(`(?:raise\(|Name:\s+)"([a-z][a-z-]+)"`)
	for _, room := range []string{"../../run", "../../run/leg", "../../run/finetune", "../../metrics"} {
		for _, a := range alarm.FindAllStringSubmatch(contents(t, room), -1) {
			if strings.Contains(a[1], "-") && !strings.Contains(page, "`"+a[1]+"`") {
				t.Errorf("docs/errors.md does not explain the alarm %s (%s)", a[1], room)
			}
		}
	}
}
