// What all sessions of a run share: the engine, the renderer, the budget, and counts.

package gateway

import (
	"errors"
	"fmt"
	"slices"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
	"molt/gateway/capture"
)

// Config says what sessions talk to.
type Config struct {
	Generator engine.Generator
	Renderer  *chat.Renderer
	Family    *parse.Family // of the model's replies
	// MaxTokens is the most tokens of one rollout, shown and sampled, over all its segments; at least 2. What is left
	// bounds every turn; when nothing is left, the rollout ends with chat.ErrBudget.
	MaxTokens int
}

// Gateway opens sessions. It is safe for concurrent use.
type Gateway struct {
	config  Config
	capture *capture.Gateway
}

// New checks that the parts fit together.
func New(c Config) (*Gateway, error) {
	inside := capture.Defaults()
	inside.Generator, inside.Renderer, inside.Family, inside.MaxTokens = c.Generator, c.Renderer, c.Family, c.MaxTokens
	inside.Linger, inside.Resume = 0, 0 // who asks is the only client, and a rollout that failed is tried again as a whole
	g, err := capture.New(inside)
	if c.MaxTokens < 2 {
		err = errors.Join(err, fmt.Errorf("gateway: MaxTokens %d; want at least 2", c.MaxTokens))
	}
	if c.Renderer != nil {
		if _, ok := c.Renderer.EndOfTurn(); !ok {
			err = errors.Join(err, fmt.Errorf("gateway: the chat template ends no turn with a control token: %w", chat.ErrNotLocal))
		}
	}
	if err != nil {
		return nil, err
	}
	return &Gateway{c, g}, nil
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
	s := &Session{gateway: g, lone: &capture.Lone{}}
	if err := s.resample(o.Sampling); err != nil {
		return nil, fmt.Errorf("gateway: opening a session: %w", err)
	}
	session, err := g.capture.Open(capture.Options{Seed: o.Seed, Group: o.Group, Sample: o.Sample, Attempt: o.Attempt, MaxTokens: o.MaxTokens, Lone: s.lone})
	if err != nil {
		return nil, fmt.Errorf("gateway: opening a session: %w", err)
	}
	s.session = session
	return s, nil
}

// resample says how the turns that follow are sampled.
func (s *Session) resample(to engine.Sampling) error {
	if end, _ := s.gateway.config.Renderer.EndOfTurn(); !slices.Contains(to.StopTokens, end) {
		to.StopTokens = append(slices.Clone(to.StopTokens), end)
	}
	if err := to.Validate(s.gateway.config.Generator.Capabilities().Vocab); err != nil {
		return err
	}
	s.lone.Sampling = to
	return nil
}

// Counts are what all sessions have seen.
func (g *Gateway) Counts() capture.Counts { return g.capture.Counts() }
