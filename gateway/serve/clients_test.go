package serve

// Client libraries, on request (`make clients`): MOLT_CLIENTS names a folder in which testdata/clients/package.json was
// installed (npm install --ignore-scripts), MOLT_CLIENTS_PYTHON a Python that has openai and anthropic. They are large and
// start slowly; nothing but this machine is talked to. Harnesses are in run/service/harnesses.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molt/gateway/script"
)

var greeting = []script.Line{
	{Match: "PARALLEL", Loop: true, Text: `I look.` + call("get_weather", `{"city": "Oslo"}`) + call("get_weather", `{"city": "Rome"}`)},
	{Match: "THINK", Loop: true, Text: "<think>\nlet me see\n</think>\n\nForty-two."},
	{Match: "SCHEMA", Loop: true, Text: `{"city":"Oslo"}`},
	{Loop: true, Text: "Hello there."},
}

func call(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MOLT_CLIENTS")
	if dir == "" {
		t.Skip("MOLT_CLIENTS names no folder with clients")
	}
	return dir
}

func TestLibraries(t *testing.T) {
	dir := folder(t)
	l := newLab(t, greeting, nil)
	source, err := os.ReadFile("testdata/clients/sdks.mjs")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sdks.mjs") // libraries are found beside the program
	if err := os.WriteFile(path, source, 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, dir, nil, "", "node", path, l.url)
}

func TestPythonLibraries(t *testing.T) {
	python := os.Getenv("MOLT_CLIENTS_PYTHON")
	if python == "" {
		t.Skip("MOLT_CLIENTS_PYTHON names no Python with clients")
	}
	l := newLab(t, greeting, nil)
	output(t, ".", nil, "", python, "testdata/clients/sdks.py", l.url)
}

// The official Go libraries are a module of their own, beside the others.
func TestGoLibraries(t *testing.T) {
	folder(t)
	l := newLab(t, greeting, nil)
	output(t, "testdata/clients/gosdk", nil, "", "go", "run", ".", l.url)
}

func output(t *testing.T, dir string, env []string, input string, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Stdin, c.WaitDelay = dir, strings.NewReader(input), time.Second
	if env != nil {
		c.Env = env
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%.3000s", name, err, out)
	}
	return string(out)
}
