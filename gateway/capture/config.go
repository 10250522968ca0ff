// What a gateway is made of.

package capture

import (
	"errors"
	"fmt"
	"time"

	"molt/chat"
	"molt/chat/parse"
	"molt/engine"
)

// Mode says what becomes of a turn when the template would show it differently later.
type Mode string

const (
	Append   Mode = "append"   // it stays as it was sampled: one long segment
	Faithful Mode = "faithful" // the template's own rendering is shown, in a new segment
)

// Policy says what becomes of a request that asks for other sampling than the run's.
type Policy string

const (
	Honour Policy = "honour" // it is sampled as it asks; its turn says so
	Refuse Policy = "refuse" // it is an error
	Keep   Policy = "keep"   // it is sampled as the run says, and counted
)

// Config says what sessions talk to, and how.
type Config struct {
	Generator engine.Generator
	Renderer  *chat.Renderer
	Family    *parse.Family
	Model     string // the name that replies carry; "" repeats the request's
	Mode      Mode
	Policy    Policy
	// Sampling is the run's. MaxTokens bounds one turn; the end of a turn is always among the stops.
	Sampling engine.Sampling
	// MaxTokens is the most tokens of one session, shown and sampled, over all its segments; 0 sets no bound.
	MaxTokens int
	// Linger is how long a turn is sampled on without a client, who may come back for it. Default 2 s.
	Linger time.Duration
	// Resume is how often a turn goes on from what was sampled when its engine becomes unavailable in the middle. Clients take
	// a stream that breaks for the end of their run. Default 3; before the first token, clients try again themselves.
	Resume int
	// Parallel is the most turns of one session that are sampled at once. Default 256.
	Parallel int
	// Sessions is the most that are open at once. Default 10,000.
	Sessions int
	// Memory is the most bytes that all sessions keep: messages, images, ids, log-probs. What would be more is refused, and may be asked
	// again when sessions have ended. Default 4 GiB.
	Memory int64
	// Life is how long a session lasts. Default 24 h.
	Life time.Duration
	// Folder holds a journal of each session, from which New restores it; "" keeps sessions in memory only.
	Folder string
}

// Defaults fills in what only has one sensible value.
func Defaults() Config {
	return Config{Mode: Append, Policy: Honour, Sampling: engine.Sampling{Temperature: 1, MaxTokens: 4096}, Linger: 2 * time.Second,
		Resume: 3, Parallel: 256, Sessions: 10_000, Memory: 4 << 30, Life: 24 * time.Hour}
}

func (c *Config) validate() error {
	if c.Generator == nil || c.Renderer == nil || c.Family == nil {
		return errors.New("capture: a gateway needs a generator, a renderer and a parser")
	}
	var problems []error
	if c.Mode != Append && c.Mode != Faithful {
		problems = append(problems, fmt.Errorf("capture: mode %q; want append or faithful", c.Mode))
	}
	if c.Policy != Honour && c.Policy != Refuse && c.Policy != Keep {
		problems = append(problems, fmt.Errorf("capture: policy %q; want honour, refuse or keep", c.Policy))
	}
	if c.MaxTokens < 0 || c.Linger < 0 || c.Resume < 0 || c.Parallel < 1 || c.Sessions < 1 || c.Memory < 1 || c.Life <= 0 {
		problems = append(problems, fmt.Errorf("capture: MaxTokens %d, Linger %v, Resume %d; want 0 or more; Parallel %d, Sessions %d, Memory %d, Life %v; want more than 0",
			c.MaxTokens, c.Linger, c.Resume, c.Parallel, c.Sessions, c.Memory, c.Life))
	}
	vocab := c.Generator.Capabilities().Vocab
	if own := c.Renderer.Tokenizer().VocabSize(); own > vocab {
		problems = append(problems, fmt.Errorf("capture: the tokenizer has %d ids and the model %d; they do not belong together", own, vocab))
	}
	if err := c.Sampling.Validate(vocab); err != nil {
		problems = append(problems, fmt.Errorf("capture: %w", err))
	}
	return errors.Join(problems...)
}

// pause is how long an engine that became unavailable is left alone, times the number of the attempt.
func (c *Config) pause() time.Duration { return min(c.Linger, 500*time.Millisecond) }
