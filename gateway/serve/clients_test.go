package serve

// Client libraries, on request: `make clients` installs them and runs these tests. MOLT_CLIENTS_NODE names a folder in which
// testdata/clients/package.json was installed, MOLT_CLIENTS_PYTHON a Python that has requirements.txt, MOLT_CLIENTS_GO the program of gosdk.
// They are large and start slowly; nothing but this machine is talked to. Harnesses are in run/service/harnesses.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"molt/engine/enginetest"
	"molt/gateway/script"
)

// features are what every library is tried with.
var features = []string{"chat", "streaming", "tools", "parallel tools", "streamed tools", "schema", "bad schema", "overflow", "image", "overload"}

// conversation answers every prompt of the programs. Of two requests that say AWAY, the first is refused.
func conversation() []script.Line {
	lines := []script.Line{
		{Match: "<|image|>", Loop: true, Text: "One pixel."},
		{Match: "sunny", Loop: true, Text: "It is sunny."},
		{Match: "ONE", Loop: true, Text: call("get_weather", `{"city": "Oslo"}`)},
		{Match: "PARALLEL", Loop: true, Text: `I look.` + call("get_weather", `{"city": "Oslo"}`) + call("get_weather", `{"city": "Rome"}`)},
		{Match: "THINK", Loop: true, Text: "<think>\nlet me see\n</think>\n\nForty-two."},
		{Match: "SCHEMA", Loop: true, Text: `{"city":"Oslo"}`},
		{Match: "STRAY", Loop: true, Text: call("get_weather", `{"town": "Oslo"}`)},
	}
	for range 2 * len(features) {
		lines = append(lines, script.Line{Match: "AWAY", Trouble: enginetest.Unavailable}, script.Line{Match: "AWAY", Text: "Hello there."})
	}
	return append(lines, script.Line{Loop: true, Text: "Hello there."})
}

func call(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

func TestLibraries(t *testing.T) {
	dir := installed(t, "MOLT_CLIENTS_NODE")
	source, err := os.ReadFile("testdata/clients/sdks.mjs")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sdks.mjs") // libraries are found beside the program
	if err := os.WriteFile(path, source, 0o644); err != nil {
		t.Fatal(err)
	}
	matrix(t, []string{"openai chat", "openai responses", "anthropic", "ai openai chat", "ai openai responses", "ai openai-compatible", "ai anthropic",
		"agents chat", "agents responses", "langchain chat", "langchain responses", "langchain anthropic"}, dir, "node", path)
}

func TestPythonLibraries(t *testing.T) {
	python := installed(t, "MOLT_CLIENTS_PYTHON")
	matrix(t, []string{"openai chat", "openai responses", "anthropic", "agents chat", "agents responses", "langchain chat", "langchain responses", "langchain anthropic"},
		".", python, "testdata/clients/sdks.py")
}

// The official Go libraries are a module of their own, beside the others.
func TestGoLibraries(t *testing.T) {
	program := installed(t, "MOLT_CLIENTS_GO")
	matrix(t, []string{"openai chat", "openai responses", "anthropic"}, ".", program)
}

func installed(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skip(variable + " is not set: these client libraries are not installed")
	}
	return value
}

// matrix runs a program and demands that it tried every library with every feature, and that each went well.
func matrix(t *testing.T, libraries []string, dir, name string, arguments ...string) {
	t.Helper()
	l := newLab(t, conversation(), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, append(arguments, l.url)...)
	c.Dir, c.WaitDelay = dir, time.Second
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%.3000s", name, err, out)
	}
	said := map[[2]string]string{}
	for line := range strings.Lines(string(out)) {
		if field := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(field) == 3 {
			said[[2]string{field[0], field[1]}] = field[2]
			if field[0] != "also" && (!slices.Contains(libraries, field[0]) || !slices.Contains(features, field[1])) {
				t.Errorf("%s, %s: not in the table", field[0], field[1])
			}
		}
	}
	for _, library := range libraries {
		for _, feature := range features {
			if said[[2]string{library, feature}] == "" {
				t.Errorf("%s, %s: not tried", library, feature)
			}
		}
	}
	good := 0
	for at, verdict := range said {
		if verdict == "ok" {
			good++
		} else {
			t.Errorf("%s, %s: %s", at[0], at[1], verdict)
		}
	}
	t.Logf("%d libraries, %d features each, %d cases in all: %d good", len(libraries), len(features), len(said), good)
	if t.Failed() {
		t.Logf("it printed %.3000s", out)
	}
}
