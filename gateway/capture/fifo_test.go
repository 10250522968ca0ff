//go:build unix

package capture

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAPipe: what is no file is not waited for.
func TestAPipe(t *testing.T) {
	w, _ := journaled(t)
	if err := syscall.Mkfifo(filepath.Join(w.gateway.config.Folder, "pipe.session"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if notes := strings.Join(w.gateway.Notes(), "\n"); !strings.Contains(notes, "pipe.session: it is no regular file") {
		t.Error(notes)
	}
}
