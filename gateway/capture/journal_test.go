package capture

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
	"molt/internal/chained"
)

// recorded makes a session of two turns, and returns its journal.
func journaled(t *testing.T) (w *world, path string) {
	t.Helper()
	w = newWorld(t, inOrder("<think>\nhm\n</think>\n\none"+lookup("pen"), "two", "three"), func(c *Config) { c.Folder = t.TempDir() })
	first := w.ask([]chat.Message{user("a")}, pens)
	w.ask([]chat.Message{user("a"), first, tool(first.ToolCalls[0].ID, "4")}, pens)
	if err := w.gateway.Close(); err != nil {
		t.Fatal(err)
	}
	return w, filepath.Join(w.gateway.config.Folder, w.session.ID+extension)
}

// TestRestart: a session goes on where it was, under its key.
func TestRestart(t *testing.T) {
	w, _ := journaled(t)
	w.restart()
	said := w.session.Export().Tree[0].Message
	w.ask([]chat.Message{user("a"), said, tool(said.ToolCalls[0].ID, "4"), {Role: chat.Assistant, Content: "two"}, user("b")}, pens)
	if n := w.session.Nodes(); len(n) != 3 || n[2].Parent != 1 {
		t.Errorf("%+v", n)
	}
	w.sound()
	if err := w.session.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.gateway.config.Folder, "*"+extension)); len(left) != 0 {
		t.Errorf("a closed session leaves %v", left)
	}
}

// TestOneGatewayPerFolder: two would write one journal.
func TestOneGatewayPerFolder(t *testing.T) {
	w := newWorld(t, nil, func(c *Config) { c.Folder = t.TempDir() })
	if _, err := New(w.gateway.config); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), w.gateway.config.Folder) {
		t.Fatalf("a second gateway: %v", err)
	}
	if err := w.gateway.Close(); err != nil {
		t.Fatal(err)
	}
	w.restart()
}

// TestDamage: a line that was not finished is dropped; a damaged one is found, at its place.
func TestDamage(t *testing.T) {
	_, path := journaled(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	w := newWorld(t, nil, nil)
	read := func(data []byte) (*Session, error) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := w.gateway.read(path)
		if s != nil {
			if err := s.journal.Close(); err != nil {
				t.Error(err)
			}
		}
		return s, err
	}
	for cut := 0; cut < len(whole); cut += 17 {
		s, err := read(whole[:cut])
		if (err == nil) != (cut >= len(lines[0])) || err != nil && !errors.Is(err, chained.ErrDamaged) {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
		left, err := os.ReadFile(path)
		if err != nil || (s != nil) != (cut >= len(lines[0])) || s != nil && !bytes.HasSuffix(left, []byte("\n")) {
			t.Fatalf("cut at byte %d: session %v, %d bytes left, %v", cut, s != nil, len(left), err)
		}
	}
	for at := 0; at < len(whole)-1; at += 19 {
		if whole[at] == '\n' {
			continue
		}
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		if _, err := read(damaged); !errors.Is(err, chained.ErrDamaged) {
			t.Fatalf("a flipped bit at byte %d: %v", at, err)
		}
	}
	lines = lines[:len(lines)-1] // what is behind the last line end
	for i := range lines {
		doubled := slices.Insert(slices.Clone(lines), i, lines[i])
		if _, err := read(bytes.Join(doubled, nil)); !errors.Is(err, chained.ErrDamaged) {
			t.Errorf("line %d twice: %v", i, err)
		}
		if i == len(lines)-1 {
			break
		}
		if _, err := read(bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)); !errors.Is(err, chained.ErrDamaged) {
			t.Errorf("without line %d: %v", i, err)
		}
		swapped := slices.Clone(lines)
		swapped[i], swapped[i+1] = lines[i+1], lines[i]
		if _, err := read(bytes.Join(swapped, nil)); !errors.Is(err, chained.ErrDamaged) {
			t.Errorf("lines %d and %d swapped: %v", i, i+1, err)
		}
	}
	_, other := journaled(t)
	theirs, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	mixed := slices.Clone(lines)
	mixed[1] = bytes.SplitAfter(theirs, []byte("\n"))[1]
	if _, err := read(bytes.Join(mixed, nil)); !errors.Is(err, chained.ErrDamaged) {
		t.Errorf("with a line of another session: %v", err)
	}
}

