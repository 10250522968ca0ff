package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program makes a file of a folder, with those above it.
func program(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHarnesses: programs as npm, pip and a vendor's installer leave them, none of which may be started.
func TestHarnesses(t *testing.T) {
	const alarm = "#!/bin/sh\ntouch started\n"
	dir := t.TempDir()
	t.Chdir(dir)
	bin := filepath.Join(dir, "bin")
	link := func(name, to string) {
		program(t, filepath.Join(bin, ".keep"), "")
		if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	npm := filepath.Join(dir, "lib", "node_modules")
	program(t, filepath.Join(npm, "@openai", "codex", "package.json"), `{"name": "@openai/codex", "version": "0.171.0"}`)
	link("codex", program(t, filepath.Join(npm, "@openai", "codex", "bin", "codex.js"), alarm))
	program(t, filepath.Join(npm, "cline", "package.json"), `{"name": "cline", "version": "\u001b[31m"}`)
	link("cline", program(t, filepath.Join(npm, "cline", "bin", "cline"), alarm))
	link("claude", program(t, filepath.Join(dir, "claude", "versions", "2.1.197"), alarm))
	venv := filepath.Join(dir, "venv")
	program(t, filepath.Join(venv, "lib", "python3.11", "site-packages", "mini_swe_agent-2.4.6.dist-info", "METADATA"), "")
	link("mini", program(t, filepath.Join(venv, "bin", "mini"), alarm))
	program(t, filepath.Join(bin, "pi"), alarm)
	t.Setenv("PATH", bin)
	if got, want := harnesses(), "on the path: claude 2.1.197, codex 0.171.0, pi, cline, mini 2.4.6"; got.State != OK || got.Says != want {
		t.Errorf("%+v; want %q", got, want)
	}
	if _, err := os.Stat("started"); err == nil {
		t.Error("a harness was started")
	}
	t.Setenv("PATH", t.TempDir())
	if got := harnesses(); got.State != Note || got.Fix == "" {
		t.Errorf("without any: %+v", got)
	}
}

func TestInterpreter(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("VIRTUAL_ENV", dir)
	at := program(t, filepath.Join(dir, "bin", "python"), "#!/bin/sh\necho 3.11.7\n")
	if got := interpreter(t.Context()); got.State != OK || !strings.Contains(got.Says, at+", version 3.11.7") {
		t.Errorf("%+v", got)
	}
	program(t, at, "#!/bin/sh\nexit 3\n")
	if got := interpreter(t.Context()); got.State != Note || !strings.Contains(got.Says, "exit status 3") || got.Fix == "" {
		t.Errorf("one that fails: %+v", got)
	}
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("PATH", dir)
	if got := interpreter(t.Context()); got.State != Note || !strings.Contains(got.Says, "no python3") {
		t.Errorf("none: %+v", got)
	}
}
