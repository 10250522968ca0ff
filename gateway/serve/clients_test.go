package serve

// Real clients, on request: MOLT_CLIENTS names a folder in which testdata/clients/package.json was installed
// (npm install --ignore-scripts), MOLT_CLIENTS_PYTHON a Python that has openai and anthropic. They are large and start
// slowly; nothing but this machine is talked to.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molt/gateway/capture"
	"molt/gateway/script"
)

var greeting = []script.Line{
	{Match: "PARALLEL", Loop: true, Text: `I look.` + call("get_weather", `{"city": "Oslo"}`) + call("get_weather", `{"city": "Rome"}`)},
	{Match: "THINK", Loop: true, Text: "<think>\nlet me see\n</think>\n\nForty-two."},
	{Loop: true, Text: "Hello there."},
}

func call(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MOLT_CLIENTS")
	if dir == "" {
		t.Skip("MOLT_CLIENTS names no folder with clients")
	}
	return dir
}

func TestLibraries(t *testing.T) {
	dir := folder(t)
	l := newLab(t, greeting, nil)
	source, err := os.ReadFile("testdata/clients/sdks.mjs")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sdks.mjs") // libraries are found beside the program
	if err := os.WriteFile(path, source, 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, dir, nil, "", "node", path, l.url)
}

func TestPythonLibraries(t *testing.T) {
	python := os.Getenv("MOLT_CLIENTS_PYTHON")
	if python == "" {
		t.Skip("MOLT_CLIENTS_PYTHON names no Python with clients")
	}
	l := newLab(t, greeting, nil)
	output(t, ".", nil, "", python, "testdata/clients/sdks.py", l.url)
}

// The official Go libraries are a module of their own, beside the others.
func TestGoLibraries(t *testing.T) {
	folder(t)
	l := newLab(t, greeting, nil)
	output(t, "testdata/clients/gosdk", nil, "", "go", "run", ".", l.url)
}

func output(t *testing.T, dir string, env []string, input string, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Stdin, c.WaitDelay = dir, strings.NewReader(input), time.Second
	if env != nil {
		c.Env = env
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%.3000s", name, err, out)
	}
	return string(out)
}

// harness is a way to run a coding agent without a person.
type harness struct {
	name string
	tool string // that runs commands
	arg  string // of the command
	rest string // further arguments that the tool needs
	run  func(t *testing.T, dir, home, work string, s Opened, ask string)
}

var harnesses = []harness{
	{"claude-code", "Bash", "command", `, "description": "x"`, claude},
	{"codex", "exec_command", "cmd", "", codex},
	{"opencode chat", "bash", "command", `, "description": "x"`, opencode("@ai-sdk/openai-compatible")},
	{"opencode responses", "bash", "command", `, "description": "x"`, opencode("@ai-sdk/openai")},
	{"opencode messages", "bash", "command", `, "description": "x"`, opencode("@ai-sdk/anthropic")},
	{"pi chat", "bash", "command", "", pi("openai-completions", "/v1")},
	{"pi responses", "bash", "command", "", pi("openai-responses", "/v1")},
	{"pi messages", "bash", "command", "", pi("anthropic-messages", "")},
}

// TestHarnesses: a tool loop of three turns is exactly one main segment, token for token.
func TestHarnesses(t *testing.T) {
	dir := folder(t)
	for _, h := range harnesses {
		t.Run(h.name, func(t *testing.T) {
			run := func(command string) string { return call(h.tool, `{"`+h.arg+`": "`+command+`"`+h.rest+`}`) }
			replies := []string{"<think>\n  let me think \n</think>\n\n Working on it.\n" + run(`echo  hi-\"q\" \u00e9`), run("pwd") + run("ls -a"), "All done."}
			l := newLab(t, append([]script.Line{{Match: "Generate a title for this conversation", Text: "A name"}}, text(replies...)...), func(_ *Config, c *capture.Config) { c.Sampling.MaxTokens = 1 << 15 })
			home, work := t.TempDir(), t.TempDir()
			h.run(t, dir, home, work, l.session, "say hi using bash")
			session, _ := l.gateway.Find(l.session.Key)
			var said []string
			main := 0
			e := session.Export()
			for _, s := range e.Segments {
				if s.Kind == capture.Main {
					main++
				}
			}
			for _, n := range e.Tree {
				if n.Kind == capture.Main {
					said = append(said, decode(t, n.Sampled))
				}
			}
			want := fmt.Sprintf("%q", []string{replies[0] + "<|im_end|>", replies[1] + "<|im_end|>", replies[2] + "<|im_end|>"})
			if got := fmt.Sprintf("%q", said); main != 1 || got != want {
				t.Errorf("%d main segments, turns %s, want %s", main, got, want)
			}
		})
	}
}

func decode(t *testing.T, ids []int32) string {
	t.Helper()
	r, err := script.Model()
	if err != nil {
		t.Fatal(err)
	}
	return r.Tokenizer().Decode(ids)
}

func claude(t *testing.T, dir, home, work string, s Opened, ask string) {
	output(t, work, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + s.Base, "ANTHROPIC_API_KEY=" + s.Key, "ANTHROPIC_MODEL=policy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
	}, ask, filepath.Join(dir, "node_modules/@anthropic-ai/claude-code-linux-x64/claude"), "-p", "--output-format", "json", "--permission-mode", "bypassPermissions")
}

func codex(t *testing.T, dir, home, work string, s Opened, ask string) {
	write(t, filepath.Join(home, "config.toml"), fmt.Sprintf("model = \"policy\"\nmodel_provider = \"x\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"+
		"[model_providers.x]\nname = \"x\"\nbase_url = %q\nenv_key = \"XKEY\"\nwire_api = \"responses\"\n", s.OpenAI))
	found, err := filepath.Glob(filepath.Join(dir, "node_modules/@openai/codex-linux-x64/vendor/*/*/codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("codex: %v, %v", found, err)
	}
	output(t, work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "XKEY=" + s.Key}, "", found[0], "exec", "--skip-git-repo-check", "--json", ask)
}

func opencode(npm string) func(*testing.T, string, string, string, Opened, string) {
	return func(t *testing.T, dir, home, work string, s Opened, ask string) {
		write(t, filepath.Join(home, ".config/opencode/opencode.json"), fmt.Sprintf(`{"autoupdate":false,"provider":{"x":{"npm":%q,"name":"x","options":{"baseURL":%q,"apiKey":%q},"models":{"y":{"name":"y","limit":{"context":200000,"output":8192}}}}}}`,
			npm, s.OpenAI, s.Key))
		output(t, work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENCODE_DISABLE_MODELS_FETCH=1"}, "",
			filepath.Join(dir, "node_modules/opencode-linux-x64/bin/opencode"), "run", "-m", "x/y", "--format", "json", ask)
	}
}

func pi(api, suffix string) func(*testing.T, string, string, string, Opened, string) {
	return func(t *testing.T, dir, home, work string, s Opened, ask string) {
		write(t, filepath.Join(home, ".pi/agent/models.json"), fmt.Sprintf(`{"providers":{"x":{"baseUrl":%q,"apiKey":%q,"api":%q,"models":[{"id":"y","name":"y","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":8192}]}}}`,
			s.Base+suffix, s.Key, api))
		output(t, work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PI_OFFLINE=1"}, "", "node", filepath.Join(dir, "node_modules/.bin/pi"),
			"-p", "--no-session", "--provider", "x", "--model", "y", ask)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
