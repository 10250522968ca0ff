package doors

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"molt/agent"
	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/gateway/script"
	"molt/run/models"
	"molt/run/recipe"
	"molt/traj"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// world is what agents are opened with: a script's model.
func world(t *testing.T, change func(*recipe.AgentConfig)) Config {
	t.Helper()
	r, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	family, err := parse.Named("hermes")
	if err != nil {
		t.Fatal(err)
	}
	settings := recipe.Defaults().Agent
	change(&settings)
	return Config{
		Agent: &settings, Model: &models.Model{Renderer: r, Family: family, Tok: r.Tokenizer()}, MaxLen: 1000, Log: new(Log),
		Sampling: func(bool) engine.Sampling { return engine.Sampling{Temperature: 1, MaxTokens: 50} },
	}
}

func play(t *testing.T, c Config) *traj.Rollout {
	t.Helper()
	a, err := OpenNamed(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	end, _ := c.Model.Renderer.EndOfTurn()
	if err := a.Start(script.New([]script.Line{{Text: "four", Loop: true}}, c.Model.Tok, end, 4096), nil); err != nil {
		t.Fatal(err)
	}
	return a.Runner().Run(t.Context(), agent.Job{Task: agent.Task{ID: "t", Messages: []chat.Message{{Role: chat.User, Content: "Say four."}}}})
}

// TestProgramsEndTyped: however a program ends, the outcome says whose fault it is.
func TestProgramsEndTyped(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no sh")
	}
	for name, c := range map[string]struct {
		command string
		seconds float64
		outcome traj.Outcome
		says    string
	}{
		"it never asks":    {"sh -c 'echo 1'", 60, traj.Harness, "never called the policy"},
		"it fails":         {"sh -c 'echo no luck >&2; exit 3'", 60, traj.Harness, "exit code 3; it last said: no luck"},
		"it asks for more": {"sh -c 'exit 75'", 60, traj.Infrastructure, "exit code 75"},
		"it hangs":         {"sleep 60", 0.2, traj.Timeout, "did not return within 200ms"},
	} {
		config := world(t, func(a *recipe.AgentConfig) { a.Command, a.Timeout = c.command, c.seconds })
		if r := play(t, config); r.Outcome != c.outcome || !strings.Contains(r.Detail, c.says) {
			t.Errorf("%s: %s, %s", name, r.Outcome, r.Detail)
		}
		var printed strings.Builder
		if config.Log.Send(&printed); name == "it fails" && !strings.HasSuffix(printed.String(), "no luck\n") {
			t.Errorf("logged %q", printed.String())
		}
	}
}

// TestPythonThatDies ends its rollout, and the next one has another process.
func TestPythonThatDies(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	file := filepath.Join(t.TempDir(), "dies.py")
	text := `
import os
from molt.agents import ChatAgent, ChatAgentRunner, Result
class Dies(ChatAgent):
    async def run(self, ctx):
        print("last words", flush=True)
        os._exit(7)
class AgentRunner(ChatAgentRunner):
    def __init__(self):
        super().__init__(Dies)
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := world(t, func(a *recipe.AgentConfig) { a.Path = file })
	if r := play(t, config); r.Outcome.Graded() {
		t.Errorf("%s, %s", r.Outcome, r.Detail)
	}
	var printed strings.Builder
	if config.Log.Send(&printed); !strings.Contains(printed.String(), "last words") {
		t.Errorf("logged %q", printed.String())
	}
}

// TestCloseAfterFailedStart: an agent that was opened and never started, or whose file is wrong, leaves nothing behind.
func TestCloseAfterFailedStart(t *testing.T) {
	a, err := OpenNamed(t.Context(), world(t, func(a *recipe.AgentConfig) { a.Command = "true" }))
	if err != nil {
		t.Fatal(err)
	}
	small := engine.Generator(script.New(nil, a.config.Model.Tok, 0, 4096))
	a.config.Agent.Capture.Mode = "sideways"
	if err := a.Start(small, nil); err == nil || !strings.Contains(err.Error(), "sideways") {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*recipe.AgentConfig){
		func(a *recipe.AgentConfig) { a.Path = "absent.py" },
		func(a *recipe.AgentConfig) { a.Path = "hub:rows" },
		func(a *recipe.AgentConfig) { a.Name = "nobody" },
	} {
		if _, err := OpenNamed(t.Context(), world(t, change)); err == nil {
			t.Error("opened")
		}
	}
}
