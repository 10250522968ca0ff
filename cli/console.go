// What commands print: data on stdout, talk on stderr, and what to type next at the end.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"molt/metrics"
	"molt/run/leg"
	"molt/run/recipe"

	"golang.org/x/term"
)

// console holds the options of every long command.
type console struct {
	JSON  bool   `name:"json" help:"Print the result as one JSON object on the last line of standard output."`
	Quiet bool   `short:"q" help:"Show no progress."`
	Color string `enum:"auto,always,never" default:"auto" help:"Colour: auto, always or never. NO_COLOR and CLICOLOR_FORCE are honoured."`
}

// watch runs a command with its progress on standard error: a live block on a terminal, plain lines elsewhere, nothing when
// quiet. The display has ended when it returns. Work goes on when nobody reads the progress any more.
func (c *console) watch(ctx context.Context, a *app, command func(view leg.View) error) error {
	signal.Ignore(syscall.SIGPIPE) // a write then fails, instead of ending the program
	view := leg.View{Command: a.line}
	if c.Quiet {
		return command(view)
	}
	terminal := metrics.NewTerminal(a.stderr, c.style(a))
	view.Progress = terminal
	drawing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // one: what Run returns, kept until it is asked for
	go func() { ended <- terminal.Run(drawing) }()
	err := command(view)
	stop()
	return errors.Join(err, <-ended, terminal.Close())
}

// style is what standard error can show, as far as --color leaves it to the terminal.
func (c *console) style(a *app) metrics.Style {
	var style metrics.Style
	if f, ok := a.stderr.(*os.File); ok {
		style = metrics.DetectStyle(f, os.Getenv)
	}
	switch c.Color {
	case "always":
		style.Color = true
	case "never":
		style.Color = false
	}
	return style
}

// next is what a user would type next. A command begins with "molt ".
type next struct{ why, command string }

func (a *app) next(list ...next) {
	fmt.Fprintln(a.stderr, "\nNext:")
	for _, n := range list {
		if n.command != "" {
			fmt.Fprintf(a.stderr, "  %-24s %s\n", n.why, a.typed(n.command))
		}
	}
}

// typed puts this program, as the user called it, into a command.
func (a *app) typed(command string) string {
	if rest, ok := strings.CutPrefix(command, "molt "); ok {
		return a.program + " " + rest
	}
	return command
}

// printPlan shows every setting with its source, then what the run would do.
func (a *app) printPlan(plan *leg.Plan, settings []*recipe.Setting, asJSON bool) error {
	if asJSON {
		return a.dataJSON(struct {
			Settings map[string]sourced `json:"settings"`
			Plan     *leg.Plan          `json:"plan"`
		}{sources(settings), plan})
	}
	return a.data(legible(recipe.Write(settings) + "\n" + plan.String()))
}

type sourced struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

func sources(settings []*recipe.Setting) map[string]sourced {
	m := map[string]sourced{}
	for _, s := range settings {
		m[s.Name] = sourced{s.Text(), s.Source}
	}
	return m
}

// isTerminal reports whether w is a terminal, and how wide it is.
func isTerminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return width, true
}

// wrap breaks text at spaces so that no line is longer than width, where words allow.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line
}
