package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molt/agent"
	"molt/chat"
	"molt/cli"
	"molt/traj"
)

func TestMain(m *testing.M) {
	register()
	os.Exit(m.Run())
}

// play rehearses a game in which 7 is hidden: no model, the replies are given.
func play(label string, replies ...string) (*traj.Rollout, chat.Conversation) {
	create, err := open(settings{Most: 20, Tries: 3, Near: 0.25})
	if err != nil {
		panic(err)
	}
	task := agent.Task{ID: "1", Messages: say("Guess my number, from 1 to 20."), Label: label}
	return agent.Rehearse(context.Background(), create, task, replies...)
}

func TestGame(t *testing.T) {
	for _, c := range []struct {
		name    string
		replies []string
		outcome traj.Outcome
		reward  float64
		heard   string // the last answer
	}{
		{"a hit", []string{"5?", "Then 9.", "7"}, traj.Completed, 1, "Lower."},
		{"nonsense is graded", []string{"What?", "Why?", "No."}, traj.Truncated, 0, "Name a number."},
		{"the tries are used up", []string{"1", "2", "20"}, traj.Truncated, 0, "Higher."},
		{"a near miss", []string{"1", "2", "6"}, traj.Truncated, 0.25, "Higher."},
	} {
		rollout, said := play("7", c.replies...)
		if rollout.Outcome != c.outcome || rollout.Reward != c.reward || rollout.Info["guesses"] != 3 {
			t.Errorf("%s: %s with reward %v after %v guesses (%s)", c.name, rollout.Outcome, rollout.Reward, rollout.Info["guesses"], rollout.Detail)
		}
		var heard string
		for _, m := range said.Messages[1:] {
			if m.Role == chat.User {
				heard = m.Content
			}
		}
		if heard != c.heard {
			t.Errorf("%s: heard %q, want %q", c.name, heard, c.heard)
		}
	}
}

// TestOurFailuresAreNotGraded: what is wrong with the row is no fault of the policy.
func TestOurFailuresAreNotGraded(t *testing.T) {
	for _, label := range []string{"", "seven", "0", "21"} {
		rollout, _ := play(label, "7")
		if rollout.Outcome != traj.Harness || !strings.Contains(rollout.Detail, "want a number from 1 to 20") {
			t.Errorf("label %q: %s, %s", label, rollout.Outcome, rollout.Detail)
		}
	}
	if _, err := open(settings{Most: 20, Tries: 3, Near: 1}); err == nil {
		t.Error("a miss is as good as a hit")
	}
}

// molt carries out a command line of this program.
func molt(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(append([]string{"higher"}, args...), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestTraining makes a model of a few thousand numbers and trains it for two steps on the game.
func TestTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	var texts, prompts strings.Builder
	for n := 1; n <= 8; n++ {
		fmt.Fprintf(&texts, `{"text": "Guess my number, from 1 to 20. Higher. Lower. Name a number. %d"}`+"\n", n)
		fmt.Fprintf(&prompts, `{"input": "Guess my number, from 1 to 20.", "label": "%d"}`+"\n", n)
	}
	for name, text := range map[string]string{"texts.jsonl": texts.String(), "prompts.jsonl": prompts.String()} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, talk := molt(t, "model", "init", "tiny", "--train-tokenizer", "texts.jsonl", "--vocab-size", "300", "--hidden-size", "16", "--num-attention-heads", "2",
		"--max-position-embeddings", "256"); code != 0 {
		t.Fatal(talk)
	}
	train := func(more ...string) (int, string, string) {
		return molt(t, append([]string{"rl", "--model.model_name_or_path", "tiny", "--data.prompt_dataset", "prompts.jsonl", "--data.label_key", "label",
			"--agent.name", "higher", "--agent.higher.tries", "2", "--rollout.batch_size", "2", "--rollout.n_samples_per_prompt", "2",
			"--rollout.max_new_tokens", "6", "--rollout.max_len", "200", "--train.steps", "2", "--ckpt.path", "run", "--json", "-q"}, more...)...)
	}
	for want, flags := range map[string][]string{
		"agent.higher.near wants [0,1], not 2": {"--agent.higher.near", "2"},
		"would be as good as a hit":            {"--agent.higher.near", "1"},
		"want a number from 1 to 3":            {"--agent.higher.most", "3"},
	} {
		if code, _, talk := train(flags...); code == 0 || !strings.Contains(talk, want) {
			t.Errorf("%v: exit %d, %s", flags, code, talk)
		}
	}
	code, out, talk := train()
	if code != 0 {
		t.Fatal(talk)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var result struct{ Steps int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil || result.Steps != 2 {
		t.Errorf("%v: %s", err, out)
	}
	config, err := os.ReadFile(filepath.Join("run", "config.yaml"))
	if err != nil || !regexp.MustCompile(`(?m)^  higher:\n    most: 20  # default\n    tries: 2  # flag\n`).Match(config) {
		t.Errorf("%v:\n%s", err, config)
	}
}

// TestDocumentation: every block of Go in docs/environment.md stands, as it is, in the file that is named above it.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)(?:<!-- from (\\S+) -->\n)?```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		if b[1] == "" {
			t.Errorf("a block does not say where it is from:\n%s", b[2])
			continue
		}
		source, err := os.ReadFile(filepath.Join("../..", b[1]))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), b[2]) {
			t.Errorf("%s does not hold\n%s", b[1], b[2])
		}
	}
	for _, name := range regexp.MustCompile(`\]\(\.\./([^)#]+)\)`).FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("../..", name[1])); err != nil {
			t.Error(err)
		}
	}
}
