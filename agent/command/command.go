// One rollout: a folder, a program in it that knows the policy's address, its end.

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/internal/child"
	"molt/traj"
)

// Config says which program is the agent.
type Config struct {
	Command   string // the argument list, as Words splits it; placeholders are filled in afterwards
	Stdin     bool   // the prompt is what the program reads; otherwise it reads nothing
	Workspace string // a folder that is copied for each rollout; "" begins with an empty one
	Files     []File // written into the rollout's home
	Environ   []string
	Inherit   []string // names of variables that are passed on besides the few that every program needs
	Reward    Reward
	Exit      map[int]traj.Outcome // what exit codes mean; 0 is completed, one that is not here is harness
	Limits    child.Limits
	Output    int       // bytes of the program's output that are kept for the reward; more than 0
	Log       io.Writer // what the programs print, written by many goroutines; nil drops it
	Keep      bool      // leave the folders behind, for looking
}

// File is written before the program starts. Its text may have placeholders.
type File struct {
	Path string // below the home folder
	Text string
}

// Defaults need a Command and a Reward.
func Defaults() Config {
	return Config{Output: 1 << 20, Exit: map[int]traj.Outcome{0: traj.Completed, tempfail: traj.Infrastructure}}
}

// tempfail is EX_TEMPFAIL of sysexits.h: try again later.
const tempfail = 75

// Validate reports everything that is wrong.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("command: "+format, args...)) }
	words, err := Words(c.Command)
	switch {
	case err != nil:
		bad("Command: %w", err)
	case len(words) == 0:
		bad("Command is empty; want a program and its arguments")
	}
	for _, w := range words {
		if _, err := fill(w, placeholders(nil)); err != nil {
			bad("Command: %w", err)
		}
	}
	if c.Output < 1 {
		bad("Output is %d; want 1 or more bytes", c.Output)
	}
	if c.Workspace != "" {
		if info, err := os.Stat(c.Workspace); err != nil || !info.IsDir() {
			bad("Workspace %q is not a folder", c.Workspace)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(c.Exit)) {
		if !slices.Contains(traj.Outcomes, c.Exit[code]) {
			bad("Exit %d means %q; want one of %v", code, c.Exit[code], traj.Outcomes)
		}
	}
	for _, f := range c.Files {
		if !filepath.IsLocal(f.Path) {
			bad("File %q does not lie below the home folder", f.Path)
		}
	}
	return errors.Join(append(errs, c.Reward.validate())...)
}

