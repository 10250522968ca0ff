// The commands, and how a command line becomes one of them.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"molt/agent/sandbox"
	"molt/internal/spell"
	"molt/run/machine"
	"molt/run/problem"

	"github.com/alecthomas/kong"
)

// commands is the command line: one struct for each subcommand, each in its own file.
type commands struct {
	Quickstart quickstartCmd `cmd:"" help:"Make a small model and watch it learn to use tools, in minutes, on a CPU."`
	RL         rlCmd         `cmd:"" name:"rl" help:"Train a model by reinforcement learning."`
	SFT        sftCmd        `cmd:"" name:"sft" help:"Train a model on conversations (supervised fine-tuning)."`
	Eval       evalCmd       `cmd:"" help:"Measure a model on held-out prompts."`
	Generate   generateCmd   `cmd:"" help:"Talk to a model, or complete prompts from standard input."`
	Serve      serveCmd      `cmd:"" help:"Serve a model, or canned replies, on the OpenAI and Anthropic wires, and capture every token."`
	Launch     launchCmd     `cmd:"" help:"Start a coding agent (claude, codex, opencode, …) on a model and show what was captured."`
	Agent      agentCmd      `cmd:"" help:"Try an agent without training; find the Python module of agent files."`
	Hub        hubCmd        `cmd:"" help:"Make the prompts of an environment hub (reasoning_gym, verifiers)."`
	Show       showCmd       `cmd:"" help:"Look at a run, a rollout, or its tokens."`
	Model      modelCmd      `cmd:"" help:"Make, import, convert, merge or look inside a model."`
	Doctor     doctorCmd     `cmd:"" help:"Look at a model and at this machine, and say what is wrong."`
	Bench      benchCmd      `cmd:"" help:"Measure the engine on this machine."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Help       helpCmd       `cmd:"" help:"Explain a command or a topic: settings, exit-codes, environment, formats."`
}

// app is what every command gets: where data and talk go, and the dotted settings of the command line.
type app struct {
	stdin    io.Reader
	stdout   io.Writer // data
	stderr   io.Writer // talk
	program  string    // this program as it was typed, ready to paste
	line     string    // the whole command line, ready to paste
	settings []assignment
	model    *kong.Application
}

// Main carries out the program's command line and ends the program. Environments are registered before it (agent.Register).
func Main() {
	sandbox.Child()
	os.Exit(Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// Run carries out one command line, the program's name first, and returns its exit code. It listens to interrupts meanwhile.
func Run(line []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	args := line[1:]
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, program: spell.Quoted(line[0]), line: pasteable(line)}
	if len(args) == 0 {
		fmt.Fprint(stdout, menu)
		return exitOK
	}
	return a.report(a.dispatch(ctx, args))
}

// dispatch finds the command and runs it. A wish of kong's to exit (after --help) is no error.
func (a *app) dispatch(ctx context.Context, args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			code, ok := p.(exitCode)
			if !ok {
				panic(p)
			}
			if code != exitOK {
				err = usage(fmt.Sprintf("exit code %d", code))
			}
		}
	}()
	if err := machine.Check(); err != nil {
		return err
	}
	plain, settings, err := splitSettings(args)
	if err != nil {
		return err
	}
	a.settings = settings
	var cli commands
	parser, err := kong.New(&cli, kong.Name("molt"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		return fmt.Errorf("molt: build the command line: %w", err)
	}
	a.model = parser.Model
	parsed, err := parser.Parse(spelledOut(plain, parser.Model))
	if err != nil {
		return mistyped(err, plain)
	}
	if command, _, _ := strings.Cut(parsed.Command(), " "); len(settings) > 0 && !slices.Contains(settable, command) {
		return usage(fmt.Sprintf("molt %s reads no settings, such as --%s", command, settings[0].name))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := a.locateArguments(ctx, parsed); err != nil {
		return err
	}
	return parsed.Run(a)
}

// settable are the commands that read settings.
var settable = []string{"rl", "sft", "eval", "serve", "agent", "generate"}

// spelledOut gives the two commands that are also known by other words their names: -v, and help about a command.
func spelledOut(args []string, model *kong.Application) []string {
	if len(args) == 1 && (args[0] == "-v" || args[0] == "--version") {
		return []string{"version"}
	}
	if len(args) < 2 || args[0] != "help" {
		return args
	}
	for _, command := range model.Children {
		if command.Name == args[1] {
			return append(slices.Clone(args[1:]), "--help")
		}
	}
	return args
}

// mistyped is an error of the parser. A flag without a section may be the end of a setting's name.
func mistyped(err error, args []string) error {
	if parsed, ok := errors.AsType[*kong.ParseError](err); ok && strings.HasPrefix(err.Error(), "expected ") {
		return incomplete(parsed)
	}
	flag, found := strings.CutPrefix(err.Error(), "unknown flag --")
	flag, _, _ = strings.Cut(flag, ",")
	if !found || len(args) == 0 {
		return usage(err.Error())
	}
	var full []string
	for _, name := range settingFlags(args[0]) {
		if strings.HasSuffix(name, "."+strings.ReplaceAll(flag, "-", "_")) {
			full = append(full, name)
		}
	}
	if flag == "model" {
		full = []string{"--model.model_name_or_path"}
	}
	if (flag == "config" || flag == "recipe") && slices.Contains([]string{"rl", "sft", "eval"}, args[0]) {
		return &problem.Problem{Code: problem.Usage, What: "unknown flag --" + flag, Fix: "name the recipe without a flag: molt " + args[0] + " FILE.yaml"}
	}
	if len(full) == 0 {
		return usage(err.Error())
	}
	return &problem.Problem{Code: problem.Usage, What: "unknown flag --" + flag, Fix: "write the whole name: " + strings.Join(full, " or ")}
}

// pasteable writes a command line so that a shell reads the same words.
func pasteable(line []string) string {
	words := make([]string, len(line))
	for i, word := range line {
		words[i] = spell.Quoted(word)
	}
	return strings.Join(words, " ")
}

// incomplete is a command line that ends too early: it says which commands or what arguments may follow.
func incomplete(e *kong.ParseError) error {
	at := e.Context.Model.Node
	for _, step := range slices.Backward(e.Context.Path) {
		if node := step.Node(); node != nil {
			at = node
			break
		}
	}
	what, path := e.Error(), at.FullPath()
	var names []string
	for _, child := range at.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	if len(names) > 0 {
		what = path + " is followed by one of " + strings.Join(names, ", ")
	} else if name, ok := strings.CutPrefix(what, "expected "); ok {
		what = path + " lacks its " + strings.ReplaceAll(name, `"`, "")
	}
	return &problem.Problem{Code: problem.Usage, What: what, Fix: "`" + path + " --help` says what it takes"}
}

// exitCode carries kong's wish to exit (after --help) through a panic to report.
type exitCode int

// usage is a mistake on the command line.
func usage(what string) error {
	return &problem.Problem{Code: problem.Usage, What: strings.ReplaceAll(what, "\n", " "), Fix: "`molt --help` lists the commands, `molt COMMAND --help` its flags"}
}

// interruptible ends the context at the first Ctrl-C and the program at the second.
func interruptible(stderr io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2) // two: the second must not be lost while the first is handled
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() { // ends with stop
		select {
		case <-signals:
			fmt.Fprintln(stderr, "\nstopping in order. Once more stops at once.")
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			fmt.Fprintln(stderr, "stopped. The same command resumes a run from its last checkpoint.")
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel(nil) }
}

var errInterrupted = errors.New("interrupted")

const description = "Molt trains language-model agents by reinforcement learning: from one binary, on a CPU."

// menu is what bare `molt` prints.
const menu = `molt trains language-model agents by reinforcement learning.

  molt quickstart              make a small model and watch it learn to use tools (minutes, CPU)
  molt rl RECIPE.yaml          train your model on your prompts
  molt generate MODEL          talk to a model
  molt show RUN                look at a run, a rollout, a token

molt --help lists all commands; molt help settings lists every setting.
`
