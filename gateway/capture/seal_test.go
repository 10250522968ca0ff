package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeals: after an orderly end, whatever is missing at the end of a journal shows; after any other end, nobody says that
// nothing is.
func TestSeals(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(t *testing.T, path, seals string)
		tail, note string
		gone       bool
	}{
		"in order": {func(*testing.T, string, string) {}, "", "", false},
		"a line is missing": {func(t *testing.T, path, _ string) {
			lines := bytes.SplitAfter(must(os.ReadFile(path))(t), []byte("\n"))
			write(t, path, bytes.Join(lines[:len(lines)-2], nil))
		}, "1 of 7 lines are missing", "1 of 7 lines are missing at its end", false},
		"killed": {func(t *testing.T, _, seals string) {
			if err := os.Remove(seals); err != nil {
				t.Fatal(err)
			}
		}, unverified, "a server was not ended in order: what 1 of its sessions captured", false},
		"another journal": {func(t *testing.T, path, seals string) {
			data := must(os.ReadFile(seals))(t)
			write(t, seals, bytes.Replace(data, []byte(`"lines":7`), []byte(`"lines":6`), 1))
		}, "", "it is another than when the server ended", true},
		"no journal": {func(t *testing.T, path, _ string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "", "the journal is missing", true},
		"no seals any more": {func(t *testing.T, _, seals string) { write(t, seals, []byte("{")) }, unverified, "closed.json: it is damaged", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, path := journaled(t)
			before := w.session.Export()
			seals := filepath.Join(filepath.Dir(path), sealsFile)
			c.change(t, path, seals)
			g, err := New(w.gateway.config)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { g.Close() }()
			notes := strings.Join(g.Notes(), "\n")
			if !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			s, ok := g.Session(w.session.ID)
			if ok == c.gone {
				t.Fatalf("the session is there: %v", ok)
			}
			if c.gone {
				return
			}
			e := s.Export()
			if e.Tail != c.tail || (c.tail == "" || c.tail == unverified) && e.Journal != before.Journal {
				t.Errorf("tail %q, journal %+v; want %q, %+v", e.Tail, e.Journal, c.tail, before.Journal)
			}
			if _, err := os.Stat(seals); err == nil {
				t.Error("the seals stay, and would vouch for a server that is killed")
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			g, err = New(w.gateway.config)
			if err != nil {
				t.Fatal(err)
			}
			if s, _ := g.Session(w.session.ID); s.Export().Tail != c.tail {
				t.Errorf("tail %q after another restart", s.Export().Tail)
			}
		})
	}
}

func must(data []byte, err error) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