// Startable reports that the program is not there, or that a file which a command names will not be there in a rollout's folder.
func Startable(c Config) error {
	for _, line := range []string{c.Command, c.Reward.Grader} {
		words, err := Words(line)
		if err != nil {
			return err
		}
		for _, w := range words {
			if err := misplaced(w, c.Workspace); err != nil {
				return err
			}
		}
	}
	words, err := Words(c.Command)
	if err != nil || len(words) == 0 || strings.Contains(words[0], "{") {
		return err
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	return nil
}

// misplaced reports a word that names a file of this folder, and none of the workspace, where the program looks for it.
func misplaced(word, workspace string) error {
	if filepath.IsAbs(word) || filepath.Ext(word) == "" {
		return nil
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if workspace != "" {
		if _, err := os.Stat(filepath.Join(workspace, word)); err == nil {
			return nil
		}
	}
	whole, err := filepath.Abs(word)
	if err != nil {
		return err
	}
	return fmt.Errorf("command: %s lies in this folder, and the program looks for it in its rollout's: write %s, or put it into the workspace", word, whole)
}

// New makes the agent of one rollout after another. The configuration must be valid.
func New(config Config) func() agent.ChatAgent {
	words, _ := Words(config.Command)
	child.Sweep()
	if err := child.Apart(); err != nil && config.Log != nil {
		fmt.Fprintf(config.Log, "molt: %v: an agent that leaves a process running can look for a grader's label, reaches the folders of other rollouts, and sees this user's processes and their keys\n", err)
	}
	return func() agent.ChatAgent { return &rollout{config: config, words: words} }
}

type rollout struct {
	config Config
	words  []string
	folder string            // holds all of it
	beside string            // the folder where it lies with those of other rollouts; "" where it is kept
	labels string            // where a grader reads the label, which is empty for the agent; "" without a grader
	values map[string]string // of the placeholders
	output child.Tail        // the end of what the program printed
	code   int               // its exit code

	complaints child.Tail // the end of what it, or the grader, printed as errors
}

// Run implements agent.ChatAgent.
func (r *rollout) Run(ctx context.Context, c agent.ChatContext) (result agent.Result, err error) {
	if err := r.prepare(c); err != nil {
		return result, agent.Failed(traj.Infrastructure, errors.Join(err, r.remove()))
	}
	defer func() {
		err = errors.Join(err, r.remove())
	}()
	if err := enter(ctx, c, agent.Play); err != nil {
		return result, err
	}
	r.output.Keep, r.complaints.Keep = r.config.Output, 4<<10
	var hidden []string
	if r.beside != "" {
		hidden = append(hidden, r.beside)
	}
	if r.config.Reward.From == FromGrader {
		if r.labels, err = labels.enter(); err != nil {
			return result, agent.Failed(traj.Infrastructure, err)
		}
		defer func() { err = errors.Join(err, labels.leave()) }()
		hidden = append(hidden, r.labels)
	}
	if r.code, err = r.execute(ctx, r.words, r.environ(c), &r.output, hidden...); err != nil {
		return result, err
	}
	outcome, known := r.config.Exit[r.code]
	switch {
	case !known:
		return result, fmt.Errorf("%s%s", child.Code(r.code), r.said())
	case !outcome.Graded():
		return result, agent.Failed(outcome, fmt.Errorf("%s%s", child.Code(r.code), r.said()))
	}
	if r.config.Reward.From != FromOutput && r.config.Reward.From != FromFile {
		if err := enter(ctx, c, agent.Grade); err != nil {
			return result, err
		}
	}
	result, err = r.reward(ctx, c)
	result.Truncated = result.Truncated || outcome == traj.Truncated
	return result, err
}

// Staged implements agent.Staged.
func (r *rollout) Staged() {}

func enter(ctx context.Context, c agent.ChatContext, s agent.Stage) error {
	if c.Enter == nil {
		return nil
	}
	return c.Enter(ctx, s)
}

// prepare makes the folders: home, work (a copy of the workspace), and task with what the program may read.
func (r *rollout) prepare(c agent.ChatContext) (err error) {
	if err := r.makeFolder(); err != nil {
		return err
	}
	r.values = placeholders(func(name string) string { return filepath.Join(r.folder, name) })
	r.values["prompt"] = c.Task.Prompt()
	r.values["base_url"], r.values["session_url"] = c.Address.OpenAI(), c.Address.URL
	r.values["api_key"], r.values["model"], r.values["session"] = c.Address.Key, c.Address.Model, c.Address.Session
	r.values["max_length"] = fmt.Sprint(c.MaxLength)
	for _, name := range []string{"home", "work", "task"} {
		if err := os.Mkdir(filepath.Join(r.folder, name), 0o700); err != nil {
			return err
		}
	}
	if r.config.Workspace != "" {
		if err := copyFolder(r.values["workspace"], r.config.Workspace); err != nil {
			return err
		}
	}
	told, err := json.Marshal(shown(c.Task))
	if err != nil {
		return err
	}
	for path, text := range map[string]string{r.values["prompt_file"]: r.values["prompt"], r.values["task_file"]: string(told)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return r.writeFiles()
}

func (r *rollout) makeFolder() (err error) {
	if r.config.Keep {
		r.folder, err = os.MkdirTemp("", "molt-kept-")
		return err
	}
	if r.beside, err = rollouts.enter(); err == nil {
		r.folder, err = os.MkdirTemp(r.beside, "")
	}
	return err
}

func (r *rollout) remove() error {
	if r.beside == "" {
		return nil
	}
	r.beside = ""
	return errors.Join(os.RemoveAll(r.folder), rollouts.leave())
}

func (r *rollout) writeFiles() error {
	for _, f := range r.config.Files {
		path := filepath.Join(r.values["home"], f.Path)
		text, err := fill(f.Text, r.values)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// passed are the variables of this process that every program gets. Keys and tokens of other services are not among them.
var passed = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SHELL", "USER", "LOGNAME", "VIRTUAL_ENV", "NODE_PATH",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}

// environ is the program's environment.
func (r *rollout) environ(c agent.ChatContext) []string {
	var environ []string
	for _, name := range slices.Concat(passed, r.config.Inherit) {
		if value, ok := os.LookupEnv(name); ok {
			environ = append(environ, name+"="+value)
		}
	}
	a := c.Address
	environ = append(environ, "TERM=dumb", "HOME="+r.values["home"], "XDG_CONFIG_HOME="+filepath.Join(r.values["home"], ".config"),
		"OPENAI_BASE_URL="+a.OpenAI(), "OPENAI_API_BASE="+a.OpenAI(), "OPENAI_API_KEY="+a.Key, "OPENAI_MODEL="+a.Model,
		"ANTHROPIC_BASE_URL="+a.URL, "ANTHROPIC_API_KEY="+a.Key, "ANTHROPIC_MODEL="+a.Model,
		"MOLT_SESSION="+a.Session, "MOLT_MODEL="+a.Model, "MOLT_PROMPT_FILE="+r.values["prompt_file"], "MOLT_TASK_FILE="+r.values["task_file"],
		"MOLT_RESULT_FILE="+r.values["result_file"], "NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1")
	for _, e := range r.config.Environ {
		name, value, _ := strings.Cut(e, "=")
		if filled, err := fill(value, r.values); err == nil {
			value = filled
		}
		environ = append(environ, name+"="+value)
	}
	return environ
}

// execute runs one program in the workspace and says its exit code. Everything it started ends with it. The hidden folders are
// empty for it where child.Apart allows that.
func (r *rollout) execute(ctx context.Context, words, environ []string, output *child.Tail, hidden ...string) (int, error) {
	argv, err := fillAll(words, r.values)
	if err != nil {
		return 0, err
	}
	if err := findable(argv[0]); err != nil {
		return 0, err
	}
	own := ""
	if len(hidden) > 0 {
		own = r.folder
	}
	argv = child.Alone(r.config.Limits.Wrap(argv), own, hidden...)
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir, command.Env, command.SysProcAttr = r.values["workspace"], environ, child.OwnGroup()
	command.Cancel = func() error { return child.KillGroup(command.Process.Pid) }
	command.WaitDelay = 2 * time.Second // for what left the group and still holds the pipes
	if r.config.Stdin {
		command.Stdin = strings.NewReader(r.values["prompt"])
	}
	log := io.Discard
	if r.config.Log != nil {
		log = r.config.Log
	}
	command.Stdout, command.Stderr = io.MultiWriter(output, log), io.MultiWriter(&r.complaints, log)
	if err := command.Start(); err != nil {
		return 0, err
	}
	child.EndGroup(command.Process.Pid)
	err = command.Wait()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case command.ProcessState == nil:
		return 0, err
	case !command.ProcessState.Exited():
		return 0, fmt.Errorf("%s%s", command.ProcessState, r.said())
	}
	return command.ProcessState.ExitCode(), nil
}

// findable reports that a program is not there. One that is named by a path in the workspace is looked for when it starts.
func findable(program string) error {
	if filepath.Base(program) != program && !filepath.IsAbs(program) {
		return nil
	}
	_, err := exec.LookPath(program)
	return err
}

// said is what the program complained of last, for an error.
func (r *rollout) said() string {
	kept, _ := r.complaints.Bytes()
	if len(kept) == 0 {
		kept, _ = r.output.Bytes()
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(kept), "\uFFFD"), r.values["workspace"], "{workspace}")
	if last := lastWords(text); last != "" {
		return "; it last said: " + last
	}
	return ""
}

// lastWords joins the end of a text: of at most 6 lines, as many as fit into 200 bytes, the last one always. Of a traceback that is
// the exception. Lines that only underline the one before are left out.
func lastWords(text string) string {
	const mostLines, mostBytes = 6, 200
	var kept []string
	size := 0
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, "^~ ") == "" {
			continue
		}
		size += len(line) + len(" | ")
		if len(kept) == mostLines || len(kept) > 0 && size > mostBytes {
			break
		}
		kept = append(kept, line)
	}
	slices.Reverse(kept)
	return strings.Join(kept, " | ")
}
