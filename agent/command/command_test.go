package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"molt/agent"
	"molt/agent/judge"
	"molt/chat"
	"molt/internal/child"
	"molt/traj"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  node  agent.mjs\t{prompt_file}\n", []string{"node", "agent.mjs", "{prompt_file}"}},
		{`sh -c 'echo "$1" \n' x`, []string{"sh", "-c", `echo "$1" \n`, "x"}},
		{`a "b \" \\ \n 'c'" ''`, []string{"a", `b " \ \n 'c'`, ""}},
		{`a\ b é"ü"x`, []string{"a b", "éüx"}},
	} {
		got, err := Words(test.line)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", test.line, err, diff)
		}
	}
	if _, err := Words(`a "b`); err == nil {
		t.Error("an open quote passed")
	}
}

func TestFill(t *testing.T) {
	values := placeholders(nil)
	values["prompt"], values["model"] = "say {model}", "m"
	for text, want := range map[string]string{
		"{prompt}!":       "say {model}!", // a value is not filled again
		"{model}{model}":  "mm",
		`{"a": {"b": 1}}`: `{"a": {"b": 1}}`,
		"{":               "{",
		"a{}b":            "a{}b",
	} {
		if got, err := fill(text, values); got != want || err != nil {
			t.Errorf("%q: %q %v; want %q", text, got, err, want)
		}
	}
	if _, err := fill("{promt}", values); err == nil || !strings.Contains(err.Error(), "{promt} is no placeholder; there are api_key, base_url") {
		t.Error(err)
	}
}

// work runs one command as an agent.
func work(t *testing.T, config Config) (agent.Result, error) {
	t.Helper()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	c := agent.ChatContext{
		Task:    agent.Task{ID: "t1", Label: "secret", Messages: []chat.Message{{Role: chat.System, Content: "s"}, {Role: chat.User, Content: "2+2 `x` $HOME?"}}},
		Address: agent.Address{Session: "7", URL: "http://127.0.0.1:1/s/7", Key: "key", Model: "policy"},
	}
	result, err := New(config)().Run(t.Context(), c)
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return result, err
}

func configOf(command string, reward Reward) Config {
	c := Defaults()
	c.Command, c.Reward = command, reward
	return c
}

// failedAs is how the runner would type an error.
func failedAs(t *testing.T, err error) traj.Outcome {
	runner := agent.ChatRunner{Config: agent.ChatDefaults(), New: func() agent.ChatAgent { return failing{err} }, Connect: func(agent.Job) (agent.Endpoint, error) { return door{}, nil }}
	return runner.Run(t.Context(), agent.Job{}).Outcome
}

type failing struct{ err error }

func (f failing) Run(context.Context, agent.ChatContext) (agent.Result, error) {
	return agent.Result{}, f.err
}

type door struct{}

func (door) Address() agent.Address { return agent.Address{} }
func (door) Err() error             { return nil }
func (door) Close() error           { return nil }
func (door) Nodes() []traj.Node     { return []traj.Node{{Parent: -1}} }

