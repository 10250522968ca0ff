package harnesses

// Claude Code beyond one run: a conversation that is taken up again, one that a person compacts, and the command that people type.

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molt/agent/command"
	"molt/gateway/capture"
	"molt/gateway/script"
)

// claude skips without it.
func claude(t *testing.T) *kit {
	t.Helper()
	dir := os.Getenv("MOLT_HARNESSES")
	if dir == "" {
		t.Skip("MOLT_HARNESSES names no folder with harnesses; scripts/harnesses/install.sh fills one")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return kits[slices.IndexFunc(kits, func(k *kit) bool { return k.preset == "claude" })]
}

// TestResume: a run that continues another in the same home goes on in its segment.
func TestResume(t *testing.T) {
	k := claude(t)
	texts := []string{k.shell("echo 1 > one"), "Written.", k.shell("echo 2 > two"), "Written too."}
	r := (&trial{kit: k, lines: k.play(texts...), preset: func(p *command.Preset) {
		first := p.Command + " 'Please write one.'"
		p.Command = `sh -c "` + first + " && " + strings.Replace(first, "claude -p", "claude -p --continue", 1) + `"`
		p.Stdin = false
	}}).run(t)
	if c := once(r, texts); c.verdict != "ok" || r.work["one"] != "1\n" || r.work["two"] != "2\n" {
		t.Errorf("%s\n%s", c.note, r.tree())
	}
}

// TestCompactByHand: what a person compacts at a terminal goes on in another segment, and nothing trains twice.
func TestCompactByHand(t *testing.T) {
	k := claude(t)
	lines := []script.Line{{Match: k.spoken, Text: `{"title":"A name"}`, Loop: true}, {Match: k.summary, Text: summary}, {Text: "Here I am."}, {Text: "As before."}, {Text: "Still here."}}
	r := (&trial{kit: k, lines: lines, typed: []keys{
		{k.ready, "Where are you?\r"}, {"Here I am.", "Really?\r"}, {"As before.", "/compact\r"}, {summary, "And now?\r"}, {"Still here.", k.leave},
	}}).run(t)
	if err := identity(r); err != nil {
		t.Error(err)
	}
	var turns []string
	for _, s := range r.segments(capture.Main) {
		turns = append(turns, strings.Join(sampled(r, s), " "))
	}
	slices.Sort(turns)
	// It asks for the summary of what came before the last turn, and carries that turn over.
	want := []string{"As before." + ended + " Still here." + ended, "Here I am." + ended + " As before." + ended, "Here I am." + ended + " " + summary + ended}
	if !slices.Equal(turns, want) {
		t.Errorf("main segments %q, want %q\n%s", turns, want, r.tree())
	}
}

// TestLaunchAtATerminal types into `molt launch claude` itself: it ends as the harness does, and shows what was captured.
func TestLaunchAtATerminal(t *testing.T) {
	k := claude(t)
	dir := t.TempDir()
	molt, work, replies := filepath.Join(dir, "molt"), filepath.Join(dir, "work"), filepath.Join(dir, "replies.jsonl")
	if out, err := exec.Command("go", "build", "-o", molt, "../../../cmd/molt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"match": "sentence-case title", "text": "{\"title\":\"A name\"}", "loop": true}` + "\n" +
		`{"text": ` + quote(k.shell("echo 7 > seven")) + "}\n" + `{"text": "Written."}` + "\n"
	if err := os.WriteFile(replies, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := terminal([]string{molt, "launch", "claude", "--script", replies, "-C", work})
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var s screen
	c.Stdout, c.Stderr, c.Env = &s, &s, append(os.Environ(), "TERM=xterm-256color")
	unseen := func(string) bool { return false }
	missed := seated(t, c, &s, []keys{{k.ready, "Please write seven.\r"}, {k.allow, "\r"}, {"Written.", k.leave}}, unseen, func() { _ = c.Process.Kill() })
	if err := c.Run(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if err := <-missed; err != nil {
		t.Error(err)
	}
	if got := files(work)["seven"]; got != "7\n" {
		t.Errorf("the command wrote %q", got)
	}
	said := s.raw.String()
	at := strings.Index(said, "captured ")
	for _, want := range []string{"captured 3 turns", "the harness ended with exit code 0", "background", "main", "certificate: ", "each in exactly one segment", "(output_config.format)"} {
		if at < 0 || !strings.Contains(said[at:], want) {
			t.Errorf("it does not show %q\n%s", want, said[max(0, at, len(said)-3000):])
		}
	}
}
