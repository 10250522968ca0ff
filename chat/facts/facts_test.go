package facts

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molt/chat"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/facts.txt and the table of docs/templates.md anew")

func describeFile(t testing.TB, file string, kwargs ...chat.Member) Facts {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := chat.NewJinja(string(source), chat.JinjaOptions{BOS: "<s>", EOS: "</s>", Now: time.Date(2024, 7, 26, 9, 5, 3, 0, time.UTC), Kwargs: kwargs})
	if err != nil {
		t.Fatal(err)
	}
	return Describe(tmpl, string(source), nil)
}

func lines(name string, f Facts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s; ends with %q; tools %v; opens %v; local %v %s\n", name, f.Family.Name, f.End, f.Tools, f.Opens, f.Local, f.LocalWhy)
	for _, turn := range f.Turns {
		fmt.Fprintf(&b, "  %-30s %-8s %-9s %s\n", turn.Name, turn.Growth, turn.Reads, strings.TrimSpace(turn.Why+" "+turn.Read))
	}
	return b.String()
}

// TestFacts pins the facts of the templates in chat/testdata. testdata/facts.txt is to be read: does it say what is true?
func TestFacts(t *testing.T) {
	files, err := filepath.Glob("../testdata/templates/*.jinja")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	var b strings.Builder
	b.WriteString(lines("molt", describeFile(t, "../chat_template.jinja")))
	for _, file := range files {
		b.WriteString(lines(strings.TrimSuffix(filepath.Base(file), ".jinja"), describeFile(t, file)))
	}
	if *rewrite {
		if err := os.WriteFile("testdata/facts.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}
