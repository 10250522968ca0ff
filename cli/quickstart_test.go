package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuickstartDryRun(t *testing.T) {
	dir := t.TempDir()
	molt(t, dir, "quickstart", "--out", "q", "--dry-run").want(t, exitOK, "parameters", "q/init/")
	if _, err := os.Stat(filepath.Join(dir, "q")); err == nil {
		t.Error("a dry run made its folder")
	}
}
