package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"molt/agent"
	"molt/run/generate"
	"molt/run/problem"
	"molt/run/recipe"
)

// generateCmd is `molt generate`. Without --prompt it talks at a terminal, and answers line by line anywhere else.
type generateCmd struct {
	Model       string   `arg:"" help:"Hugging Face model folder."`
	Adapter     string   `placeholder:"DIR" help:"PEFT folder of an adapter to put on the model."`
	Prompt      *string  `short:"p" placeholder:"TEXT" help:"Answer this and leave; without it, every line of standard input."`
	System      string   `placeholder:"TEXT" help:"First message of every conversation."`
	MaxTokens   int      `default:"512" placeholder:"N" help:"Most tokens of a reply (default ${default})."`
	Temperature float64  `short:"t" default:"1" placeholder:"X" help:"Divides the logits; 0 takes the likeliest token (default ${default}, as in training)."`
	TopP        float64  `default:"1" placeholder:"X" help:"Keep the smallest set of tokens with this probability; 1 keeps all (default ${default})."`
	TopK        int      `default:"0" placeholder:"N" help:"Keep the N likeliest tokens; 0 keeps all (default ${default})."`
	MinP        float64  `default:"0" placeholder:"X" help:"Keep tokens with this share of the largest probability; 0 keeps all (default ${default})."`
	Seed        uint64   `default:"0" placeholder:"N" help:"Same seed, same replies, at any number of threads (default ${default})."`
	N           int      `short:"n" default:"1" placeholder:"N" help:"Replies to each prompt (default ${default})."`
	Stop        []string `sep:"none" placeholder:"TEXT" help:"End a reply before this text; may be repeated."`
	Raw         bool     `help:"Go on with the text of the prompt: no chat template, control tokens are meant."`
	Agent       string   `placeholder:"NAME" help:"Environment that answers the model, such as shop, the quickstart's; its settings are --agent.NAME.*, --agent.max_turns and --agent.step_timeout."`
	Label       string   `placeholder:"TEXT" help:"What the environment compares answers with."`
	Threads     int      `default:"0" placeholder:"N" help:"Worker threads; 0 takes all cores. Changes no reply (default ${default})."`
	JSON        bool     `name:"json" help:"One JSON object for each reply: text, ids, log-probs, version, finish."`
}

// Help shows the three ways to use it.
func (*generateCmd) Help() string {
	return `Examples:

  molt generate MODEL                                   talk to it; /reset forgets, /exit leaves, Ctrl-C stops a reply
  molt generate MODEL --prompt 'What do 3 pens and 2 cups cost?' --agent shop
  molt generate MODEL --json < prompts.txt > replies.jsonl

Control characters in replies are spelled (\x1b); --json keeps every one.`
}