func TestReward(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var told struct {
			Task   struct{ Label string }
			Output string
		}
		if r.URL.Path == "/judge/chat/completions" {
			body, _ := io.ReadAll(r.Body)
			score := map[bool]string{true: "Score: 0.75", false: "Score: 0"}[strings.Contains(string(body), "secret") && strings.Contains(string(body), "four")]
			json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": score}}}})
			return
		}
		if r.URL.Path != "/ok" || json.NewDecoder(r.Body).Decode(&told) != nil {
			http.Error(w, "no", http.StatusTeapot)
		}
		json.NewEncoder(w).Encode(map[string]any{"reward": 0.5, "info": map[string]float64{"n": float64(len(told.Task.Label + told.Output))}})
	}))
	defer server.Close()
	output := Reward{From: FromOutput}
	grader := func(command string) Reward { return Reward{From: FromGrader, Grader: command, Limit: time.Second} }
	judged := Reward{From: FromJudge, Judge: judge.Defaults()}
	judged.Judge.URL, judged.Judge.Model = server.URL+"/judge", "big"
	for _, test := range []struct {
		name   string
		config Config
		want   agent.Result
		failed traj.Outcome // "" when it did not
		detail string
	}{
		{"a number", configOf(`printf 'x\n0.25\n\n'`, output), agent.Result{Reward: 0.25}, "", ""},
		{"an object", configOf(`echo '{"reward": 1, "score": 0.5, "truncated": true, "info": {"a": 2}}'`, output), agent.Result{Reward: 1, Score: new(0.5), Truncated: true, Info: map[string]float64{"a": 2}}, "", ""},
		{"text", configOf("echo done", output), agent.Result{}, traj.Grader, `"done" is neither a number`},
		{"nothing", configOf("true", output), agent.Result{}, traj.Grader, `"" is neither a number`},
		{"null", configOf("echo null", output), agent.Result{}, traj.Grader, "has no reward"},
		{"no reward", configOf("echo {}", output), agent.Result{}, traj.Grader, "has no reward"},
		{"a file", configOf(`sh -c 'echo 0.5 >$MOLT_RESULT_FILE'`, Reward{From: FromFile}), agent.Result{Reward: 0.5}, "", ""},
		{"no file", configOf("true", Reward{From: FromFile}), agent.Result{}, traj.Grader, "no such file"},
		{"graded right", configOf("touch found", grader("test -e found")), agent.Result{Reward: 1}, "", ""},
		{"graded wrong", configOf("true", grader("test -e found")), agent.Result{}, "", ""},
		{"graded by line", configOf("echo four", grader(`sh -c 'grep -c secret "$MOLT_GRADE_FILE"'`)), agent.Result{Reward: 1}, "", ""},
		{"a grader that fails", configOf("true", grader("sh -c 'echo broken >&2; exit 2'")), agent.Result{}, traj.Grader, "ended with exit code 2; it last said: broken"},
		{"a grader that hangs", configOf("true", grader("sleep 60")), agent.Result{}, traj.Grader, "deadline exceeded"},
		{"a grader knows no policy", configOf("true", grader("sh -c 'test -z \"$OPENAI_API_KEY$ANTHROPIC_API_KEY\"'")), agent.Result{Reward: 1}, "", ""},
		{"posted", configOf("printf 12345", Reward{From: FromURL, URL: server.URL + "/ok", Limit: time.Second}), agent.Result{Reward: 0.5, Info: map[string]float64{"n": 11}}, "", ""},
		{"judged", configOf("echo four", judged), agent.Result{Reward: 0.75}, "", ""},
		{"posted in vain", configOf("true", Reward{From: FromURL, URL: server.URL + "/", Limit: time.Second}), agent.Result{}, traj.Grader, "418"},
		{"a grader that crashes", configOf("true", grader(`sh -c 'printf "Traceback (most recent call last):\n  File \"g.py\", line 3\nKeyError: 1\n" >&2; exit 1'`)), agent.Result{}, traj.Grader, "KeyError"},
		{"a grader that asserts", configOf("true", grader(`sh -c 'printf "Traceback (most recent call last):\n  File \"g.py\", line 3\nAssertionError\n" >&2; exit 1'`)), agent.Result{Reward: 0}, "", ""},
		{"a test that fails", configOf("true", grader(`sh -c 'printf "Traceback (most recent call last):\n  x\nValueError\n\n-\nFAILED (errors=1)\n" >&2; exit 1'`)), agent.Result{Reward: 0}, "", ""},
		{"exit 3", configOf("sh -c 'echo oh >&2; exit 3'", output), agent.Result{}, traj.Harness, "exit code 3; it last said: oh"},
		{"exit 75", configOf("sh -c 'exit 75'", output), agent.Result{}, traj.Infrastructure, "exit code 75"},
		{"a signal", configOf("sh -c 'kill -9 $$'", output), agent.Result{}, traj.Harness, "signal: killed"},
		{"a program that is not in the workspace", configOf("./no-such-program", output), agent.Result{}, traj.Harness, "no"},
		{"no program", configOf("no-such-program", output), agent.Result{}, traj.Harness, "not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := work(t, test.config)
			if test.failed == "" {
				if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
					t.Errorf("%v %s", err, diff)
				}
				return
			}
			if err == nil || failedAs(t, err) != test.failed || !strings.Contains(err.Error(), test.detail) {
				t.Errorf("%v; want %s with %q", err, test.failed, test.detail)
			}
		})
	}
	server.CloseClientConnections()
	http.DefaultClient.CloseIdleConnections()
}

