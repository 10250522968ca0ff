// Agents without training: play one by hand, and find the Python module that agent files import.

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molt/metrics"
	"molt/python"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/rehearse"
)

// agentCmd is `molt agent`.
type agentCmd struct {
	Try        agentTryCmd  `cmd:"" help:"Play a few prompts with an agent, without training, and show every turn."`
	PythonPath agentPathCmd `cmd:"" name:"python-path" help:"Write the module that agent files import, and print the folder to put on PYTHONPATH."`
}

// agentTryCmd is `molt agent try`.
type agentTryCmd struct {
	What   []string `arg:"" optional:"" help:"A Python file, hub:NAME or the name of an agent; recipes (YAML). Without an agent the settings name it."`
	Prompt string   `short:"p" placeholder:"TEXT" help:"Play this; without it the first prompts of --data.prompt_dataset."`
	Label  string   `placeholder:"TEXT" help:"The label of --prompt."`
	Reply  []string `short:"r" sep:"none" placeholder:"TEXT" help:"What the policy says, in turn; the last is said again. Without it, and without a model, you are the policy."`
	N      int      `short:"n" default:"3" placeholder:"N" help:"Most prompts (default ${default})."`
}

// Help shows the three policies.
func (*agentTryCmd) Help() string {
	return `Shows what the policy is shown, what it says, what the agent prints, tracebacks, and how each rollout ends. Settings are those of molt rl.
The exit code is not 0 when a rollout could not be graded.

Examples:

  molt agent try my_agent.py --prompt '2+2?' --label 4 --reply '<answer>4</answer>'
  molt agent try my_agent.py --data.prompt_dataset prompts.jsonl              you type the replies, a line each
  molt agent try shop_chat --model.model_name_or_path MODEL --data.prompt_dataset prompts.jsonl -n 1`
}

func (c *agentTryCmd) Run(ctx context.Context, a *app) error {
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	named, recipes := c.named()
	err := a.resolve(settings, recipes)
	for setting, value := range named {
		err = errors.Join(err, recipe.Find(settings, setting).Set(value, "flag"))
	}
	if err == nil {
		err = recipe.CheckTry(&cfg, settings)
	}
	if err == nil {
		err = a.locateSettings(ctx, settings)
	}
	if err != nil {
		return err
	}
	if c.N < 1 {
		return &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("-n is %d", c.N), Fix: "give it a number of prompts, 1 or more"}
	}
	if c.Label != "" && c.Prompt == "" {
		return &problem.Problem{Code: problem.Combined, What: "--label has no effect without --prompt", Fix: "give both; --data.label_key names the labels of a file"}
	}
	if cfg.Model.Path != "" && len(c.Reply) > 0 {
		return &problem.Problem{Code: problem.Combined, What: "--reply has no effect with a model", Fix: "leave one of them out"}
	}
	played, err := rehearse.Play(ctx, rehearse.Config{Recipe: &cfg, Prompt: c.Prompt, Label: c.Label, Prompts: c.N, Say: c.policy(a), Out: cleaned{a.stdout}})
	if errors.Is(err, io.EOF) {
		return &problem.Problem{Code: problem.Usage, What: "the replies on standard input have come to their end", Fix: "give more, or say with --reply what is said again and again"}
	}
	if err != nil {
		return err
	}
	if n, first := rehearse.Failed(played); n > 0 {
		return &problem.Problem{Code: problem.Failed, What: fmt.Sprintf("%d of %d rollouts could not be graded", n, len(played)), Why: "the first ended as " + first, Fix: "mend the agent"}
	}
	return nil
}

// named tells agents from recipes.
func (c *agentTryCmd) named() (settings map[string]string, recipes []string) {
	settings = map[string]string{}
	for _, what := range c.What {
		switch ext := filepath.Ext(what); {
		case ext == ".yaml" || ext == ".yml":
			recipes = append(recipes, what)
		case ext == ".py" || strings.HasPrefix(what, "hub:"):
			settings["agent.path"] = what
		default:
			settings["agent.name"] = what
		}
	}
	return settings, recipes
}

// policy says the replies that were given, or those that are typed.
func (c *agentTryCmd) policy(a *app) func(context.Context) (string, error) {
	if replies := c.Reply; len(replies) > 0 {
		said := 0
		return func(context.Context) (string, error) {
			said++
			return replies[min(said, len(replies))-1], nil
		}
	}
	var lines chan line // the reader below closes it
	return func(ctx context.Context) (string, error) {
		if lines == nil {
			lines = make(chan line)
			go func() { // ends with standard input or with the program: reading cannot be interrupted
				defer close(lines)
				for l := range readLines(context.Background(), a.stdin) {
					lines <- l
				}
			}()
		}
		if readsTerminal(a.stdin) {
			fmt.Fprint(a.stderr, "> ")
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case l, more := <-lines:
			if !more {
				return "", io.EOF
			}
			return l.text, l.err
		}
	}
}

// cleaned shows control characters of several lines of text.
type cleaned struct{ to io.Writer }

func (c cleaned) Write(p []byte) (int, error) {
	for l := range strings.Lines(string(p)) {
		text, whole := strings.CutSuffix(l, "\n")
		if text = metrics.Clean(text); whole {
			text += "\n"
		}
		if _, err := io.WriteString(c.to, text); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// agentPathCmd is `molt agent python-path`.
type agentPathCmd struct {
	Folder string `arg:"" optional:"" help:"Where to write it (default: a folder of this version in the user's cache)."`
}

// Help shows how it is used.
func (*agentPathCmd) Help() string {
	return `Runs need none of this: they bring the module. It is for your own Python, tests and editors.

Examples:

  export PYTHONPATH="$(molt agent python-path)"
  molt agent python-path > "$(python -c 'import site; print(site.getsitepackages()[0])')/molt.pth"    for good, in a virtual environment`
}

func (c *agentPathCmd) Run(a *app) error {
	folder, err := c.folder()
	if err == nil {
		err = writeModules(folder)
	}
	if err != nil {
		return &problem.Problem{Code: problem.Resource, Where: folder, What: "cannot write the Python module", Why: problem.Reason(err), Fix: "name another folder", Err: err}
	}
	return a.data(folder + "\n")
}

// folder is the one that was asked for, or one whose name is the module's contents.
func (c *agentPathCmd) folder() (string, error) {
	if c.Folder != "" {
		return filepath.Abs(c.Folder)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(python.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := python.Files.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		return err
	})
	return filepath.Join(cache, "molt", "python-"+hex.EncodeToString(sum.Sum(nil)[:6])), err
}

// writeModules writes the module's files over those that are there.
func writeModules(folder string) error {
	return fs.WalkDir(python.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(folder, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		data, err := python.Files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(at, data, 0o644)
	})
}
