package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/run/recipe"
	"molt/run/service"
)

// serviceFlags say what answers.
type serviceFlags struct {
	Engine      string  `enum:",local,scripted" default:"" placeholder:"NAME" help:"local (a model's weights) or scripted (the replies of --script); without it, scripted where there is a script."`
	Script      string  `placeholder:"FILE" help:"Answer with the replies of this file (JSON lines) instead of a model."`
	Parser      string  `placeholder:"NAME" help:"Syntax of the model's tool calls (default: found by its chat template)."`
	Mode        string  `enum:"append,faithful" default:"append" help:"append keeps a conversation one segment; faithful begins another where the template would show earlier turns differently."`
	Sampling    string  `enum:"honour,keep,refuse" default:"honour" help:"What becomes of requests for other sampling (default ${default})."`
	Temperature float64 `short:"t" default:"1" placeholder:"X" help:"Divides the logits; 0 takes the likeliest token (default ${default})."`
	MaxTokens   int     `default:"4096" placeholder:"N" help:"Most tokens of a reply (default ${default})."`
	Context     int     `default:"0" placeholder:"N" help:"Longest conversation, in tokens (default: what the model and memory allow)."`
	Threads     int     `default:"0" placeholder:"N" help:"Worker threads; 0 takes all cores (default ${default})."`
}

func (f *serviceFlags) config(model string) (service.Config, error) {
	c := service.Defaults()
	switch {
	case f.Engine == "scripted" && f.Script == "":
		return c, &problem.Problem{Code: problem.Setting, Where: "--engine", What: "the scripted engine has no script", Fix: `add --script FILE, with {"text": "Hello"} on each line`}
	case f.Engine == "local" && f.Script != "":
		return c, &problem.Problem{Code: problem.Setting, Where: "--script", What: "the local engine samples and reads no script", Fix: "leave one of --engine local and --script out"}
	}
	c.Model, c.Script, c.Parser, c.Mode, c.Sampling = model, f.Script, f.Parser, f.Mode, f.Sampling
	c.Temperature, c.MaxTokens, c.Context, c.Threads = f.Temperature, f.MaxTokens, f.Context, f.Threads
	return c, nil
}

// serveCmd is `molt serve`.
type serveCmd struct {
	Model string `arg:"" optional:"" help:"Hugging Face model folder. With --script it only lends its tokenizer and template."`
	serviceFlags
	Adapter    string `placeholder:"DIR" help:"PEFT folder of an adapter to put on the model."`
	Listen     string `default:"127.0.0.1:8377" placeholder:"ADDR" help:"Address to listen on; one that other machines reach needs a token and a certificate (default ${default})."`
	TokenFile  string `placeholder:"FILE" help:"File with the token that opens, lists and exports sessions."`
	TLSCert    string `name:"tls-cert" placeholder:"FILE" help:"Certificate (PEM)."`
	TLSKey     string `name:"tls-key" placeholder:"FILE" help:"Its key (PEM)."`
	Folder     string `placeholder:"DIR" help:"Keep sessions and tasks of /rollouts here, and restore them at start."`
	Budget     int    `default:"0" placeholder:"N" help:"Most tokens of a session, shown and sampled; 0 sets no bound."`
	SessionMiB int    `name:"session-mib" default:"4096" placeholder:"N" help:"Memory for what sessions keep, in MiB; more is refused with 429 until some end (default ${default})."`
	rolloutFlags
	JSON bool `name:"json" help:"Say where it listens as one JSON object."`
}

// rolloutFlags say how submitted rollouts are played.
type rolloutFlags struct {
	AllowCommands bool          `help:"Let clients of /rollouts name programs, which run as you. Without it they choose among the agents of this program and the one of --agent.* settings."`
	SetUpPlaces   int           `default:"8" placeholder:"N" help:"Rollouts that are set up at once (default ${default})."`
	RunPlaces     int           `default:"64" placeholder:"N" help:"Rollouts that are played at once (default ${default})."`
	GradePlaces   int           `default:"16" placeholder:"N" help:"Rollouts that are graded at once (default ${default})."`
	Waiting       int           `default:"4096" placeholder:"N" help:"Rollouts that may wait (default ${default})."`
	ResultMiB     int           `name:"result-mib" default:"1024" placeholder:"N" help:"Memory for results, in MiB (default ${default})."`
	ResultLife    time.Duration `default:"1h" placeholder:"TIME" help:"How long results are kept (default ${default})."`
}

