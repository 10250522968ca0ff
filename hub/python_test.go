package hub

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	python = flag.String("python", "", "a Python with huggingface_hub, for TestPython")
	script = flag.String("script", "", "scripts/goldens/hub/check.py")
)

// TestPython: each finds, without the hub, what the other has downloaded; see scripts/goldens/hub/run.sh.
func TestPython(t *testing.T) {
	if *python == "" {
		t.Skip("only scripts/goldens/hub/run.sh needs it")
	}
	const tool = templatesFolder + "/tool_use.jinja"
	h := newFakeHub(t, with(map[string]string{tool: "t"}))
	h.token = "hf_secret"
	run := func(what, cache string) string {
		t.Helper()
		cmd := exec.Command(*python, *script, what, h.URL, cache)
		cmd.Env = append(os.Environ(), "HF_TOKEN=hf_secret", "HF_HUB_DISABLE_XET=1", "HF_HUB_DISABLE_TELEMETRY=1", "HF_HUB_DISABLE_PROGRESS_BARS=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1]
	}
	theirs := quick(t, h)
	dir := run("download", theirs.Cache)
	theirs.Offline = true
	if m := resolve(t, theirs, "org/name"); m.Dir != dir {
		t.Errorf("we find %s, Python has put it into %s", m.Dir, dir)
	}
	check := func(dir string) {
		t.Helper()
		for _, name := range append([]string{tool}, wanted...) {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != string(h.files[name]) {
				t.Errorf("%s: %d bytes, %v", name, len(data), err)
			}
		}
	}
	check(dir)
	theirs.Offline, theirs.Token = false, h.token
	if m := resolve(t, theirs, "org/name"); m.Dir != dir || m.Downloaded != 0 {
		t.Errorf("with the hub: %+v", m)
	}

	ours := quick(t, h)
	ours.Token, ours.large = h.token, 4000
	m := resolve(t, ours, "org/name")
	check(m.Dir)
	before := len(h.asked())
	if dir := run("find", ours.Cache); dir != m.Dir {
		t.Errorf("Python finds %s, we have put it into %s", dir, m.Dir)
	}
	for _, line := range h.asked()[before:] {
		if strings.HasPrefix(line, "cdn ") {
			t.Errorf("Python downloads again: %s", line)
		}
	}
	if _, err := os.Stat(filepath.Join(ours.Cache, ".locks", "models--org--name")); err != nil {
		t.Error(err)
	}
}
