// What all sessions of a run share: the engine, the renderer, the budget, and counters.

package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"molt/chat"
	"molt/engine"
)

// Config says what sessions talk to.
type Config struct {
	Generator engine.Generator
	Renderer  *chat.Renderer
	// MaxTokens is the most tokens of one rollout, shown and sampled, over all its segments; at least 2. What is left
	// bounds every turn; when nothing is left, the rollout ends with chat.ErrBudget.
	MaxTokens int
}

func (c *Config) validate() error {
	var problems []error
	if c.Generator == nil || c.Renderer == nil {
		return errors.New("gateway: opening sessions needs a generator and a renderer")
	}
	if c.MaxTokens < 2 {
		problems = append(problems, fmt.Errorf("gateway: MaxTokens %d; want at least 2", c.MaxTokens))
	}
	if vocab, own := c.Generator.Capabilities().Vocab, c.Renderer.Tokenizer().VocabSize(); own > vocab {
		problems = append(problems, fmt.Errorf("gateway: the tokenizer has %d ids and the model %d; they do not belong together", own, vocab))
	}
	if _, ok := c.Renderer.EndOfTurn(); !ok {
		problems = append(problems, fmt.Errorf("gateway: the chat template ends no turn with a control token: %w", chat.ErrNotLocal))
	}
	return errors.Join(problems...)
}

// Gateway opens sessions. It is safe for concurrent use and starts no goroutine.
type Gateway struct {
	config   Config
	counters counters
}

// New checks that the parts fit together.
func New(c Config) (*Gateway, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Gateway{config: c}, nil
}

// Options are what one rollout chooses.
type Options struct {
	Seed     uint64 // of the run: with Group and Sample it selects the random numbers
	Group    int64
	Sample   int
	Attempt  int             // names the session; a retry draws the same random numbers
	Sampling engine.Sampling // MaxTokens bounds one turn; the end of a turn is always among the stops
	// MaxTokens is the most tokens of this rollout; 0 means the gateway's.
	MaxTokens int
}

// Open starts the session of one rollout.
func (g *Gateway) Open(o Options) (*Session, error) {
	end, _ := g.config.Renderer.EndOfTurn()
	if !slices.Contains(o.Sampling.StopTokens, end) {
		o.Sampling.StopTokens = append(slices.Clone(o.Sampling.StopTokens), end)
	}
	if err := o.Sampling.Validate(g.config.Generator.Capabilities().Vocab); err != nil {
		return nil, fmt.Errorf("gateway: opening a session: %w", err)
	}
	return &Session{
		gateway: g,
		options: o,
		name:    fmt.Sprintf("group %d sample %d attempt %d", o.Group, o.Sample, o.Attempt),
	}, nil
}

// Counts are what all sessions have seen. A run that offers tools and never parses a call is reading the wrong syntax.
type Counts struct {
	Turns     int64 // replies of the policy
	Offered   int64 // of these, with tools on offer
	Calls     int64 // tool calls parsed
	Malformed int64 // what looked like a call and was none; kept as text
	Unclosed  int64 // turns that ended while still reasoning
	Masked    int64 // control strings in text from outside, which stayed text
	Rewrites  int64 // bridges where the template alone would have shown earlier turns differently
	Segments  int64 // new segments behind the first of their rollout
}

type counters struct {
	turns, offered, calls, malformed, unclosed, masked, rewrites, segments atomic.Int64
}

// Counts returns the counters as they are now.
func (g *Gateway) Counts() Counts {
	c := &g.counters
	return Counts{
		Turns: c.turns.Load(), Offered: c.offered.Load(), Calls: c.calls.Load(), Malformed: c.malformed.Load(),
		Unclosed: c.unclosed.Load(), Masked: c.masked.Load(), Rewrites: c.rewrites.Load(), Segments: c.segments.Load(),
	}
}