// rollouts completes the configuration, with the agent of the dotted settings.
func (f *rolloutFlags) rollouts(a *app, c *service.Rollouts) error {
	cfg := recipe.Defaults()
	settings := recipe.Settings(&cfg)
	if err := a.resolve(settings, nil); err != nil {
		return err
	}
	if err := recipe.CheckAgent(&cfg, settings); err != nil {
		return err
	}
	c.Agent, c.Trusting, c.Places = cfg.Agent, f.AllowCommands, [3]int{f.SetUpPlaces, f.RunPlaces, f.GradePlaces}
	c.Waiting, c.MiB, c.Life, c.Log = f.Waiting, f.ResultMiB, f.ResultLife, a.stderr
	return nil
}

// Help shows a session.
func (*serveCmd) Help() string {
	return `Serves the OpenAI (Chat Completions, Responses) and Anthropic (Messages) wires, and captures every token. A session is opened with
POST /sessions and is reached by its address or its key; GET /sessions/ID/export returns its segments and its tree,
GET /sessions/ID/images/DIGEST an image that it was shown.

POST /rollouts lets an agent play a prompt, and returns tokens, log-probs and rewards: docs/service.md. Which agent, say settings
like those of molt rl.

Examples:

  molt serve MODEL
  molt serve --engine scripted --script FILE.jsonl    canned replies: {"text": "Hello"} on each line
  molt serve MODEL --agent.command 'node agent.mjs {prompt_file}'
  curl -sX POST http://127.0.0.1:8377/sessions    {"id": …, "api_key": …, "base_url": …, "openai_base_url": …}`
}

func (c *serveCmd) Run(ctx context.Context, a *app) error {
	config, err := c.config(c.Model)
	if err != nil {
		return err
	}
	config.Adapter, config.Listen, config.Cert, config.Key, config.Folder, config.Budget = c.Adapter, c.Listen, c.TLSCert, c.TLSKey, c.Folder, c.Budget
	config.MiB = c.SessionMiB
	config.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
	if err := c.rollouts(a, &config.Rollouts); err != nil {
		return err
	}
	if c.TokenFile != "" {
		data, err := os.ReadFile(c.TokenFile)
		if config.Token = strings.TrimSpace(string(data)); err != nil || len(config.Token) < 16 {
			return &problem.Problem{Code: problem.Setting, Where: "--token-file", What: "the file holds no token of 16 characters or more", Fix: "write one into it"}
		}
	}
	s, err := service.Open(config)
	if err != nil {
		return err
	}
	for _, note := range s.Notes {
		fmt.Fprintf(a.stderr, "note: %s\n", legible(note))
	}
	if c.JSON {
		err = a.dataJSON(map[string]any{"url": s.URL(), "context": s.Context()})
	} else {
		err = a.data(legible(fmt.Sprintf("serving %s on %s, conversations of %d tokens; Ctrl-C ends it\n%s", spell.Quoted(c.source()), s.URL(), s.Context(), c.firstSteps(s.URL()))))
	}
	if err == nil {
		err = s.Run(ctx)
	}
	if failed := s.Close(); err == nil {
		err = failed
	}
	return err
}

func (c *serveCmd) source() string {
	if c.Script != "" {
		return c.Script
	}
	return c.Model
}

// firstSteps are commands to paste: open a session, and point a harness at it.
func (c *serveCmd) firstSteps(url string) string {
	var token, trust string
	if c.TokenFile != "" {
		token = ` -H "Authorization: Bearer $(cat ` + spell.Quoted(c.TokenFile) + `)"`
	}
	if c.TLSCert != "" {
		trust = " --cacert " + spell.Quoted(c.TLSCert)
	}
	return `
Open a session and point a harness at it:

  eval "$(curl -fsS` + trust + token + ` -X POST '` + url + `/sessions?format=env')"

which sets OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY and MOLT_SESSION. What it captured:

  curl -fsS` + trust + token + ` ` + url + `/sessions/$MOLT_SESSION/export

`
}
