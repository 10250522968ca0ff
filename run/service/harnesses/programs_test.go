package harnesses

// The example agents of examples/agents: programs made with the frameworks that people have, on a script.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrograms lets each play a tool loop of three turns, the second of which calls twice: one main segment, token for token.
func TestPrograms(t *testing.T) {
	const examples = "../../../examples/agents"
	python, modules := os.Getenv("MOLT_CLIENTS_PYTHON"), os.Getenv("MOLT_CLIENTS_NODE")
	for _, p := range []struct{ file, wire string }{
		{"openai_agents.py", "responses"}, {"openai_agents.py", "chat"},
		{"langchain_agent.py", "chat"}, {"langchain_agent.py", "responses"}, {"langchain_agent.py", "anthropic"},
		{"openai_agents.mjs", "responses"}, {"openai_agents.mjs", "chat"},
		{"langchain_agent.mjs", "chat"}, {"langchain_agent.mjs", "responses"}, {"langchain_agent.mjs", "anthropic"},
		{"ai_sdk.mjs", "openai"}, {"ai_sdk.mjs", "openai-compatible"}, {"ai_sdk.mjs", "anthropic"},
	} {
		t.Run(p.file+" "+p.wire, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join(examples, p.file))
			if err != nil {
				t.Fatal(err)
			}
			program := python
			if strings.HasSuffix(p.file, ".mjs") {
				program, path = "node", beside(t, modules, examples, p.file)
			}
			if program == "" || path == "" {
				t.Skip("its libraries are not installed: make clients")
			}
			plays(t, fmt.Sprintf("%q %q %s", program, path, p.wire))
		})
	}
}

// beside copies a program to where its modules are found, and returns its path there; "" without modules.
func beside(t *testing.T, modules, examples, file string) string {
	t.Helper()
	if modules == "" {
		return ""
	}
	dir := filepath.Join(modules, "agents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "calculate.mjs"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, file)
}

func plays(t *testing.T, program string) {
	t.Helper()
	calculate := func(a int, operator string, b int) string {
		return fmt.Sprintf("<tool_call>\n{\"name\": \"calculate\", \"arguments\": {\"a\": %d, \"operator\": %q, \"b\": %d}}\n</tool_call>", a, operator, b)
	}
	texts := []string{thinking + calculate(17, "*", 23), calculate(391, "+", 5) + calculate(6, "-", 7), "That makes 396."}
	k := &kit{preset: "example", program: program}
	r := (&trial{kit: k, prompt: "17 boxes of 23 pens, and 5 pens?", lines: k.play(texts...), watched: true}).run(t)
	if c := once(r, texts); c.verdict != "ok" {
		t.Errorf("%s\n%s", c.note, r.tree())
	}
	if got := results(r); !strings.Contains(got, "391") || !strings.Contains(got, "396") || !strings.Contains(got, "-1") {
		t.Errorf("the tool answered %q", got)
	}
	if !strings.HasSuffix(strings.TrimSpace(r.output), "That makes 396.") {
		t.Errorf("it printed %q", r.output)
	}
	if c := quiet(r); c.verdict == "fails" {
		t.Error(c.note)
	}
}

// results are what the policy was shown.
func results(r *result) (text string) {
	for _, n := range r.export.Tree {
		text += decode(n.Observation)
	}
	return text
}