// TestUnknownMembers: a journal that says of a turn what this version does not know is not restored.
func TestUnknownMembers(t *testing.T) {
	w, path := journaled(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := chained.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := chained.Read(data, func(record []byte) error {
		other.Write(jsontext.Value(bytes.Replace(record, []byte(`"finish":`), []byte(`"constrained":true,"finish":`), 1)), false)
		return other.Err()
	}); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.read(path); !errors.Is(err, chained.ErrDamaged) || !strings.Contains(err.Error(), "constrained") {
		t.Errorf("restored with %v", err)
	}
}

// TestDamageOfOne: journals that cannot be read are set aside or left alone, and named. The other sessions come back.
func TestDamageOfOne(t *testing.T) {
	w, path := journaled(t)
	folder := w.gateway.config.Folder
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"torn.session": whole[:10], "empty.session": nil, "copy.session": whole, "noise.session": []byte("noise\n"), "noise.session.damaged": []byte("older")}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.session"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(folder, "link.session")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(bytes.Clone(whole), "0000"...), 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if n := len(w.gateway.sessions); n != 1 {
		t.Errorf("%d sessions came back", n)
	}
	notes := strings.Join(w.gateway.Notes(), "\n")
	for _, want := range []string{"torn.session.damaged", "empty.session.damaged", "copy.session.damaged", "noise.session.2.damaged", "folder.session: it is no regular file",
		"link.session: it is no regular file", path + ": its last line was not finished, and is dropped: 4 bytes"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
	for name, data := range files {
		to := name + ".damaged"
		switch name {
		case "noise.session":
			to = "noise.session.2.damaged"
		case "noise.session.damaged":
			to = name
		}
		if left, err := os.ReadFile(filepath.Join(folder, to)); err != nil || !bytes.Equal(left, data) {
			t.Errorf("%s: %q, %v", to, left, err)
		}
	}
}

// TestIdleSessionsHoldNoFile, and there are only so many of them.
func TestIdleSessionsHoldNoFile(t *testing.T) {
	w := newWorld(t, inOrder("one"), func(c *Config) { c.Folder, c.Sessions = t.TempDir(), 100 })
	before := openFiles(t)
	last := w.session
	for range 99 {
		var err error
		if last, err = w.gateway.Open(Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if now := openFiles(t); now > before+20 {
		t.Errorf("%d files are open, and %d were before 99 sessions", now, before)
	}
	if _, err := w.gateway.Open(Options{}); !errors.Is(err, ErrFull) {
		t.Errorf("one session more: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.gateway.config.Folder, "*"+extension)); len(left) != 100 {
		t.Errorf("%d journals of 100 sessions", len(left))
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.Open(Options{}); err != nil {
		t.Errorf("after one is closed: %v", err)
	}
	w.ask([]chat.Message{user("a")}, nil)
	w.restart()
}

// openFiles counts the files that this process has open, where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// TestAFullDisk: a session whose journal cannot be written stops, and says why.
func TestAFullDisk(t *testing.T) {
	w := newWorld(t, inOrder("one", "two"), func(c *Config) { c.Folder = t.TempDir() })
	w.ask([]chat.Message{user("a")}, nil)
	if err := os.Remove(w.session.journal.Path()); err != nil { // as good as full
		t.Fatal(err)
	}
	w.ask([]chat.Message{user("b")}, nil)
	_, p := w.session.Ask(t.Context(), request([]chat.Message{user("c")}, nil), Caller{})
	if p == nil || p.Class != wire.Broken || !errors.Is(w.session.Err(), chat.ErrInfrastructure) {
		t.Errorf("%+v, %v", p, w.session.Err())
	}
	w.gateway.forget(w.session) // its journal says again what went wrong
}
