// Programs that agents are made of: Python, and the harnesses that presets know. Harnesses are not started: several talk to their
// makers even when they are only asked for their version.

package doctor

import (
	"context"
	"encoding/json/v2"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"molt/agent/command"
	"molt/agent/python"
)

// interpreter says which Python would run agent files.
func interpreter(ctx context.Context) Finding {
	const check = "python"
	const fix = "install Python 3, activate a virtual environment, or name one with agent.python.interpreter; nothing but Python files and hubs needs it"
	path, err := python.Interpreter("")
	if err != nil {
		return note(check, "no python3 on the path: agent files and hubs cannot run", fix)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	version, err := exec.CommandContext(ctx, path, "-I", "-S", "-c", "import platform; print(platform.python_version())").Output()
	if err != nil {
		return note(check, path+" does not start ("+err.Error()+"): agent files and hubs cannot run", fix)
	}
	return ok(check, "%s, version %s, runs agent files and hubs", path, strings.TrimSpace(string(version)))
}

// harnesses says which of them are on the path, in which versions as far as their folders tell.
func harnesses() Finding {
	var found []string
	seen := map[string]bool{}
	for _, p := range command.Presets() {
		path, err := exec.LookPath(p.Program)
		if err != nil || seen[p.Program] {
			continue
		}
		seen[p.Program] = true
		found = append(found, strings.TrimSpace(p.Program+" "+installed(path)))
	}
	if len(found) == 0 {
		return note("harnesses", "none that molt launch and agent.preset know is on the path", "install the one you want; docs/harnesses.md has the commands, and the versions that were tried")
	}
	return ok("harnesses", "on the path: %s", strings.Join(found, ", "))
}

var release = regexp.MustCompile(`^\d+\.\d+\.\d+[-+.\w]*$`)

// installed is the version of a program: that of the npm package or Python distribution it belongs to, or its own file's name;
// "" when none of these tells.
func installed(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if release.MatchString(filepath.Base(path)) {
		return filepath.Base(path)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "lib", "python3*", "site-packages", "mini_swe_agent-*.dist-info")); len(found) == 1 && filepath.Base(path) == "mini" {
		_, version, _ := strings.Cut(filepath.Base(found[0]), "-")
		return strings.TrimSuffix(version, ".dist-info")
	}
	for dir := filepath.Dir(path); strings.Contains(dir, "node_modules"); dir = filepath.Dir(dir) {
		if version := described(filepath.Join(dir, "package.json")); version != "" {
			return version
		}
	}
	return ""
}

// described is the version in an npm package's description.
func described(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 1<<20))
	var p struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(raw, &p) != nil || !release.MatchString(p.Version) {
		return ""
	}
	return p.Version
}
