// Ctrl-C once stops in order and says how to go on; what it says works when it is pasted. Ctrl-C twice stops at once.

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// workshop makes a folder with a model that answers with a digit, prompts, and conversations; it gives the folder.
func workshop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var chats, prompts strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chats, `{"messages": [{"role": "user", "content": "what %d?"}, {"role": "assistant", "content": "%d"}]}`+"\n", i, 6+i%3)
		fmt.Fprintf(&prompts, `{"input": "what %d?", "label": "7"}`+"\n", i)
	}
	write(t, dir, "chats.jsonl", chats.String())
	write(t, dir, "prompts.jsonl", prompts.String())
	molt(t, dir, "model", "init", "tiny", "--train-tokenizer", "chats.jsonl", "--vocab-size", "300", "--hidden-size", "32",
		"--num-attention-heads", "2", "--num-hidden-layers", "1", "--max-position-embeddings", "256").want(t, exitOK)
	molt(t, dir, sftLine("taught", "--train.steps", "40")...).want(t, exitOK, "trained 40 steps")
	return dir
}

func sftLine(out string, more ...string) []string {
	return append([]string{"sft", "--model.model_name_or_path", "tiny", "--data.dataset", "chats.jsonl", "--data.max_len", "128", "--model.adam.lr", "0.01",
		"--train.batch_size", "12", "--logger.logging_steps", "1", "--engine.threads", "1", "--ckpt.path", out}, more...)
}

func rlLine(out string, more ...string) []string {
	return append([]string{"rl", "--model.model_name_or_path", "taught/final", "--data.prompt_dataset", "prompts.jsonl", "--data.label_key", "label",
		"--rollout.batch_size", "4", "--rollout.n_samples_per_prompt", "8", "--rollout.max_new_tokens", "6", "--rollout.max_len", "128",
		"--actor.adam.lr", "0.003", "--train.batch_size", "16", "--ckpt.save_steps", "100", "--engine.threads", "1", "--ckpt.path", out}, more...)
}

// running is a command whose talk is listened to.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu   sync.Mutex // guards talk
	talk bytes.Buffer
	more chan struct{} // capacity 1: there is more to hear
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.talk.Write(p)
	select {
	case r.more <- struct{}{}:
	default: // the listener knows already
	}
	return len(p), nil
}

func launch(t *testing.T, dir string, line []string) *running {
	t.Helper()
	r := &running{t: t, cmd: command(dir, line...), done: make(chan struct{}), more: make(chan struct{}, 1)}
	r.cmd.Stderr = r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait() // its exit code is asked for
		close(r.done)
	}()
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); <-r.done })
	return r
}

func (r *running) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talk.String()
}

// hear waits until the command has said something that matches.
func (r *running) hear(pattern string) {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(30 * time.Second)
	for !re.MatchString(r.heard()) {
		select {
		case <-r.more:
		case <-r.done:
			if !re.MatchString(r.heard()) {
				r.t.Fatalf("it ended with code %d and never said %s:\n%s", r.cmd.ProcessState.ExitCode(), pattern, r.heard())
			}
		case <-limit:
			r.t.Fatalf("after 30 s it has not said %s:\n%s", pattern, r.heard())
		}
	}
}

// ends waits for the end and checks the exit code.
func (r *running) ends(code int) {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(30 * time.Second):
		r.t.Fatalf("it has not ended:\n%s", r.heard())
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("exit code %d, want %d:\n%s", got, code, r.heard())
	}
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

var resumeLine = regexp.MustCompile(`the same command resumes: (.*)`)

// paste runs the resume line that was said, in a shell.
func (r *running) paste() said {
	r.t.Helper()
	found := resumeLine.FindStringSubmatch(r.heard())
	if found == nil {
		r.t.Fatalf("no resume line:\n%s", r.heard())
	}
	cmd := exec.Command("sh", "-c", found[1])
	cmd.Dir = r.cmd.Dir
	cmd.Env = append(r.cmd.Environ(), "PATH="+moltInPath(r.t))
	return finish(r.t, cmd)
}

