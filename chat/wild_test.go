package chat

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// golden is what Python rendered for one template and conversation (scripts/goldens/chat/render.py).
type golden struct {
	Template, Conversation string
	Generate               bool
	Text                   *string // nil: Python raised Error
	Error                  string
}

// pinned is the date of all goldens.
var pinned = time.Date(2024, 7, 26, 9, 5, 3, 0, time.UTC)

func readGoldens(t testing.TB, file string) []golden {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var goldens []golden
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		goldens = append(goldens, g)
	}
	if lines.Err() != nil || len(goldens) == 0 {
		t.Fatalf("%s: %d goldens, %v", file, len(goldens), lines.Err())
	}
	return goldens
}

// tally counts how cases compare with Python.
type tally struct{ cases, same, bothFail, differs, onlyPython, onlyGo int }

// compare renders every case and reports each that is not as in Python.
func compare(t *testing.T, folder string, goldens []golden) tally {
	var conversations []conversationCase
	readJSON(t, "testdata/conversations.json", &conversations)
	byName := map[string]conversationCase{}
	for _, c := range conversations {
		byName[c.Name] = c
	}
	var n tally
	sources := map[string]string{"chat_template": BuiltinTemplate()}
	for _, g := range goldens {
		source, ok := sources[g.Template]
		if !ok {
			data, err := os.ReadFile(filepath.Join(folder, g.Template+".jinja"))
			if err != nil {
				t.Fatal(err)
			}
			source = string(data)
			sources[g.Template] = source
		}
		c, ok := byName[g.Conversation]
		if !ok {
			t.Fatalf("the goldens have a conversation %q that is not in testdata; make them again", g.Conversation)
		}
		n.cases++
		tmpl, err := NewJinja(source, JinjaOptions{BOS: "<s>", EOS: "</s>", Now: pinned, Kwargs: c.Kwargs.Members()})
		if err != nil {
			if g.Text != nil {
				n.onlyPython++
				t.Errorf("%s: %v", g.Template, err)
			} else {
				n.bothFail++
			}
			continue
		}
		got, err := tmpl.Render(c.conversation(t), g.Generate)
		switch {
		case g.Text != nil && err == nil && got == *g.Text:
			n.same++
		case g.Text == nil && err != nil:
			n.bothFail++
		case g.Text == nil:
			n.onlyGo++
			t.Errorf("%s, %s, generate %v: renders where Python says %s", g.Template, c.Name, g.Generate, g.Error)
		case err != nil:
			n.onlyPython++
			t.Errorf("%s, %s, generate %v: %v", g.Template, c.Name, g.Generate, err)
		default:
			n.differs++
			a, b := firstDifference(got, *g.Text)
			t.Errorf("%s, %s, generate %v: got …%q, want …%q", g.Template, c.Name, g.Generate, a, b)
		}
	}
	return n
}

// firstDifference shows both texts around where they part.
func firstDifference(a, b string) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(0, at-40)
	return a[from:min(len(a), at+60)], b[from:min(len(b), at+60)]
}

// TestWildTemplates compares with every real template that scripts/goldens/chat/wild.sh has gathered.
func TestWildTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of renders in one goroutine")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(cache, "molt-oracles", "templates")
	if _, err := os.Stat(filepath.Join(folder, "goldens.jsonl.gz")); err != nil {
		t.Skipf("%s has no goldens; make them with scripts/goldens/chat/wild.sh", folder)
	}
	goldens := readGoldens(t, filepath.Join(folder, "goldens.jsonl.gz"))
	files, _ := fs.Glob(os.DirFS(folder), "*.jinja")
	n := compare(t, folder, goldens)
	t.Logf("%d templates, %+v", len(files), n)
}
