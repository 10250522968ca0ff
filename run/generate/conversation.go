// A conversation with a model. The session of the gateway keeps its token ids; an ear between session and engine hears
// each token as it is sampled, shows its text, and ends the reply at a stop text or when the user has heard enough.

package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molt/chat"
	"molt/engine"
	"molt/gateway"
	"molt/run/problem"
	"molt/tokenizer"
	"molt/traj"
)

// Conversation is a chat that goes on. It is for one goroutine.
type Conversation struct {
	speaker  *Speaker
	ordinal  int64
	sample   int
	session  *gateway.Session // nil before the first turn, and after a reply that was stopped before it began
	ear      *ear
	tools    []chat.ToolSpec // on offer
	messages []chat.Message  // everything said; with the session, it ends with a reply
	last     chat.Reply
	turns    int
}

// Converse begins a conversation. The ordinal and the sample choose its random numbers.
func (s *Speaker) Converse(ordinal int64, sample int) *Conversation {
	c := &Conversation{speaker: s, ordinal: ordinal, sample: sample}
	if s.config.System != "" {
		c.messages = []chat.Message{{Role: chat.System, Content: s.config.System}}
	}
	return c
}

// Say sends a message of the user and samples the reply. When ctx ends, the reply ends there and the conversation can
// go on.
func (c *Conversation) Say(ctx context.Context, text string, show func(string)) (Said, error) {
	return c.turn(ctx, []chat.Message{{Role: chat.User, Content: text}}, show)
}

// turn sends messages and samples the reply.
func (c *Conversation) turn(ctx context.Context, observation []chat.Message, show func(string)) (Said, error) {
	if c.session == nil {
		return c.first(ctx, observation, show)
	}
	c.ear.reset(ctx, show)
	reply, err := c.session.Turn(context.WithoutCancel(ctx), observation)
	return c.heard(observation, reply, err)
}

// first opens a session with everything said so far.
func (c *Conversation) first(ctx context.Context, observation []chat.Message, show func(string)) (Said, error) {
	s := c.speaker
	opening := slices.Concat(c.messages, observation)
	o, err := s.model.Renderer.Prompt(chat.Conversation{Messages: opening, Tools: c.tools})
	if err != nil {
		return Said{}, &problem.Problem{Code: problem.Template, Where: s.model.Path, What: err.Error(), Fix: "mend the template, or complete text with --raw", Err: err}
	}
	if err := s.fits(o.IDs); err != nil {
		return Said{}, err
	}
	c.ear = s.listen(show)
	c.ear.reset(ctx, show)
	g, err := gateway.New(gateway.Config{Generator: c.ear, Renderer: s.model.Renderer, Family: s.model.Family, MaxTokens: s.maxTokens})
	if err != nil {
		return Said{}, fmt.Errorf("generate: opening a conversation: %w", err)
	}
	c.session, err = g.Open(gateway.Options{Seed: s.config.Seed, Group: c.ordinal, Sample: c.sample, Sampling: s.sampling()})
	if err == nil {
		err = c.session.Begin(opening, c.tools)
	}
	if err != nil {
		return Said{}, fmt.Errorf("generate: opening a conversation: %w", err)
	}
	reply, err := c.session.Turn(context.WithoutCancel(ctx), nil)
	return c.heard(observation, reply, err)
}

// ErrFull says that a conversation has used up its tokens.
var ErrFull = errors.New("the conversation is full")

// errShow says that the caller could not show a reply.
var errShow = errors.New("showing the reply")

// heard notes the reply.
func (c *Conversation) heard(observation []chat.Message, reply chat.Reply, err error) (Said, error) {
	said := c.ear.said(c.ordinal, c.sample, c.turns)
	switch {
	case errors.Is(err, errShow):
		c.session = nil
		return said, fmt.Errorf("generate: %w", err)
	case errors.Is(err, chat.ErrBudget):
		return said, fmt.Errorf("%w: it may have %d tokens", ErrFull, c.speaker.maxTokens)
	case err != nil && said.Finish == string(traj.FinishAbort):
		c.session = nil // stopped before its first token: nothing was said
		return said, nil
	case err != nil:
		return said, fmt.Errorf("generate: generating: %w", err)
	}
	said.Message, c.last = &reply.Message, reply
	c.messages = append(append(c.messages, observation...), reply.Message)
	c.turns++
	return said, nil
}