func TestCtrlCOnce(t *testing.T) {
	dir := workshop(t)
	for name, c := range map[string]struct {
		line  func(out string, more ...string) []string
		steps string
		until string // said in the middle of the run
		model string
	}{
		"rl":  {rlLine, "30", `rl step 3/`, "last"},
		"sft": {sftLine, "1500", `sft step \d+/`, "final"},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprint(name, " ", signal), func(t *testing.T) {
				whole, out := name+" whole", "it's "+name+" "+signal.String()
				if _, err := os.Stat(filepath.Join(dir, whole)); err != nil {
					molt(t, dir, c.line(whole, "--train.steps", c.steps)...).want(t, exitOK, "trained "+c.steps+" steps")
				}
				r := launch(t, dir, c.line(out, "--train.steps", c.steps))
				r.hear(c.until)
				r.signal(signal)
				r.ends(exitInterrupted)
				r.hear(`stopping in order`)
				r.hear(`error\[MOLT-I001\]: .*: stopped after step [1-9]`)
				if newest, _ := filepath.Glob(filepath.Join(dir, out, "checkpoints", "step-0*[1-9]*")); len(newest) == 0 {
					t.Error("nothing was saved")
				}
				r.paste().want(t, exitOK, "trained "+c.steps+" steps")
				if !bytes.Equal(file(t, dir, out, c.model, "model.safetensors"), file(t, dir, whole, c.model, "model.safetensors")) {
					t.Error("the weights differ from those of a run that was not interrupted")
				}
			})
		}
	}
}

func file(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCtrlCTwice in a step that takes for ever: the first signal waits for it, the second does not.
func TestCtrlCTwice(t *testing.T) {
	dir := workshop(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			r, out := inItsStep(t, dir, signal)
			r.signal(signal)
			r.ends(exitInterrupted)
			r.hear(`stopped\. The same command resumes`)
			if len(file(t, dir, out, "checkpoints", "step-000000", "state.json")) == 0 {
				t.Error("the first checkpoint is gone")
			}
		})
	}
}

// inItsStep gives a run that was told once to stop, in a step that never ends. Nothing says when that step begins, and a run
// that is told earlier stops at once: then another is given more time.
func inItsStep(t *testing.T, dir string, signal syscall.Signal) (r *running, out string) {
	t.Helper()
	for wait := 100 * time.Millisecond; wait < time.Minute; wait *= 2 {
		out = fmt.Sprintf("endless %v %v", signal, wait)
		line := rlLine(out, "--train.steps", "3", "--train.max_epochs", "1000000")
		r = launch(t, dir, line)
		r.hear(`saved last checkpoint of step 0`)
		molt(t, dir, line...).want(t, exitResource, "MOLT-R002", "another run holds this folder")
		time.Sleep(wait)
		r.signal(signal)
		r.hear(`Once more stops at once`)
		select {
		case <-r.done:
		case <-time.After(2*time.Second + wait): // enough for an end in order
			return r, out
		}
	}
	t.Fatalf("it never begins its step:\n%s", r.heard())
	return nil, ""
}

func TestCtrlCDuringEvaluation(t *testing.T) {
	dir := workshop(t)
	r := launch(t, dir, []string{"eval", "--model.model_name_or_path", "taught/final", "--eval.dataset", "prompts.jsonl", "--data.label_key", "label",
		"--rollout.max_new_tokens", "60", "--rollout.max_len", "200", "--eval.n_samples_per_prompt", "500", "--engine.threads", "1"})
	r.hear(`evaluating`)
	r.signal(os.Interrupt)
	r.ends(exitInterrupted)
	r.hear(`the evaluation was stopped\n  fix: run it again`)
}

func TestCtrlCDuringQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes its data and lays it out three times")
	}
	dir := t.TempDir()
	line := []string{"quickstart", "--out", "q u i c k"}
	r := launch(t, dir, line)
	r.hear(`sft step \d+/`)
	r.signal(os.Interrupt)
	r.ends(exitInterrupted)
	again := resumeLine.FindStringSubmatch(r.heard())
	if again == nil || again[1] != "molt quickstart --out 'q u i c k'" {
		t.Fatalf("the resume line is %q", again)
	}
	molt(t, dir, append(line, "--seed", "1")...).want(t, exitRefused, `seed was "0" and is now "1"`)
	r = launch(t, dir, line)
	r.hear(`resumed from`)
	r.hear(`sft step \d+/`)
	r.signal(os.Interrupt)
	r.ends(exitInterrupted)
}

// TestNobodyListens: whoever read the progress is gone. The run goes on and notes it.
func TestNobodyListens(t *testing.T) {
	dir := workshop(t)
	listening, talking, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(dir, rlLine("alone", "--train.steps", "20")...)
	cmd.Stderr = talking
	if err := errors.Join(cmd.Start(), talking.Close()); err != nil {
		t.Fatal(err)
	}
	heard := bufio.NewScanner(listening)
	for heard.Scan() && !strings.Contains(heard.Text(), "rl step 2/") {
	}
	if err := errors.Join(heard.Err(), listening.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if events := string(file(t, dir, "alone", "events.jsonl")); !strings.Contains(events, "sink-failed") || !strings.Contains(events, `"outcome":"finished"`) {
		t.Error("the events do not tell of the terminal that is gone, and of the end")
	}
}
