package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"molt/gateway/capture"
	"molt/internal/spell"
	"molt/metrics"
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
			err = errors.Join(err, a.data(legible(captured(export, code))))
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

// captured is an export for people.
func captured(e *capture.Export, code int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\ncaptured %s, %d tokens; the harness ended with exit code %d\n", turns(len(e.Tree)), e.Used, code)
	children := map[int32][]int32{}
	for i, n := range e.Tree {
		children[n.Parent] = append(children[n.Parent], int32(i))
	}
	var show func(at int32, depth int)
	show = func(at int32, depth int) {
		n := &e.Tree[at]
		fmt.Fprintf(&b, "  %s%s\n", strings.Repeat("  ", depth), turnLine(at, n))
		inner := depth + 1
		if len(children[at]) == 1 {
			inner = depth // a conversation that only goes on stays in its column
		}
		for _, child := range children[at] {
			show(child, inner)
		}
	}
	for _, root := range children[-1] {
		show(root, 0)
	}
	if len(e.Segments) > 0 {
		fmt.Fprintf(&b, "segments\n")
	}
	for i, s := range e.Segments {
		train := 0
		for _, action := range s.Action {
			if action {
				train++
			}
		}
		fmt.Fprintf(&b, "  %d  %-10s %6d tokens, %d of them train (%s, %s)\n", i, s.Kind, len(s.Tokens), train, s.Reason, s.Fate)
	}
	b.WriteString(certificate(e))
	return b.String()
}

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

func turnLine(at int32, n *capture.Node) string {
	said := strings.Join(strings.Fields(n.Message.Content), " ")
	for _, call := range n.Message.ToolCalls {
		said += " → " + call.Name + " " + call.Arguments.String()
	}
	line := fmt.Sprintf("turn %d  %d shown, ", at, len(n.Observation))
	switch n := len(n.Images); n {
	case 0:
	case 1:
		line += "1 image, "
	default:
		line += fmt.Sprintf("%d images, ", n)
	}
	line += fmt.Sprintf("%d sampled, %s", len(n.Sampled), n.Finish)
	if n.Kind != capture.Main {
		line += ", " + string(n.Kind)
	}
	if n.Parent < 0 && at > 0 {
		line += ", begins a segment: " + string(n.Reason)
	}
	return line + "  " + metrics.Clean(spell.Cut(said, 60))
}

// certificate says whether every sampled id has its log-prob, and trains once, or not at all where its turn does not train.
func certificate(e *capture.Export) string {
	sampled, logps, apart, trained := 0, 0, 0, 0
	var why []string
	for _, n := range e.Tree {
		sampled, logps = sampled+len(n.Sampled), logps+len(n.LogpGen)
		if n.Untrained != "" {
			apart += len(n.Sampled)
			why = append(why, n.Untrained)
		}
	}
	for _, s := range e.Segments {
		for _, action := range s.Action {
			if action {
				trained++
			}
		}
	}
	slices.Sort(why)
	switch {
	case sampled != logps || sampled != trained+apart:
		return fmt.Sprintf("NO certificate: %d sampled ids, %d log-probs, %d trained on, %d of turns that do not train\n", sampled, logps, trained, apart)
	case apart > 0:
		return fmt.Sprintf("certificate: %d sampled ids, each with the log-prob it was sampled with; %d are trained on, each in exactly one segment, and %d are not, as their clients demanded (%s)\n",
			sampled, trained, apart, strings.Join(slices.Compact(why), ", "))
	}
	return fmt.Sprintf("certificate: %d sampled ids, each with the log-prob it was sampled with, each trained on in exactly one segment\n", sampled)
}
