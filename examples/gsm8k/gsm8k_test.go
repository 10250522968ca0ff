package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molt/agent"
	"molt/agent/sandbox"
	"molt/chat"
	"molt/cli"
	"molt/traj"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	register()
	os.Exit(m.Run())
}

func TestCalculate(t *testing.T) {
	for _, test := range []struct{ text, want, err string }{
		{"48/2", "24", ""}, {"48 + 24\n", "72", ""}, {"1-2-3", "-4", ""}, {"8/4/2", "1", ""}, {"2+3*4", "14", ""}, {"(2+3)*4", "20", ""},
		{"-(2-5)", "3", ""}, {"2*-3", "-6", ""}, {"12/60", "0.2", ""}, {"0.2 x 50", "", "bad expression"}, {"1/3", "0.333333", ""}, {"$1,200*1.5", "1800", ""},
		{"0.0000001", "0", ""}, {"100", "100", ""}, {"3 × 4 ÷ 2", "6", ""}, {"5/(3-3)", "", "division by zero"}, {"", "", "bad expression"}, {"(2", "", "bad expression"},
		{"2)", "", "bad expression"}, {"1.2.3", "", "bad expression"}, {"1e9", "", "bad expression"}, {"2**3", "", "bad expression"},
		{strings.Repeat("9", 50) + "*" + strings.Repeat("9", 49), "", ""}, {strings.Repeat("9*", 60) + "9", "", "expression too long"},
	} {
		got, err := calculate(test.text)
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("calculate(%q) = %q, %v; want the error %q", test.text, got, err, test.err)
			}
		} else if err != nil || test.want != "" && got != test.want {
			t.Errorf("calculate(%q) = %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

// FuzzCalculate: whatever a policy writes, the calculator ends.
func FuzzCalculate(f *testing.F) {
	f.Add("(1+2)*-3/4.5")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := calculate(text); err == nil && (got == "" || len(got) > 200) {
			t.Errorf("calculate(%q) = %q", text, got)
		}
	})
}

const label = "48/2 = <<48/2=24>>24\n48+24 = 72\n#### 72"

func play(s settings, label string, replies ...string) (*traj.Rollout, chat.Conversation) {
	create, err := open(s)
	if err != nil {
		panic(err)
	}
	task := agent.Task{ID: "1", Messages: []chat.Message{{Role: chat.User, Content: "How many clips?"}}, Label: label}
	return agent.Rehearse(context.Background(), create, task, replies...)
}

func TestWorld(t *testing.T) {
	s := settings{Format: 0.1, Turns: 3}
	for _, c := range []struct {
		name    string
		replies []string
		outcome traj.Outcome
		reward  float64
		calls   float64
		heard   string // the last message that is not the policy's
	}{
		{"right", []string{"#### 72"}, traj.Completed, 1, 0, "How many clips?"},
		{"right with the calculator", []string{"Half: <calc>48/2</calc>", "<calc>48+24</calc>\n", "So\n#### 72"}, traj.Completed, 1, 2, "72"},
		{"wrong", []string{"#### 71"}, traj.Completed, 0.1, 0, "How many clips?"},
		{"right, where it does not count", []string{"It is 72."}, traj.Completed, 0, 0, "How many clips?"},
		{"a call that is not the end is none", []string{"<calc>1+1</calc> is 2"}, traj.Completed, 0, 0, "How many clips?"},
		{"nonsense is told so", []string{"<calc>clips</calc>", "#### 1"}, traj.Completed, 0.1, 1, "error: bad expression"},
		{"it never answers", []string{"<calc>1</calc>", "<calc>2</calc>", "<calc>3</calc>"}, traj.Truncated, 0, 3, "2"},
	} {
		r, said := play(s, label, c.replies...)
		if r.Outcome != c.outcome || r.Reward != c.reward || r.Info["calls"] != c.calls {
			t.Errorf("%s: %s with reward %v after %v calls: %s", c.name, r.Outcome, r.Reward, r.Info["calls"], r.Detail)
		}
		var heard string
		for _, m := range said.Messages {
			if m.Role == chat.User {
				heard = m.Content
			}
		}
		if heard != c.heard {
			t.Errorf("%s: heard %q, want %q", c.name, heard, c.heard)
		}
		if !strings.Contains(said.Messages[0].Content, "<calc>") {
			t.Errorf("%s: the policy is not told of the calculator", c.name)
		}
	}
	if r, _ := play(s, "72", "#### 72"); r.Outcome != traj.Harness {
		t.Errorf("a label without an answer: %s", r.Outcome)
	}
	if _, err := open(settings{Format: 1, Turns: 1}); err == nil {
		t.Error("a wrong answer is as good as a right one")
	}
}

// molt carries out a command line of this program.
func molt(t *testing.T, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	if code := cli.Run(append([]string{"gsm8k"}, args...), strings.NewReader(""), &out, &talk); code != 0 {
		t.Fatalf("%v: exit %d\n%s\n%s", args, code, talk.String(), out.String())
	}
	return out.String()
}

// tiny makes a model of a few thousand numbers, and four questions.
func tiny(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var texts, rows strings.Builder
	for n := range 4 {
		fmt.Fprintf(&texts, `{"text": "How many clips are %d? <calc>1+1</calc> #### 2"}`+"\n", n)
		fmt.Fprintf(&rows, `{"question": "How many clips are %d?", "answer": "#### %d"}`+"\n", n, n)
	}
	for name, text := range map[string]string{"texts.jsonl": texts.String(), "train.jsonl": rows.String()} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	molt(t, "model", "init", "tiny", "--train-tokenizer", "texts.jsonl", "--vocab-size", "300", "--hidden-size", "16", "--num-attention-heads", "2", "--max-position-embeddings", "2048")
}

// trains takes two steps.
func trains(t *testing.T, args ...string) {
	t.Helper()
	out := molt(t, append([]string{"rl", "--model.model_name_or_path", "tiny", "--data.prompt_dataset", "train.jsonl", "--data.input_key", "question", "--data.label_key", "answer",
		"--rollout.batch_size", "2", "--rollout.n_samples_per_prompt", "2", "--rollout.max_new_tokens", "6", "--train.steps", "2", "--ckpt.path", "run", "--json", "-q"}, args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct{ Steps int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil || result.Steps != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join("run", "last", "model.safetensors")); err != nil {
		t.Error(err)
	}
}

// TestTraining takes two steps on two questions, with a model of a few thousand numbers.
func TestTraining(t *testing.T) {
	tiny(t)
	trains(t, "--agent.name", "gsm8k", "--rollout.max_len", "400")
}

// TestPrograms plays code.yaml by hand, and trains on it, with the language that is kept apart everywhere.
func TestPrograms(t *testing.T) {
	recipe, err := filepath.Abs("code.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tiny(t)
	program := "<tool_call>\n" + `{"name": "starlark", "arguments": {"code": "print(48 // 2 + 48)"}}` + "\n</tool_call>"
	out := molt(t, "agent", "try", recipe, "--agent.code.language", "starlark", "--prompt", "How many clips?", "--label", label, "--reply", program, "--reply", "So\n#### 72")
	for _, want := range []string{`"name": "starlark"`, "\n72", "[end] completed, reward 1, marked 1, programs 1, programs_failed 0"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q:\n%s", want, out)
		}
	}
	trains(t, "--agent.name", "code", "--agent.code.language", "starlark", "--rollout.max_len", "1500")
}
