package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"molt/agent"
	"molt/chat"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// safe is a log that many goroutines write.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func open(t *testing.T, file string, change func(*Config)) (*Pool, Kind, *safe) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	log := &safe{}
	config := Defaults()
	config.File, config.Log, config.Grace = filepath.Join("testdata", file), log, 300*time.Millisecond
	config.Render = func(task agent.Task) (string, error) { return "<" + task.Messages[0].Content + ">", nil }
	config.Sampling, config.MaxLength = agent.Sampling{Temperature: 1, TopP: 0.75, MaxTokens: 8}, 99
	if change != nil {
		change(&config)
	}
	pool, kind, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool, kind, log
}

// literalPolicy says its replies, and keeps what it was shown and how it was asked to sample.
type literalPolicy struct {
	*agent.Scripted
	shown    []string
	images   []int // that came with each
	sampling agent.Sampling
}

func (p *literalPolicy) Begin(m []chat.Message, tools []chat.ToolSpec) error {
	p.shown, p.images = append(p.shown, m[0].Content), append(p.images, len(chat.Images(m...)))
	return p.Scripted.Begin(m, tools)
}

func (p *literalPolicy) Turn(ctx context.Context, m []chat.Message) (chat.Reply, error) {
	if m != nil {
		p.shown, p.images = append(p.shown, m[0].Content), append(p.images, len(chat.Images(m...)))
	}
	return p.Scripted.Turn(ctx, m)
}

func (p *literalPolicy) Resample(s agent.Sampling) error { p.sampling = s; return nil }

func play(t *testing.T, pool *Pool, label string, replies ...string) (*traj.Rollout, *literalPolicy) {
	return playWithin(t, 2*time.Second, pool, label, replies...)
}

func playWithin(t *testing.T, step time.Duration, pool *Pool, label string, replies ...string) (*traj.Rollout, *literalPolicy) {
	policy := &literalPolicy{Scripted: agent.NewScripted(replies...)}
	config := agent.Defaults()
	config.Reset, config.Step = 5*time.Second, step // a process may have to be started first
	runner := agent.EnvRunner{Config: config, New: pool.Env, Open: func(agent.Job) (agent.Policy, error) { return policy, nil }}
	task := agent.Task{ID: "1", Messages: []chat.Message{{Role: chat.User, Content: "Guess."}}, Label: label}
	return runner.Run(t.Context(), agent.Job{Task: task}), policy
}

func TestEnv(t *testing.T) {
	pool, kind, log := open(t, "guess.py", nil)
	if kind != KindEnv {
		t.Fatalf("kind %q", kind)
	}
	r, policy := play(t, pool, "hare", "CAT", "HARE")
	if r.Outcome != traj.Completed || r.Reward != 1.25 || r.Score != 0.5 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(map[string]float64{"turns": 2}, r.Info); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"<Guess.>go>", "no>"}, policy.shown); diff != "" {
		t.Error(diff)
	}
	if policy.sampling.Temperature != 0.5 {
		t.Errorf("sampling %+v", policy.sampling)
	}
	if err := pool.Close(); err != nil { // then everything that was printed has been read
		t.Error(err)
	}
	if got := log.String(); !strings.HasPrefix(got, "loaded\n") || !strings.Contains(got, "closed") {
		t.Errorf("printed %q", got)
	}
}

// Every way to fail has its outcome, and the pool goes on.
func TestEnvFails(t *testing.T) {
	pool, _, _ := open(t, "guess.py", func(c *Config) { c.Processes = 1 })
	for label, want := range map[string]struct {
		outcome traj.Outcome
		detail  string
	}{
		"reset fails": {traj.Harness, "ValueError: no such word"},
		"sleeps":      {traj.Timeout, "Step of turn 0 did not return within 2s"},
		"blocks":      {traj.Timeout, "Step of turn 0 did not return within 2s"},
		"dies":        {traj.Harness, "exit status 3; it last printed: "},
		"nan":         {traj.Grader, "reward NaN"},
		"nothing":     {traj.Harness, "TypeError: step returned NoneType; want molt.agents.Result"},
		"greedy":      {traj.Harness, "sampling_params temperature = 0"},
	} {
		r, _ := play(t, pool, label, "CAT", "HARE")
		if r.Outcome != want.outcome || !strings.Contains(r.Detail, want.detail) {
			t.Errorf("%s: %s, %s", label, r.Outcome, r.Detail)
		}
		if r, _ := play(t, pool, "hare", "HARE"); r.Outcome != traj.Completed {
			t.Errorf("after %s: %s, %s", label, r.Outcome, r.Detail)
		}
	}
}

