package doors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"molt/run/recipe"
)

// Whatever the agent is made of changes what identifies it; what lies elsewhere does not.
func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	of := func(c recipe.AgentConfig) map[string]string {
		inputs := map[string]string{}
		if err := Identify(inputs, &c); err != nil {
			t.Fatal(err)
		}
		return inputs
	}
	agent, program, grader := put("py/agent.py", "a"), put("prog.sh", "#!/bin/sh\n"), put("grade.py", "g")
	put("py/world.py", "w")
	put("space/sub/a.txt", "1")
	rubric := put("rubric.txt", "{answer}")
	python := recipe.AgentConfig{Path: agent}
	whole := recipe.AgentConfig{Command: program + " --fast {prompt}", Program: recipe.ProgramConfig{Workspace: filepath.Join(dir, "space")}}
	whole.Reward = recipe.GradeConfig{From: "grader", Grader: "python3 " + grader, Judge: recipe.JudgeConfig{Rubric: rubric}}
	for _, c := range []struct {
		of      recipe.AgentConfig
		changes []string
		not     []string
	}{
		{python, []string{"py/agent.py", "py/world.py"}, []string{"prog.sh"}},
		{whole, []string{"prog.sh", "grade.py", "space/sub/a.txt", "space/new.txt", "rubric.txt"}, []string{"py/world.py"}},
	} {
		for _, name := range c.changes {
			before := of(c.of)
			old, _ := os.ReadFile(filepath.Join(dir, name))
			put(name, string(old)+"#")
			if cmp.Equal(before, of(c.of)) {
				t.Errorf("a change of %s went unnoticed: %v", name, before)
			}
		}
		for _, name := range c.not {
			before := of(c.of)
			put(name, "other")
			if diff := cmp.Diff(before, of(c.of)); diff != "" {
				t.Errorf("%s is no part of it: %s", name, diff)
			}
		}
	}
	if got := of(recipe.AgentConfig{Path: "hub:reasoning_gym"}); len(got) != 1 {
		t.Errorf("a hub: %v", got)
	}
	if got := of(recipe.AgentConfig{Preset: "pi"}); len(got) != 1 {
		t.Errorf("a preset: %v", got)
	}
	if got := of(recipe.AgentConfig{Name: "shop"}); len(got) != 0 {
		t.Errorf("an environment of this program: %v", got)
	}
	c := recipe.AgentConfig{Path: filepath.Join(dir, "absent.py")}
	if err := Identify(map[string]string{}, &c); err == nil || !strings.Contains(err.Error(), "cannot read the agent's file") {
		t.Error(err)
	}
}