// ear is the engine as a conversation has it: it hears each token.
type ear struct {
	engine.Generator
	tok   *tokenizer.Tokenizer
	stop  []string
	ends  []int32         // ids that end a reply and are no text
	until context.Context // ends the reply, and not the conversation

	// The current reply.
	show    func(string)
	stream  *tokenizer.Stream
	text    strings.Builder // certain, and shown
	held    string          // may be the beginning of a stop text
	stopped bool            // a stop text was heard
	request engine.Request
	reply   engine.Reply
}

func (s *Speaker) listen(show func(string)) *ear {
	e := &ear{Generator: s.generator, tok: s.model.Tok, stop: s.config.Stop, ends: s.model.Stops()}
	e.reset(context.Background(), show)
	return e
}

// reset prepares for the next reply.
func (e *ear) reset(until context.Context, show func(string)) {
	if show == nil {
		show = func(string) {}
	}
	e.until, e.show, e.stream, e.held, e.stopped = until, show, e.tok.NewStream(true), "", false
	e.text.Reset()
	e.request, e.reply = engine.Request{}, engine.Reply{}
}

// Generate implements engine.Generator. A reply that was stopped by its text or its user is one that was cut off, so that
// the conversation can go on behind it; said tells the difference.
func (e *ear) Generate(ctx context.Context, r engine.Request, _ func(engine.Token)) (engine.Reply, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	if e.until.Err() != nil {
		end()
	}
	defer context.AfterFunc(e.until, end)()
	var broken error
	reply, err := e.Generator.Generate(ctx, r, func(t engine.Token) {
		if broken == nil {
			broken = e.take(t.ID)
		}
		if broken != nil || e.stopped || e.until.Err() != nil {
			end()
		}
	})
	e.request, e.reply = r, reply
	if broken != nil {
		return reply, broken
	}
	if !e.stopped {
		e.stopped = e.hearText(e.stream.Flush())
		e.tell(e.held)
	}
	if err == nil && reply.Finish == traj.FinishAbort && len(reply.Tokens) > 0 {
		reply.Finish = traj.FinishLength
	}
	return reply, err
}

// take hears a token. A caller whose show panics ends its reply, and not the engine's goroutine with all the others.
func (e *ear) take(id int32) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", errShow, p)
		}
	}()
	e.stopped = e.stopped || e.hear(id)
	return nil
}

// hear takes a token and reports whether a stop text is complete.
func (e *ear) hear(id int32) bool {
	if slices.Contains(e.ends, id) {
		return false
	}
	return e.hearText(e.stream.Push(id))
}

// hearText shows what can be no part of a stop text. What stands before a stop text is shown, the rest is dropped.
func (e *ear) hearText(piece string) bool {
	e.held += piece
	at := -1
	for _, stop := range e.stop {
		if i := strings.Index(e.held, stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		e.tell(e.held[:at])
		e.held = ""
		return true
	}
	keep := e.undecided()
	certain := e.held[:len(e.held)-keep]
	e.held = e.held[len(certain):]
	e.tell(certain)
	return false
}

// undecided is the length of the longest end of the held text with which a stop text begins.
func (e *ear) undecided() int {
	longest := 0
	for _, stop := range e.stop {
		for n := min(len(stop)-1, len(e.held)); n > longest; n-- {
			if strings.HasSuffix(e.held, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

func (e *ear) tell(text string) {
	if text != "" {
		e.text.WriteString(text)
		e.show(text)
	}
}

// said describes the reply that was heard.
func (e *ear) said(ordinal int64, sample, turn int) Said {
	s := Said{
		Prompt: ordinal, Sample: sample, Turn: turn, Text: e.text.String(), Finish: string(e.reply.Finish), Fingerprint: e.reply.Fingerprint,
		PromptIDs: e.request.Prompt, IDs: make([]int32, len(e.reply.Tokens)), Logp: make([]float32, len(e.reply.Tokens)),
	}
	if e.stopped {
		s.Finish = string(traj.FinishStop)
	}
	for i, t := range e.reply.Tokens {
		s.IDs[i], s.Logp[i], s.Version = t.ID, t.Logp, int64(t.Version)
	}
	return s
}
