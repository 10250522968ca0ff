package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"molt/python"
	"molt/run/problem"
)

// hubCmd is `molt hub`.
type hubCmd struct {
	Name        string   `arg:"" help:"reasoning_gym or verifiers."`
	Args        []string `arg:"" optional:"" passthrough:"" help:"Behind --: what to make prompts of; --help says what there is."`
	Interpreter string   `placeholder:"FILE" help:"Python that has the hub's package (default: that of $$VIRTUAL_ENV, else python3)."`
}

// Help shows both hubs.
func (*hubCmd) Help() string {
	return `Makes the prompts of an environment hub, as the agent hub:NAME of molt rl plays them. The hub's package is the user's own.

Examples:

  molt hub reasoning_gym -- countdown --size 500 --out countdown.jsonl
  molt hub verifiers -- my_taskset --size 100 --out tasks.jsonl
  molt rl --agent.path hub:reasoning_gym --data.prompt_dataset countdown.jsonl --data.input_key messages --data.label_key label …`
}

func (c *hubCmd) Run(ctx context.Context, a *app) (err error) {
	if _, err := fs.Stat(python.Files, "molt/hubs/"+c.Name+".py"); err != nil || strings.HasPrefix(c.Name, "_") || c.Name == "rows" {
		return &problem.Problem{Code: problem.Usage, What: fmt.Sprintf("no hub is called %q", c.Name), Fix: "there are reasoning_gym and verifiers"}
	}
	modules, err := os.MkdirTemp("", "molt-hub-")
	if err != nil {
		return &problem.Problem{Code: problem.Resource, What: "cannot write the hub's modules", Why: err.Error(), Fix: "make room in the folder for temporary files", Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(modules)) }()
	if err := os.CopyFS(modules, python.Files); err != nil {
		return fmt.Errorf("molt: %w", err)
	}
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	command := exec.CommandContext(ctx, interpreter(c.Interpreter), append([]string{"-m", "molt.hubs." + c.Name}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPATH="+strings.TrimSuffix(modules+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"), string(os.PathListSeparator)))
	command.Stdin, command.Stdout, command.Stderr = a.stdin, a.stdout, a.stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	err = command.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return &problem.Problem{Code: problem.Usage, What: "the hub made no prompts", Why: err.Error(), Fix: "see what it said; --interpreter names the Python that has its package"}
	}
	if err != nil {
		return &problem.Problem{Code: problem.Resource, What: "Python cannot be started", Why: err.Error(), Fix: "name it with --interpreter", Err: err}
	}
	return nil
}

// interpreter is the user's Python.
func interpreter(named string) string {
	if environment := os.Getenv("VIRTUAL_ENV"); named == "" && environment != "" {
		return filepath.Join(environment, "bin", "python")
	}
	if named == "" {
		return "python3"
	}
	return named
}
