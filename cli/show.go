package cli

import (
	"fmt"
	"os"

	"molt/internal/spell"
	"molt/metrics"
	"molt/run/look"
	"molt/run/problem"
)

// showCmd is `molt show`.
type showCmd struct {
	Folder   string `arg:"" name:"run" help:"Run folder, or the folder of a quickstart; or a file with the export of a session, - for standard input."`
	Rollouts bool   `xor:"what" help:"List every kept rollout."`
	Rollout  string `xor:"what" help:"Show one rollout turn by turn: best, worst, or STEP/GROUP/SAMPLE." placeholder:"NAME"`
	Group    string `xor:"what" help:"Compare the kept rollouts of a group where they first differ." placeholder:"STEP/GROUP"`
	Tokens   bool   `xor:"part" help:"With --rollout: its tokens with their numbers."`
	Token    *int   `xor:"part" help:"With --rollout: one token with every number." placeholder:"N"`
	JSON     bool   `name:"json" help:"Print one JSON object (one a line with --rollouts)."`
}

// Help shows the way from a run to a token.
func (*showCmd) Help() string {
	return `Examples:

  molt show runs/one                            curves, alarms, what was kept
  molt show runs/one --rollout best             what was said
  molt show runs/one --group 12/3               where the rollouts of a group part
  molt show runs/one --rollout 12/3/0 --tokens  log-probs, ratio, advantage of each token
  molt show runs/one --rollout 12/3/0 --token 57
  curl -s http://127.0.0.1:8377/sessions/ID/export | molt show -`
}

func (c *showCmd) Run(a *app) error {
	if c.Rollout == "" && (c.Tokens || c.Token != nil) {
		return &problem.Problem{Code: problem.Usage, What: "--token and --tokens have no effect without --rollout", Fix: "add --rollout best, worst or STEP/GROUP/SAMPLE"}
	}
	if info, err := os.Stat(c.Folder); c.Folder == "-" || err == nil && info.Mode().IsRegular() {
		return c.export(a)
	}
	l, err := look.At(c.Folder)
	if err != nil {
		return err
	}
	if l.Damage != nil {
		lost := flatten(l.Damage)
		fmt.Fprintf(a.stderr, "note: some of the run cannot be read (%d problems); the first: %s\n", len(lost), legible(lost[0].Error()))
	}
	switch {
	case c.Rollouts:
		return c.list(a, l)
	case c.Rollout != "":
		return c.rollout(a, l)
	case c.Group != "":
		return c.group(a, l)
	}
	return c.summary(a, l)
}

// export shows what a session captured.
func (c *showCmd) export(a *app) error {
	if c.Rollouts || c.Rollout != "" || c.Group != "" {
		return &problem.Problem{Code: problem.Usage, What: "--rollouts, --rollout and --group are of run folders; the export of a session has none", Fix: "leave them out"}
	}
	e, err := readExport(c.Folder, a.stdin)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return a.dataJSON(e)
	}
	return a.data(legible(captured(e)))
}

// newestShown bounds the list below the summary.
const newestShown = 15

func (c *showCmd) summary(a *app, l *look.Run) error {
	if c.JSON {
		return a.dataJSON(l.Outline())
	}
	width := a.width()
	text := metrics.Summary(l.Records, width)
	if n := len(l.Rollouts); n > 0 {
		text += "\n" + metrics.RolloutTable(l.Rollouts[max(0, n-newestShown):], width)
		if n > newestShown {
			text += fmt.Sprintf("(the newest %d of %d; --rollouts lists all)\n", newestShown, n)
		}
	}
	if err := a.data(text); err != nil || len(l.Rollouts) == 0 {
		return err
	}
	show := "molt show " + spell.Quoted(c.Folder)
	compare := ""
	if group := l.WidestGroup(); group != "" {
		compare = show + " --group " + group
	}
	a.next(
		next{"read a rollout", show + " --rollout best"},
		next{"see its tokens", show + " --rollout best --tokens"},
		next{"compare a group", compare},
	)
	return nil
}

func (c *showCmd) list(a *app, l *look.Run) error {
	if !c.JSON {
		return a.data(metrics.RolloutTable(l.Rollouts, a.width()))
	}
	for _, r := range l.Outline().Rollouts {
		if err := a.dataJSON(r); err != nil {
			return err
		}
	}
	return nil
}

func (c *showCmd) rollout(a *app, l *look.Run) error {
	r, err := l.Rollout(c.Rollout)
	if err != nil {
		return err
	}
	switch {
	case c.Token != nil:
		facts, err := look.Token(r, *c.Token)
		if err != nil || c.JSON {
			return firstError(err, func() error { return a.dataJSON(facts) })
		}
		return a.data(facts.String())
	case c.JSON:
		return a.dataJSON(r)
	case c.Tokens:
		return a.data(metrics.TokenTable(r, max(a.width(), tableWidth)))
	}
	return a.data(metrics.Transcript(r, a.width()))
}

// tableWidth is what a token table needs: narrower, its numbers would be cut off.
const tableWidth = 120

func (c *showCmd) group(a *app, l *look.Run) error {
	group, err := l.Group(c.Group)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.dataJSON(group)
	}
	return a.data(metrics.Comparison(group, a.width()))
}

func firstError(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}