// What a program is shown, and what it is not.
func TestShown(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "x")
	t.Setenv("OPENAI_API_KEY", "the user's own")
	t.Setenv("WANTED", "w")
	workspace := t.TempDir()
	for name, text := range map[string]string{"a.txt": "in the workspace", "b/c.sh": "#!/bin/sh\necho run"} {
		path := filepath.Join(workspace, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		os.WriteFile(path, []byte(text), 0o700)
	}
	os.Symlink("a.txt", filepath.Join(workspace, "link"))
	script := `cat link; echo; b/c.sh; cat "$MOLT_PROMPT_FILE"; echo; cat; echo; cat ~/.config/x.json; echo
echo "$1 $OPENAI_BASE_URL $OPENAI_API_KEY $ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY [$SECRET_TOKEN] $WANTED $FILLED"
grep -c secret "$MOLT_TASK_FILE"; echo changed >a.txt; echo 1`
	config := configOf("sh -c '"+strings.ReplaceAll(script, "'", `'"'"'`)+"' sh {prompt}", Reward{From: FromOutput})
	log := &strings.Builder{}
	config.Workspace, config.Stdin, config.Log = workspace, true, log
	config.Inherit, config.Environ = []string{"WANTED"}, []string{"FILLED={model}"}
	config.Files = []File{{".config/x.json", `{"key": "{api_key}"}`}}
	if got, err := work(t, config); err != nil || got.Reward != 1 {
		t.Fatal(got, err, log)
	}
	want := "in the workspace\nrun\n2+2 `x` $HOME?\n2+2 `x` $HOME?\n{\"key\": \"key\"}\n" +
		"2+2 `x` $HOME? http://127.0.0.1:1/s/7/v1 key http://127.0.0.1:1/s/7 key [] w policy\n0\n1\n"
	shown := log.String()
	if child.Apart() != nil {
		_, shown, _ = strings.Cut(shown, "\n") // the note that says so
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	if kept, _ := os.ReadFile(filepath.Join(workspace, "a.txt")); string(kept) != "in the workspace" {
		t.Errorf("the template was changed: %q", kept)
	}
}

// A deadline ends the program and what it started: the pipe that they all hold closes.
func TestDeadlineKillsEverything(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	config := configOf("sh -c 'exec 9>"+pipe+"; (echo started >&9; sleep 600) & sleep 600'", Reward{From: FromOutput})
	ended := make(chan error, 1) // one: the agent's end
	go func() {
		_, err := New(config)().Run(ctx, agent.ChatContext{})
		ended <- err
	}()
	held, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	lines := bufio.NewReader(held)
	if line, err := lines.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatal(line, err)
	}
	cancel(errors.New("too late"))
	if err := <-ended; err == nil || err.Error() != "too late" {
		t.Error(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // it ends when the last of them has
		t.Errorf("%q %v", rest, err)
	}
}

func TestLimits(t *testing.T) {
	config := configOf("sh -c 'head -c 3000000 /dev/zero >big; wc -c <big'", Reward{From: FromOutput})
	config.Limits = child.Limits{FileSize: 1 << 20}
	if got, err := work(t, config); err != nil || got.Reward != 1<<20 {
		t.Error(got, err)
	}
}

// A file that the user names from where the user is will not be found where the program is.
func TestMisplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"agent.py", "work/tool.py", "notes"} {
		os.MkdirAll(filepath.Dir(path), 0o700)
		os.WriteFile(path, nil, 0o600)
	}
	here, _ := os.Getwd()
	for command, want := range map[string]string{
		"sh agent.py":              "write " + here + "/agent.py, or put it into the workspace",
		"sh " + here + "/agent.py": "", "sh tool.py": "", "echo notes": "", "sh absent.py": "",
	} {
		for _, config := range []Config{configOf(command, Reward{}), configOf("sh", Reward{Grader: command})} {
			config.Workspace = "work"
			if err := Startable(config); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v; want %q", command, err, want)
			}
		}
	}
}

