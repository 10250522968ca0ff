// A conversation at a terminal.

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"unicode/utf8"

	"molt/run/generate"
	"molt/run/problem"

	"golang.org/x/term"
)

// talk is a conversation at a terminal.
type talk struct {
	*app
	command    *generateCmd
	speaker    *generate.Speaker
	chat       *generate.Conversation
	ordinal    int64 // of the conversation, or of the prompt where there is none
	interrupts chan os.Signal
}

const talkHelp = "/reset forgets the conversation, /exit or Ctrl-D leaves, Ctrl-C stops a reply"

// run talks until the user leaves. Ctrl-C stops a reply here, so it is taken away from whoever listened before.
func (t *talk) run(ctx context.Context) error {
	t.interrupts = make(chan os.Signal, 1) // one: several in a row mean the same
	signal.Reset(os.Interrupt)
	signal.Notify(t.interrupts, os.Interrupt)
	defer signal.Stop(t.interrupts)
	fmt.Fprintln(t.stderr, talkHelp)
	t.reset()
	lines := make(chan line) // the reader below closes it
	go func() {              // ends with the terminal or with the program: reading cannot be interrupted
		defer close(lines)
		for l := range readLines(ctx, t.stdin) {
			lines <- l
		}
	}()
	for {
		fmt.Fprint(t.stderr, "> ")
		select {
		case l, ok := <-lines:
			if !ok {
				fmt.Fprintln(t.stderr)
				return nil
			}
			if leave, err := t.take(ctx, l); leave || err != nil {
				return err
			}
		case <-t.interrupts:
			fmt.Fprintf(t.stderr, "\n%s\n", talkHelp)
		case <-ctx.Done():
			return nil
		}
	}
}

func (t *talk) reset() {
	t.ordinal++
	if t.speaker.Chats() {
		t.chat = t.speaker.Converse(t.ordinal, 0)
	}
}

// take does what a line says.
func (t *talk) take(ctx context.Context, l line) (leave bool, err error) {
	text := strings.TrimSpace(l.text)
	switch {
	case l.err != nil:
		fmt.Fprintf(t.stderr, "%s\n", legible(l.err.Error()))
	case len(l.text) >= terminalLine:
		fmt.Fprintf(t.stderr, "terminals cut lines at %d bytes, so this one was not sent; pipe longer prompts\n", terminalLine)
	case text == "":
	case text == "/exit" || text == "/quit" || text == "/bye":
		return true, nil
	case text == "/reset":
		t.reset()
		fmt.Fprintln(t.stderr, "(forgotten)")
	case text == "/help" || text == "/?":
		fmt.Fprintln(t.stderr, talkHelp)
	case strings.HasPrefix(l.text, "/"):
		fmt.Fprintf(t.stderr, "no command %s: %s; a blank before the / sends it\n", legible(text), talkHelp)
	default:
		return false, t.reply(ctx, text)
	}
	return false, nil
}

// terminalLine is the longest line that Linux terminals hand over.
const terminalLine = 4095

// reply shows the answer as it is sampled.
func (t *talk) reply(ctx context.Context, text string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with the reply
		select {
		case <-t.interrupts:
			stop()
		case <-done:
		}
	}()
	show := func(piece string) { fmt.Fprint(t.stdout, legible(piece)) }
	if t.command.Agent != "" {
		return t.mild(t.play(ctx, text, show))
	}
	said, err := t.say(ctx, text, show)
	fmt.Fprintln(t.stdout)
	if err != nil {
		return t.mild(err)
	}
	switch {
	case said.Finish == "length":
		fmt.Fprintf(t.stderr, "(cut off after %d tokens)\n", len(said.IDs))
	case said.Finish == "abort":
		fmt.Fprintln(t.stderr, "(stopped)")
	case said.Message != nil && len(said.Message.ToolCalls) > 0:
		fmt.Fprintln(t.stderr, "(it called a tool, and nothing here answers; --agent names an environment that does)")
	}
	return nil
}

func (t *talk) say(ctx context.Context, text string, show func(string)) (generate.Said, error) {
	if t.chat != nil {
		return t.chat.Say(ctx, text, show)
	}
	t.ordinal++
	return t.speaker.Reply(ctx, t.ordinal, 0, text, show)
}

// play asks the environment's question; every question is an episode of its own.
func (t *talk) play(ctx context.Context, text string, show func(string)) error {
	t.ordinal++
	e, err := t.speaker.Play(ctx, t.ordinal, 0, text, generate.Watcher{
		Show: show,
		Tool: func(text string) { fmt.Fprintf(t.stdout, "\n  [tool] %s\n", legible(text)) },
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(t.stdout)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(t.stderr, "(stopped)")
	default:
		fmt.Fprintf(t.stderr, "(reward %s)\n", earned(e))
	}
	return nil
}

// mild shows a problem that ends no conversation.
func (t *talk) mild(err error) error {
	var p *problem.Problem
	switch {
	case errors.Is(err, generate.ErrFull):
		fmt.Fprintf(t.stderr, "%s; /reset begins anew\n", legible(err.Error()))
		return nil
	case errors.As(err, &p) && p.Code == problem.Data:
		fmt.Fprintf(t.stderr, "%s\n", legible(p.Error()))
		return nil
	}
	return err
}

// line is one line of standard input.
type line struct {
	number int64
	text   string
	err    error // it cannot be read, or is no text
}

// longestLine bounds a prompt; every model refuses it long before.
const longestLine = 64 << 20 // bytes

// readLines reads the lines of r until its end or an error.
func readLines(ctx context.Context, r io.Reader) iter.Seq[line] {
	return func(yield func(line) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longestLine)
		n := int64(0)
		for lines.Scan() && ctx.Err() == nil {
			n++
			l := line{number: n, text: strings.TrimSuffix(lines.Text(), "\r")}
			if !utf8.ValidString(l.text) {
				l.err = &problem.Problem{Code: problem.Data, Where: fmt.Sprintf("standard input:%d", n), What: "not UTF-8", Fix: "convert it"}
			}
			if !yield(l) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(line{number: n + 1, err: &problem.Problem{Code: problem.Data, Where: fmt.Sprintf("standard input:%d", n+1), What: "cannot read it", Why: err.Error(), Fix: "give one prompt on each line", Err: err}})
		}
	}
}

// readsTerminal reports whether a person types what r reads.
func readsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