func (c *generateCmd) Run(ctx context.Context, a *app) error {
	cfg := generate.Defaults()
	cfg.Model, cfg.Adapter, cfg.System, cfg.Raw, cfg.Threads, cfg.Stop = c.Model, c.Adapter, c.System, c.Raw, c.Threads, c.Stop
	cfg.MaxTokens, cfg.Temperature, cfg.TopP, cfg.TopK, cfg.MinP = c.MaxTokens, c.Temperature, c.TopP, c.TopK, c.MinP
	cfg.Seed, cfg.Samples = c.Seed, c.N
	talking := c.Prompt == nil && !c.JSON && readsTerminal(a.stdin)
	if talking && c.N > 1 {
		return &problem.Problem{Code: problem.Combined, What: "--n has no effect in a conversation", Fix: "give a --prompt, or leave it out"}
	}
	world, err := c.world(a)
	if err != nil {
		return err
	}
	cfg.World = world
	s, err := generate.Open(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, note := range s.Notes {
		fmt.Fprintf(a.stderr, "note: %s\n", legible(note))
	}
	if talking {
		return (&talk{app: a, command: c, speaker: s}).run(ctx)
	}
	b := &batch{app: a, command: c, speaker: s, cut: map[string]int{}}
	if c.Prompt != nil && c.N == 1 && !c.JSON && c.Agent == "" {
		return b.one(ctx, *c.Prompt)
	}
	return b.run(ctx)
}

// world opens the environment; nil without one.
func (c *generateCmd) world(a *app) (*generate.World, error) {
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	err := a.resolve(settings, nil)
	if c.Agent == "" {
		if len(a.settings) > 0 || c.Label != "" {
			err = errors.Join(err, &problem.Problem{Code: problem.Combined, What: "settings of an agent and --label have no effect without --agent", Fix: "name an environment with it, or leave them out"})
		}
		return nil, err
	}
	if chosen := recipe.Find(settings, "agent.name").Set(c.Agent, "flag"); chosen != nil {
		err = errors.Join(err, &problem.Problem{Code: problem.Setting, What: "--agent " + chosen.Error(), Fix: "an agent that is a file or a program is played by `molt agent try`"})
	}
	if err = errors.Join(err, recipe.CheckAgent(&cfg, settings)); err != nil {
		return nil, err
	}
	kind, _ := agent.KindOf(c.Agent)
	if kind.IsChat() {
		return nil, &problem.Problem{Code: problem.Combined, What: "--agent " + c.Agent + " owns its loop, and does not answer replies", Fix: "play it with `molt agent try " + c.Agent + " --model.model_name_or_path MODEL`"}
	}
	create, err := kind.Open(cfg.Agent.Own(kind))
	if err != nil {
		return nil, &problem.Problem{Code: problem.Setting, Where: "agent." + c.Agent, What: "it refuses its settings", Why: err.Error(), Fix: "mend them", Err: err}
	}
	return &generate.World{Name: c.Agent, New: create, Label: c.Label, Turns: cfg.Agent.MaxTurns, Step: time.Duration(cfg.Agent.StepTimeout * float64(time.Second))}, nil
}

// batch answers prompts, several at once, and prints the answers in their order.
type batch struct {
	*app
	command *generateCmd
	speaker *generate.Speaker
	replies int
	cut     map[string]int // replies that did not end by themselves, by finish
}

// answer is everything that was said to one prompt.
type answer struct {
	said     []generate.Said
	episodes []generate.Episode
	err      error
}

// ahead is how many prompts are worked on at once.
const ahead = 64

func (b *batch) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan chan answer, ahead) // in order of the prompts; ask closes it
	go b.ask(ctx, answers)
	for {
		select {
		case one, more := <-answers:
			if !more {
				return b.end(ctx)
			}
			if err := b.print(<-one); err != nil {
				return err
			}
		case <-ctx.Done():
			return interrupted(ctx)
		}
	}
}

// one answers the only prompt as the reply is sampled.
func (b *batch) one(ctx context.Context, prompt string) error {
	var broken error
	said, err := b.speaker.Reply(ctx, 1, 0, prompt, func(piece string) {
		if broken == nil {
			broken = b.data(legible(piece))
		}
	})
	if err = cmp.Or(err, broken); err != nil {
		return b.placed(err, 1)
	}
	b.replies, b.cut[said.Finish] = 1, 1
	if err := b.data("\n"); err != nil {
		return err
	}
	return b.end(ctx)
}

// end says what the user should know about the replies.
func (b *batch) end(ctx context.Context) error {
	if err := interrupted(ctx); err != nil {
		return err
	}
	if b.replies == 0 {
		fmt.Fprintln(b.stderr, "note: standard input held no prompt")
	}
	if n := b.cut["length"]; n > 0 {
		fmt.Fprintf(b.stderr, "note: %d of %d replies were cut off: --max-tokens is %d, and prompt and reply may have %d\n",
			n, b.replies, b.command.MaxTokens, b.speaker.MaxTokens())
	}
	return nil
}

func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return &problem.Problem{Code: problem.Interrupted, What: "interrupted before the last reply", Fix: "the same command with the same seed gives the same replies again"}
}