// A traceback is what Python prints, without our frames, and comes once however often it happens.
func TestTraceback(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.py")
	text := `from molt.agents import Env, Result, StepEnvRunner
def helper(text):
    raise ValueError("not " + text)
class Broken(Env):
    async def step(self, state):
        helper(state["action_text"])
class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Broken)
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var traced []string
	pool, _, _ := open(t, "guess.py", func(c *Config) {
		c.File, c.Trace = file, func(text string) { traced = append(traced, text) }
	})
	for _, reply := range []string{"a", "b", "c"} {
		r, _ := play(t, pool, "", reply)
		if want := "Step of turn 0: ValueError: not " + reply + " (broken.py:3 in helper)"; r.Detail != want {
			t.Errorf("%q; want %q", r.Detail, want)
		}
	}
	want := `Traceback (most recent call last):
  File "` + file + `", line 6, in step
    helper(state["action_text"])
  File "` + file + `", line 3, in helper
    raise ValueError("not " + text)
ValueError: not a
`
	if diff := cmp.Diff([]string{want}, traced); diff != "" {
		t.Error(diff)
	}
}

// A rollout that blocks the process takes others with it; they may be tried again.
func TestNeighbours(t *testing.T) {
	pool, _, _ := open(t, "guess.py", func(c *Config) { c.Processes = 1 })
	var outcomes [2]*traj.Rollout
	var both sync.WaitGroup
	for i, label := range []string{"blocks", "sleeps"} {
		both.Go(func() { outcomes[i], _ = play(t, pool, label, "CAT") })
	}
	both.Wait()
	for _, r := range outcomes {
		if r.Outcome != traj.Timeout && r.Outcome != traj.Infrastructure {
			t.Errorf("%s: %s", r.Outcome, r.Detail)
		}
	}
}

func TestRecycle(t *testing.T) {
	pool, _, log := open(t, "guess.py", func(c *Config) { c.Processes, c.Recycle = 1, 2 })
	for range 4 {
		if r, _ := play(t, pool, "hare", "HARE"); r.Outcome != traj.Completed {
			t.Error(r.Detail)
		}
	}
	if n := strings.Count(log.String(), "loaded"); n != 3 { // the one that said hello counts that as a rollout
		t.Errorf("%d processes", n)
	}
}

func TestChatAgent(t *testing.T) {
	pool, kind, _ := open(t, "talk.py", nil)
	if kind != KindChat {
		t.Fatalf("kind %q", kind)
	}
	var body map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/s/1/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, r.URL.Path, http.StatusNotFound)
		}
		json.NewDecoder(r.Body).Decode(&body)
		fmt.Fprint(w, `{"choices": [{"message": {"content": "4"}}]}`)
	}))
	defer server.Close()
	spec := chat.NewToolSpec("add", "Adds.", chat.Object())
	task := agent.Task{Messages: []chat.Message{{Role: chat.User, Content: "2+2?"}}, Tools: []chat.ToolSpec{spec}, Label: "4"}
	address := agent.Address{Session: "1", URL: server.URL + "/s/1", Key: "k", Model: "policy"}
	got, err := pool.ChatAgent().Run(t.Context(), agent.ChatContext{Task: task, Address: address, Sampling: agent.Sampling{TopP: 0.75}, MaxLength: 99})
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Result{Reward: 1, Terminated: true, Info: map[string]float64{"length": 99, "top_p": 0.75}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if body["model"] != "policy" || len(body["tools"].([]any)) != 1 {
		t.Errorf("%v", body)
	}
}

func TestOpenRefuses(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ file, want string }{
		{"agent.txt", "must end in .py"},
		{"absent.py", "no such file"},
		{write("syntax.py", "def"), "SyntaxError"},
		{write("empty.py", ""), "has no class AgentRunner"},
		{write("base.py", "class AgentRunner: pass"), "is not derived from molt.agents.StepEnvRunner or ChatAgentRunner"},
		{write("own.py", "from molt.agents import Runner\nclass AgentRunner(Runner): pass"), "has its own way to run rollouts"},
		{write("env.py", "from molt.agents import *\nclass AgentRunner(StepEnvRunner):\n  def __init__(self): super().__init__(int)"), "wants a class derived from molt.agents.Env"},
		{write("exits.py", "import sys; sys.exit(7)"), "SystemExit: 7"},
		{write("slow.py", "import time; time.sleep(60)"), "deadline exceeded"},
	} {
		config := Defaults()
		config.File, config.Start, config.Grace = test.file, 3*time.Second, 100*time.Millisecond
		pool, _, err := Open(t.Context(), config)
		if err == nil {
			pool.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", test.file, err, test.want)
		}
	}
}
