package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molt/agent"
	"molt/chat"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/leg"
	"molt/run/problem"
	"molt/run/recipe"
)

// The same task through every door: an Env in Go, an Env in a Python file, a ChatAgent in Go, a ChatAgent in a Python file, and
// a program over either wire. Doors of one kind show the policy the same ids, draw the same random numbers and grade the same replies, so
// the weights are the same, bit for bit. (Over HTTP the numbers that a turn draws depend on what was said before it, not on
// its ordinal, because requests may come side by side: so the two kinds draw different ones.)
func TestOneModelLearnsThroughEveryDoor(t *testing.T) {
	slow(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	at := func(name string) string {
		path, err := filepath.Abs(filepath.Join("testdata", "doors", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	weights := map[string]string{}
	for _, door := range []struct {
		name, same string
		agent      func(*recipe.AgentConfig)
	}{
		{"an Env in Go", "", func(c *recipe.AgentConfig) { c.Name = "vowels" }},
		{"an Env in Python", "an Env in Go", func(c *recipe.AgentConfig) { c.Path = at("vowels.py") }},
		{"a ChatAgent in Go", "", func(c *recipe.AgentConfig) { c.Name = "vowels_chat" }},
		{"a ChatAgent in Python", "a ChatAgent in Go", func(c *recipe.AgentConfig) { c.Path = at("chat.py") }},
		{"a program on the OpenAI wire", "a ChatAgent in Python", func(c *recipe.AgentConfig) { c.Command = "python3 " + at("chat.py") + " openai" }},
		{"a program on the Anthropic wire", "a ChatAgent in Python", func(c *recipe.AgentConfig) { c.Command = "python3 " + at("chat.py") + " anthropic" }},
	} {
		c := microRL(t)
		c.Train.Steps, c.Eval.Steps, c.Agent.Name = 2, 1, recipe.Defaults().Agent.Name
		door.agent(&c.Agent)
		runRL(t, c)
		records, err := metrics.Salvage(filepath.Join(c.Ckpt.Path, folder.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range metrics.Of[metrics.StepDone](records) {
			if s.Outcomes["completed"] != 12 || s.GradNorm == 0 {
				t.Errorf("%s: step %d: %v, gradient norm %v", door.name, s.Step, s.Outcomes, s.GradNorm)
			}
		}
		weights[door.name] = string(read(t, filepath.Join(c.Ckpt.Path, folder.LastDir, "model.safetensors")))
		if door.same != "" && weights[door.name] != weights[door.same] {
			t.Errorf("%s: the weights differ from those of %s", door.name, door.same)
		}
	}
}

func init() {
	agent.RegisterChat("vowels_chat", "vowels over HTTP", struct{}{}, always(func() agent.ChatAgent { return vowelsChat{} }))
}

// vowelsChat is vowels for an agent that owns its loop.
type vowelsChat struct{}

func (vowelsChat) Run(ctx context.Context, c agent.ChatContext) (agent.Result, error) {
	var world vowels
	start, err := world.Reset(ctx, c.Task)
	if err != nil {
		return agent.Result{}, err
	}
	messages := []any{map[string]any{"role": "user", "content": start.Messages[0].Content}}
	total := 0.0
	for turn := 0; ; turn++ {
		message, text, err := complete(ctx, c.Address, messages)
		if err != nil {
			return agent.Result{}, err
		}
		r, err := world.Step(ctx, agent.Action{Turn: turn, Reply: chat.Reply{Text: text}})
		if total += r.Reward; err != nil || r.Terminated {
			r.Reward = total
			return r, err
		}
		messages = append(messages, message, map[string]any{"role": "user", "content": r.Observation[0].Content})
	}
}

// complete asks for one reply: the message as it came, and its text.
func complete(ctx context.Context, at agent.Address, messages []any) (json.RawMessage, string, error) {
	body, err := json.Marshal(map[string]any{"model": at.Model, "messages": messages})
	if err != nil {
		return nil, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.OpenAI()+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Authorization", "Bearer "+at.Key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	var reply struct {
		Choices []struct{ Message json.RawMessage }
	}
	var message struct{ Content string }
	if err := json.NewDecoder(answer.Body).Decode(&reply); err != nil || len(reply.Choices) == 0 {
		return nil, "", fmt.Errorf("%s: no choice: %v", answer.Status, err)
	}
	err = json.Unmarshal(reply.Choices[0].Message, &message)
	return reply.Choices[0].Message, message.Content, err
}

func TestAgentsThatCannotBegin(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*recipe.AgentConfig)
		code   problem.Code
		says   string
	}{
		"no such file":                    {func(c *recipe.AgentConfig) { c.Path = "absent.py" }, problem.Setting, "no such file"},
		"no such hub":                     {func(c *recipe.AgentConfig) { c.Path = "hub:gym" }, problem.Setting, `no hub is called "gym"`},
		"no such preset":                  {func(c *recipe.AgentConfig) { c.Preset, c.Reward.From = "cursor", "file" }, problem.Setting, `no harness is called "cursor"`},
		"a harness that prints no reward": {func(c *recipe.AgentConfig) { c.Preset = "pi" }, problem.Combined, "a harness prints no reward"},
		"no such program":                 {func(c *recipe.AgentConfig) { c.Command = "no-such-program {prompt}" }, problem.Resource, "not found"},
		"no placeholder":                  {func(c *recipe.AgentConfig) { c.Command = "echo {label}" }, problem.Setting, "{label} is no placeholder"},
		"two agents":                      {func(c *recipe.AgentConfig) { c.Command, c.Path = "true", "a.py" }, problem.Combined, "already says what the agent is"},
		"no grader":                       {func(c *recipe.AgentConfig) { c.Command, c.Reward.From = "true", "grader" }, problem.Setting, "Reward.Grader"},
		"an unread grader":                {func(c *recipe.AgentConfig) { c.Command, c.Reward.Grader = "true", "true" }, problem.Combined, "agent.reward.from grader"},
	} {
		c := microRL(t)
		c.Agent.Name = recipe.Defaults().Agent.Name
		test.change(&c.Agent)
		_, err := RL(t.Context(), c, recipe.Settings(c), leg.View{Command: "again"})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want %q", name, err, test.says)
		}
		if _, err := os.Stat(c.Ckpt.Path); err == nil {
			t.Errorf("%s: the run folder was made", name)
		}
	}
}

// TestAChangedAgentIsAnotherRun: a run that began with one agent does not go on with another.
func TestAChangedAgentIsAnotherRun(t *testing.T) {
	c := microRL(t)
	program := write(t, t.TempDir(), "agent.sh", "#!/bin/sh\nexit 1\n")
	c.Agent.Name, c.Agent.Command = recipe.Defaults().Agent.Name, "/bin/sh "+program
	inputs := func() map[string]string {
		p, err := preflight(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
		return p.inputs
	}
	before := inputs()
	if diff := cmp.Diff(before, inputs()); diff != "" {
		t.Errorf("the same agent is another: %s", diff)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(before, inputs()) {
		t.Error("nobody noticed that the agent has changed")
	}
}
