package chained

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func record(t *testing.T, path string) (records []string, cut int, err error) {
	t.Helper()
	f, cut, err := Open(path, func(r []byte) error { records = append(records, string(r)); return nil })
	if err == nil {
		f.Write("more", true)
		err = f.Close()
		f.Write("never", true)
	}
	return records, cut, err
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		f.Write(map[string]int{"n": i}, i == 2)
	}
	f.Sync()
	if f.Err() != nil || f.Seal().Lines != 3 {
		t.Fatal(f.Err(), f.Seal())
	}
	if _, err := Create(path); err == nil {
		t.Error("a file was made twice")
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[int]string{0: `[{"n":0} {"n":1} {"n":2}] 0 <nil>`, 1: fmt.Sprintf(`[{"n":0} {"n":1}] %d <nil>`, len(whole)/3-1)} {
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		records, dropped, err := record(t, path)
		if got := fmt.Sprint(records, dropped, err); got != want {
			t.Errorf("%d bytes less: %s, want %s", cut, got, want)
		}
		if records, _, err := record(t, path); err != nil || records[len(records)-1] != `"more"` {
			t.Errorf("%d bytes less, then more: %v %v", cut, records, err)
		}
	}
	var none *File
	none.Write("x", true)
	none.Sync()
	if none.Err() != nil || none.Close() != nil || none.Remove() != nil || none.Seal() != (Seal{}) {
		t.Error("a nil file is something")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for what, write := range map[string]func(*File){"written": func(f *File) { f.Write("x", false) }, "synced": (*File).Sync} {
		gone := &File{path: path}
		if write(gone); !errors.Is(gone.Err(), os.ErrNotExist) || gone.Close() == nil {
			t.Errorf("a file that is gone is %s: %v", what, gone.Err())
		}
	}
}

// TestDamage: every flipped bit, and every line that is doubled, moved or missing before the end, is found.
func TestDamage(t *testing.T) {
	var c Chain
	var lines [][]byte
	for _, r := range []string{`{"a":1}`, `{"b":2}`, `{"b":2}`, `{"c":3}`} {
		lines = append(lines, c.add([]byte(r)))
	}
	read := func(lines ...[]byte) error {
		_, _, err := Read(bytes.Join(lines, nil), func([]byte) error { return nil })
		return err
	}
	if err := read(lines...); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Join(lines, nil)
	for i := range whole[:len(whole)-1] {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << bit
			if err := read(damaged); !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	for i := range lines {
		if err := read(slices.Insert(slices.Clone(lines), i, lines[i])...); !errors.Is(err, ErrDamaged) {
			t.Errorf("line %d twice: %v", i, err)
		}
		if err := read(slices.Delete(slices.Clone(lines), i, i+1)...); (i < 3) != errors.Is(err, ErrDamaged) {
			t.Errorf("without line %d: %v", i, err)
		}
	}
	if err := read(); !errors.Is(err, ErrDamaged) {
		t.Errorf("an empty file: %v", err)
	}
	if _, _, err := Read(whole, func([]byte) error { return errors.New("it does not fit") }); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record that does not fit: %v", err)
	}
}

// TestUnreadableFilesAreNoDamage: a record may name another file. One that is gone is damage, one that cannot be read now is not.
func TestUnreadableFilesAreNoDamage(t *testing.T) {
	var c Chain
	line := c.add([]byte("{}"))
	for why, damaged := range map[error]bool{fs.ErrPermission: false, syscall.EMFILE: false, fs.ErrNotExist: true} {
		_, _, err := Read(line, func([]byte) error { return fmt.Errorf("image: %w", &fs.PathError{Op: "open", Path: "x", Err: why}) })
		if !errors.Is(err, why) || errors.Is(err, ErrDamaged) != damaged {
			t.Errorf("%v: %v", why, err)
		}
	}
}