// ask starts a goroutine for each prompt; what it has to say comes through its channel, which has room for it. Nobody waits
// for ask when the user interrupts: it may be reading standard input.
func (b *batch) ask(ctx context.Context, answers chan<- chan answer) {
	defer close(answers)
	begin := func(ordinal int64, reply func() answer) bool {
		one := make(chan answer, 1)
		select {
		case answers <- one:
			go func() { one <- reply() }()
			return true
		case <-ctx.Done():
			return false
		}
	}
	if p := b.command.Prompt; p != nil {
		begin(1, func() answer { return b.reply(ctx, 1, *p) })
		return
	}
	for l := range readLines(ctx, b.stdin) {
		if l.err != nil {
			begin(l.number, func() answer { return answer{err: l.err} })
			return
		}
		if !begin(l.number, func() answer { return b.reply(ctx, l.number, l.text) }) {
			return
		}
	}
}

// reply answers one prompt as often as was asked for. The samples share the prompt's cache.
func (b *batch) reply(ctx context.Context, ordinal int64, prompt string) answer {
	n := b.command.N
	all := make([]answer, n)
	done := make(chan int, n)
	for i := range n {
		go func() {
			all[i] = b.sample(ctx, ordinal, i, prompt)
			done <- i
		}()
	}
	for range n {
		<-done
	}
	var joined answer
	for _, one := range all {
		if one.err != nil {
			return answer{err: b.placed(one.err, ordinal)}
		}
		joined.said, joined.episodes = append(joined.said, one.said...), append(joined.episodes, one.episodes...)
	}
	return joined
}

func (b *batch) sample(ctx context.Context, ordinal int64, sample int, prompt string) answer {
	if b.command.Agent != "" {
		e, err := b.speaker.Play(ctx, ordinal, sample, prompt, generate.Watcher{})
		return answer{episodes: []generate.Episode{e}, err: err}
	}
	said, err := b.speaker.Reply(ctx, ordinal, sample, prompt, nil)
	return answer{said: []generate.Said{said}, err: err}
}

// placed says which prompt a problem is about.
func (b *batch) placed(err error, ordinal int64) error {
	p, ok := err.(*problem.Problem)
	if !ok || p.Where != "" {
		return err
	}
	at := *p
	at.Where = "--prompt"
	if b.command.Prompt == nil {
		at.Where = fmt.Sprintf("standard input:%d", ordinal)
	}
	return &at
}

func (b *batch) print(one answer) error {
	if one.err != nil {
		return one.err
	}
	if slices.ContainsFunc(one.said, func(s generate.Said) bool { return s.Finish == "abort" }) {
		return nil // interrupted: half a reply is none
	}
	for _, s := range one.said {
		b.replies++
		b.cut[s.Finish]++
		if err := b.show(s, func() string { return s.Text }); err != nil {
			return err
		}
	}
	for _, e := range one.episodes {
		b.replies++
		if err := b.show(e, func() string { return strings.TrimSuffix(transcript(e), "\n") }); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) show(v any, text func() string) error {
	if b.command.JSON {
		return b.dataJSON(v)
	}
	return b.data(legible(text()) + "\n")
}

// transcript is an episode as text: what the model said, what the tools answered, what it earned.
func transcript(e generate.Episode) string {
	var b strings.Builder
	for _, m := range e.Messages[min(1, len(e.Messages)):] {
		switch m.Role {
		case "tool":
			fmt.Fprintf(&b, "  [tool] %s\n", m.Content)
		default:
			for _, call := range m.ToolCalls {
				fmt.Fprintf(&b, "  [call] %s %s\n", call.Name, call.Arguments)
			}
			if m.Content != "" {
				fmt.Fprintf(&b, "%s\n", m.Content)
			}
		}
	}
	fmt.Fprintf(&b, "  [reward] %s\n", earned(e))
	return b.String()
}

// earned is what an episode came to.
func earned(e generate.Episode) string {
	text := fmt.Sprintf("%g", e.Reward)
	if e.Score != nil && *e.Score != e.Reward {
		text += fmt.Sprintf(", score %g", *e.Score)
	}
	if e.Total > 0 {
		return text + fmt.Sprintf(": %d is right", e.Total)
	}
	if e.Truncated {
		text += ": it was stopped before its end"
	}
	return text
}