func TestWorkspaceRefuses(t *testing.T) {
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "x"), nil, 0o600)
	folder := t.TempDir()
	os.Symlink(filepath.Join(outside, "x"), filepath.Join(folder, "link"))
	if err := copyFolder(t.TempDir(), folder); err == nil || !strings.Contains(err.Error(), "the link link leads outside or nowhere") {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	config := Config{Command: "a {promt}", Workspace: "/no/such", Files: []File{{"../x", ""}}, Exit: map[int]traj.Outcome{2: "fine"},
		Reward: Reward{From: "luck", URL: "x"}}
	err := config.Validate()
	if err == nil {
		t.Fatal("it passed")
	}
	var got []string
	for line := range strings.Lines(err.Error()) {
		got = append(got, strings.TrimSpace(line))
	}
	for _, want := range []string{"{promt} is no placeholder", "Output is 0", `Workspace "/no/such" is not a folder`, `Exit 2 means "fine"`,
		`File "../x" does not lie below`, `Reward.From is "luck"`, "Reward.URL has no effect"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("nothing says %q:\n%v", want, err)
		}
	}
}

func TestPresets(t *testing.T) {
	values := placeholders(func(name string) string { return "/w/" + name })
	values["max_length"], values["model"] = "1000", "policy"
	for _, p := range Presets() {
		config := configOf("", Reward{From: FromOutput})
		p.Apply(&config)
		if err := config.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		words, err := Words(p.Interactive)
		if err != nil || len(words) == 0 {
			t.Errorf("%s: %q: %v", p.Name, p.Interactive, err)
		}
		for _, text := range append(words, p.Environ...) {
			if _, err := fill(text, values); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		for _, f := range p.Files {
			text, err := fill(f.Text, values)
			if err != nil || strings.HasSuffix(f.Path, ".json") && !json.Valid([]byte(text)) {
				t.Errorf("%s: %s: %v\n%s", p.Name, f.Path, err, text)
			}
		}
	}
	if _, err := FindPreset("cursor"); err == nil || !strings.Contains(err.Error(), "there are claude, codex") {
		t.Error(err)
	}
}

// An agent leaves a thief behind, which looks for the label wherever it could lie.
func TestLabelIsNotFound(t *testing.T) {
	if err := child.Apart(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	stolen := filepath.Join(t.TempDir(), "stolen")
	thief := `while :; do cat ../grade.json ../../grade.json ../../../molt-*/grade-*/grade.json >>` + stolen + `; done 2>/dev/null </dev/null >/dev/null`
	config := configOf(`sh -c "touch `+stolen+`; setsid sh -c '`+thief+`' & sleep 0.1"`, Reward{From: FromGrader, Grader: "sleep 0.2", Limit: time.Minute})
	if result, err := work(t, config); err != nil || result.Reward != 1 {
		t.Fatal(result, err)
	}
	if got, err := os.ReadFile(stolen); err != nil || len(got) > 0 {
		t.Errorf("%q %v", got, err)
	}
}

// A rollout finds its own folder and no other's; its grader, which is the user's, finds all.
func TestFoldersOfOthers(t *testing.T) {
	if err := child.Apart(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	beside, err := rollouts.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer rollouts.leave()
	if err := os.Mkdir(filepath.Join(beside, "another"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := configOf("sh -c 'ls "+beside+" | wc -l >found; touch kept'", Reward{From: FromGrader, Grader: "sh -c 'test -e kept && ls " + beside + " | cat - found | wc -l; cat found'", Limit: time.Minute})
	if result, err := New(config)().Run(t.Context(), agent.ChatContext{}); err != nil || result.Reward != 1 {
		t.Errorf("%+v %v; want the one folder that is its own", result, err)
	}
}

// What another rollout's grader reads just now is not there for an agent, and is there for a grader.
func TestLabelOfAnother(t *testing.T) {
	if err := child.Apart(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	folder, err := labels.enter()
	if err != nil {
		t.Fatal(err)
	}
	defer labels.leave()
	if _, _, err := write(folder, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	config := configOf("sh -c 'find "+folder+" -type f >found'", Reward{From: FromGrader, Grader: "sh -c 'test -s found && exit 3; find " + folder + " -type f | wc -l'", Limit: time.Minute})
	if result, err := New(config)().Run(t.Context(), agent.ChatContext{}); err != nil || result.Reward != 2 {
		t.Error(result, err)
	}
}
