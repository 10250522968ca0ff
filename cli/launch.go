package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"molt/run/service"
)

// launchCmd is `molt launch`.
type launchCmd struct {
	Harness string   `arg:"" help:"claude, codex, opencode, pi, qwen, cline or mini-swe-agent."`
	Args    []string `arg:"" optional:"" passthrough:"" help:"Behind --: further arguments of the harness."`
	Model   string   `short:"m" placeholder:"DIR" help:"Hugging Face model folder."`
	serviceFlags
	Prompt string `short:"p" placeholder:"TEXT" help:"Let it work on this without a person."`
	Folder string `short:"C" placeholder:"DIR" help:"Where it works (default: an empty folder that is gone afterwards)."`
	Keep   bool   `help:"Leave its home folder."`
	JSON   bool   `name:"json" help:"Print what was captured as one JSON object; what the harness prints goes to standard error."`
}

// Help shows the two ways.
func (*launchCmd) Help() string {
	return `Starts a harness in a clean home, pointed at the model, and shows at the end what was captured: the tree of turns, the segments that
training would see, and whether every token is accounted for. The exit code is the harness' own; 128 and a signal's number when one ended it.

Examples:

  molt launch claude --model MODEL
  molt launch opencode --model MODEL --prompt 'Say hello.'
  molt launch codex --script replies.jsonl --prompt 'List the files.'`
}

func (c *launchCmd) Run(ctx context.Context, a *app) error {
	config, err := c.config(c.Model)
	if err != nil {
		return err
	}
	l := service.Launch{
		Service: config, Harness: c.Harness, Args: c.args(), Prompt: c.Prompt, Folder: c.Folder, Keep: c.Keep,
		Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
	}
	if c.JSON {
		l.Stdout = a.stderr
	}
	if c.Prompt == "" { // Ctrl-C is for the harness, which shares the terminal
		signal.Ignore(syscall.SIGINT)
		defer signal.Reset(syscall.SIGINT)
	}
	export, code, err := service.Start(ctx, l)
	if export != nil {
		if c.JSON {
			err = errors.Join(err, a.dataJSON(map[string]any{"exit_code": code, "captured": export}))
		} else {
			err = errors.Join(err, a.data(legible(fmt.Sprintf("\nthe harness ended with exit code %d\n%s", code, captured(export)))))
		}
	}
	if err == nil && code != exitOK {
		return harnessCode(code)
	}
	return err
}

// harnessCode is the exit code of a harness, which becomes that of this program.
type harnessCode int

func (c harnessCode) Error() string {
	return fmt.Sprintf("the harness ended with exit code %d", int(c))
}

// args are those behind --.
func (c *launchCmd) args() []string {
	if len(c.Args) > 0 && c.Args[0] == "--" {
		return c.Args[1:]
	}
	return c.Args
}
