package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, text := range []string{"one", "two"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("got %q, %v; want %q", got, err, text)
		}
	}
}

func TestFailedWriteLeavesTheOldFileAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	err := WriteFunc(path, func(w io.Writer) error {
		if _, err := w.Write([]byte("half of the n")); err != nil {
			t.Fatal(err)
		}
		return full
	})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want it to name the path and the cause", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q; want it untouched", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %d entries; want no temporary file left", len(entries))
	}
}

func TestMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "state.json")
	if err := Write(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want it to name %s", err, path)
	}
}
