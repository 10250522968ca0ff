package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"molt/internal/spell"
	"molt/run/problem"
	"molt/run/service"
)

// serviceFlags say what answers.
type serviceFlags struct {
	Script      string  `placeholder:"FILE" help:"Answer with the replies of this file (JSON lines) instead of a model."`
	Parser      string  `placeholder:"NAME" help:"Syntax of the model's tool calls (default: found by its chat template)."`
	Mode        string  `enum:"append,faithful" default:"append" help:"append keeps a conversation one segment; faithful begins another where the template would show earlier turns differently."`
	Sampling    string  `enum:"honour,keep,refuse" default:"honour" help:"What becomes of requests for other sampling (default ${default})."`
	Temperature float64 `short:"t" default:"1" placeholder:"X" help:"Divides the logits; 0 takes the likeliest token (default ${default})."`
	MaxTokens   int     `default:"4096" placeholder:"N" help:"Most tokens of a reply (default ${default})."`
	Context     int     `default:"0" placeholder:"N" help:"Longest conversation, in tokens (default: what the model and memory allow)."`
	Threads     int     `default:"0" placeholder:"N" help:"Worker threads; 0 takes all cores (default ${default})."`
}

func (f *serviceFlags) config(model string) service.Config {
	c := service.Defaults()
	c.Model, c.Script, c.Parser, c.Mode, c.Sampling = model, f.Script, f.Parser, f.Mode, f.Sampling
	c.Temperature, c.MaxTokens, c.Context, c.Threads = f.Temperature, f.MaxTokens, f.Context, f.Threads
	return c
}

// serveCmd is `molt serve`.
type serveCmd struct {
	Model string `arg:"" optional:"" help:"Hugging Face model folder. With --script it only lends its tokenizer and template."`
	serviceFlags
	Adapter   string `placeholder:"DIR" help:"PEFT folder of an adapter to put on the model."`
	Listen    string `default:"127.0.0.1:8377" placeholder:"ADDR" help:"Address to listen on; one that other machines reach needs a token and a certificate (default ${default})."`
	TokenFile string `placeholder:"FILE" help:"File with the token that opens, lists and exports sessions."`
	TLSCert   string `name:"tls-cert" placeholder:"FILE" help:"Certificate (PEM)."`
	TLSKey    string `name:"tls-key" placeholder:"FILE" help:"Its key (PEM)."`
	Folder    string `placeholder:"DIR" help:"Keep a journal of every session here, and restore them at start."`
	Budget    int    `default:"0" placeholder:"N" help:"Most tokens of a session, shown and sampled; 0 sets no bound."`
	JSON      bool   `name:"json" help:"Say where it listens as one JSON object."`
}

// Help shows a session.
func (*serveCmd) Help() string {
	return `Serves the OpenAI (Chat Completions, Responses) and Anthropic (Messages) wires, and captures every token. A session is opened with
POST /sessions and is reached by its address or its key; GET /sessions/ID/export returns its segments and its tree.

Examples:

  molt serve MODEL
  molt serve --script replies.jsonl               canned replies, to debug a harness: {"text": "Hello"} on each line
  curl -sX POST http://127.0.0.1:8377/sessions    {"id": …, "api_key": …, "base_url": …, "openai_base_url": …}`
}

func (c *serveCmd) Run(ctx context.Context, a *app) error {
	config := c.config(c.Model)
	config.Adapter, config.Listen, config.Cert, config.Key, config.Folder, config.Budget = c.Adapter, c.Listen, c.TLSCert, c.TLSKey, c.Folder, c.Budget
	config.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
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
		err = a.data(legible(fmt.Sprintf("serving %s on %s, conversations of %d tokens; Ctrl-C ends it\n", spell.Quoted(c.source()), s.URL(), s.Context())))
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
