package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestNamesWithEverything: files may be called anything. Nothing of it steers a terminal, and what is suggested can be pasted.
func TestNamesWithEverything(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	const evil = "it's\n\x1b[2J\tnew"
	dir := t.TempDir()
	write(t, dir, evil+".jsonl", strings.Repeat(`{"messages": [{"role": "user", "content": "what?"}, {"role": "assistant", "content": "that"}]}`+"\n", 4))
	write(t, dir, evil+".yaml", "train: {steps: 1}\n")
	check := func(s said, code int) string {
		t.Helper()
		s.want(t, code)
		text := s.stdout + s.stderr
		for line := range strings.Lines(text) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("said %q", line)
			}
		}
		return text
	}
	paste := func(text, pattern string) {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no %s in\n%s", pattern, text)
		}
		cmd := command(dir)
		cmd.Path, cmd.Args = bash, []string{"bash", "-c", found[1]}
		cmd.Env = append(cmd.Env, "PATH="+moltInPath(t))
		check(finish(t, cmd), exitOK)
	}
	model := filepath.Join(evil, "model")
	text := check(molt(t, dir, "model", "init", model, "--train-tokenizer", evil+".jsonl", "--vocab-size", "300", "--hidden-size", "32", "--num-attention-heads", "2"), exitOK)
	paste(text, `look at it again +(molt .*)`)
	sft := []string{"sft", evil + ".yaml", "--model.model_name_or_path", model, "--data.dataset", evil + ".jsonl", "--data.max_len", "64", "--ckpt.path", evil + "/run"}
	check(molt(t, dir, append(sft, "--dry-run")...), exitOK)
	text = check(molt(t, dir, sft...), exitOK)
	paste(text, `talk to the model +(molt .*)`)
	text = check(molt(t, dir, sft...), exitRefused)
	paste(text, "look at it with `(molt show .*)`")
	check(molt(t, dir, "eval", "--model.model_name_or_path", evil, "--eval.dataset", evil), exitRefused)
	check(molt(t, dir, "show", evil), exitRefused)
	check(molt(t, dir, "generate", evil, "--prompt", evil), exitRefused)
	check(molt(t, dir, "sft", "--"+evil+".x=1"), exitUsage)
	check(molt(t, dir, "rl", evil), exitUsage)
	check(molt(t, dir, evil), exitUsage)
	// The configuration that was written is read again, whatever its source was called.
	check(molt(t, dir, "sft", evil+"/run/config.yaml", "--ckpt.path", evil+"/again", "--quiet"), exitOK)
}
