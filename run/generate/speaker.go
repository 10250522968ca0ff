// Talking to a model: what to sample, the open model, one reply at a time. conversation.go holds conversations,
// play.go plays an environment.

package generate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"molt/chat"
	"molt/engine"
	"molt/engine/local"
	"molt/numeric/model"
	"molt/run/machine"
	"molt/run/models"
	"molt/run/problem"
	"molt/traj"
)

// Config says who speaks and how replies are sampled. The names of the flags are those of molt generate.
type Config struct {
	Model       string // Hugging Face folder
	Adapter     string // PEFT folder of an adapter on the model; "" for none
	System      string // first message of every conversation; "" for none
	Raw         bool   // complete the prompt as it stands, without a chat template
	World       *World // answers the model; nil leaves its calls unanswered
	MaxTokens   int    // most tokens of a reply
	Temperature float64
	TopP        float64
	TopK        int
	MinP        float64
	Seed        uint64
	Samples     int      // replies to each prompt
	Stop        []string // texts that end a reply; they are cut off
	Threads     int      // 0 takes all cores
	Running     int      // replies that are sampled together
}

// Defaults samples from the whole distribution, as training does.
func Defaults() Config {
	return Config{MaxTokens: 512, Temperature: 1, TopP: 1, Samples: 1, Running: 64}
}

// Validate reports everything that is wrong, by flag.
func (c *Config) Validate() error {
	var problems []error
	want := func(ok bool, flag string, value any, wanted string) {
		if !ok {
			problems = append(problems, &problem.Problem{Code: problem.Setting, What: fmt.Sprintf("%s is %v", flag, value), Fix: "give it " + wanted})
		}
	}
	want(c.MaxTokens >= 1, "--max-tokens", c.MaxTokens, "a number of tokens, 1 or more")
	want(c.Temperature == 0 || c.Temperature >= 1e-4 && c.Temperature <= 1e4, "--temperature", c.Temperature, "0 (the likeliest token), or 0.0001 to 10000")
	want(c.TopP > 0 && c.TopP <= 1, "--top-p", c.TopP, "a probability above 0, at most 1")
	want(c.TopK >= 0, "--top-k", c.TopK, "a number of tokens, or 0 to keep all")
	want(c.MinP >= 0 && c.MinP < 1, "--min-p", c.MinP, "a share of at least 0, below 1")
	want(c.Samples >= 1, "--n", c.Samples, "a number of replies, 1 or more")
	want(c.Threads >= 0 && c.Threads <= 1024, "--threads", c.Threads, "1 to 1024, or 0 for all cores")
	for _, s := range c.Stop {
		want(s != "", "--stop", `""`, "a text that is not empty")
	}
	clash := func(bad bool, what, fix string) {
		if bad {
			problems = append(problems, &problem.Problem{Code: problem.Combined, What: what, Fix: fix})
		}
	}
	clash(c.Raw && c.System != "", "--system has no effect with --raw", "write it into the prompt, or leave --raw out")
	clash(c.Raw && c.World != nil, "--agent has no effect with --raw", "leave one of them out")
	clash(c.World != nil && c.System != "", "--system has no effect with --agent", "leave it out: the environment writes the conversation")
	clash(c.Temperature == 0 && c.Samples > 1, "--n asks for several replies and --temperature 0 makes them all the same", "raise the temperature, or leave --n out")
	return errors.Join(problems...)
}

// Speaker is an open model that replies. It is safe for concurrent use.
type Speaker struct {
	Notes []string // what the user should know before the first reply

	config    Config
	model     *models.Model
	generator engine.Generator
	maxTokens int // of a whole conversation
}

// Open opens the model. The caller closes the speaker.
func Open(c Config) (*Speaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := models.PointToModel(c.Model); err != nil {
		return nil, err
	}
	m, err := models.Open(c.Model)
	if err != nil {
		return nil, err
	}
	if err := m.Adapt(c.Adapter); err != nil {
		return nil, err
	}
	m.Weights.Version = traj.Version(m.Steps)
	s := &Speaker{config: c, model: m}
	if err := s.chooseMode(); err != nil {
		return nil, err
	}
	s.suggestions()
	return s, s.start()
}

// chooseMode falls back to completion for a model without a chat template, and says so.
func (s *Speaker) chooseMode() error {
	c := &s.config
	if s.model.Renderer == nil && c.System == "" && c.World == nil {
		if !c.Raw {
			s.Notes = append(s.Notes, "the model has no chat template: it goes on with the text of the prompt, as with --raw")
		}
		c.Raw = true
	}
	if c.Raw {
		return nil
	}
	return s.model.NeedTemplate()
}

// longestCache bounds the KV cache of one conversation, in bytes.
func longestCache() int64 {
	const most = 4 << 30
	if have := machine.Memory(); have > 0 {
		return min(most, have/4)
	}
	return most
}

// start makes the generator, for as long conversations as a sensible cache holds.
func (s *Speaker) start() error {
	shape, c := s.model.Shape, local.Default()
	if pages := int(longestCache() / model.KVBytes(shape, 1)); pages*model.PageTokens < shape.MaxPositions {
		s.Notes = append(s.Notes, fmt.Sprintf("conversations end after %d tokens: the model's %d would need a cache of %d GiB",
			pages*model.PageTokens, shape.MaxPositions, model.KVBytes(shape, shape.MaxPositions/model.PageTokens+1)>>30))
		shape.MaxPositions = pages * model.PageTokens
	}
	c.Threads, c.Running, c.Copied = s.config.Threads, s.config.Running, s.model.Release
	g, err := local.NewGenerator(shape, s.model.Weights, c)
	if err != nil {
		return &problem.Problem{Code: problem.Model, Where: s.model.Path, What: err.Error(), Fix: "choose another model", Err: err}
	}
	s.generator, s.maxTokens = g, shape.MaxPositions
	return nil
}

// Close frees the model.
func (s *Speaker) Close() error { return s.generator.Close() }

// MaxTokens is the longest conversation, in tokens.
func (s *Speaker) MaxTokens() int { return s.maxTokens }

// Chats reports whether the speaker holds conversations; it completes text otherwise.
func (s *Speaker) Chats() bool { return !s.config.Raw }

// Said is one reply of the model.
type Said struct {
	Prompt      int64         `json:"prompt"`            // ordinal of the prompt, from 1
	Sample      int           `json:"sample"`            // of the replies to it, from 0
	Turn        int           `json:"turn"`              // of the conversation, from 0
	Text        string        `json:"text"`              // without control tokens, cut before a stop text
	Message     *chat.Message `json:"message,omitempty"` // what was sampled, read as a message: content, reasoning, tool calls; nil without a template
	Finish      string        `json:"finish"`            // "stop", "length", or "abort" when the user stopped it
	IDs         []int32       `json:"ids"`               // exactly as sampled
	Logp        []float32     `json:"logp"`              // of each id, nats, of the whole distribution at the temperature
	Version     int64         `json:"version"`           // of the weights
	Fingerprint string        `json:"fingerprint"`       // of the weights
	PromptIDs   []int32       `json:"prompt_ids"`        // everything that the model saw
}

// Reply answers one prompt with no history. The ordinal and the sample choose the random numbers. show, if not nil, is
// called with pieces of the text as they become certain.
func (s *Speaker) Reply(ctx context.Context, ordinal int64, sample int, prompt string, show func(string)) (Said, error) {
	if s.config.Raw {
		return s.complete(ctx, ordinal, sample, prompt, show)
	}
	return s.Converse(ordinal, sample).Say(ctx, prompt, show)
}

// complete goes on with a text. Control tokens in it are meant: who completes text writes the template by hand.
func (s *Speaker) complete(ctx context.Context, ordinal int64, sample int, prompt string, show func(string)) (Said, error) {
	ids := s.model.Tok.Frame(s.model.Tok.EncodeSpecial(prompt))
	if len(ids) == 0 {
		return Said{}, &problem.Problem{Code: problem.Data, What: "the prompt is empty", Fix: "write something"}
	}
	if err := s.fits(ids); err != nil {
		return Said{}, err
	}
	e := s.listen(show)
	key := engine.Key{Seed: s.config.Seed, Group: ordinal, Sample: int32(sample)}
	if _, err := e.Generate(ctx, engine.Request{Prompt: ids, Sampling: s.sampling(), Key: key}, nil); err != nil {
		return Said{}, fmt.Errorf("generate: generating: %w", err)
	}
	return e.said(ordinal, sample, 0), nil
}

// fits refuses a prompt that leaves no room for a reply.
func (s *Speaker) fits(ids []int32) error {
	if len(ids) < s.maxTokens {
		return nil
	}
	return &problem.Problem{Code: problem.Data, What: fmt.Sprintf("the prompt has %d tokens and a conversation at most %d, reply included", len(ids), s.maxTokens), Fix: "shorten it"}
}

func (s *Speaker) sampling() engine.Sampling {
	c := s.config
	return engine.Sampling{
		Temperature: float32(c.Temperature), TopP: float32(c.TopP), TopK: c.TopK, MinP: float32(c.MinP),
		MaxTokens: min(c.MaxTokens, s.maxTokens), StopTokens: s.model.Stops(),
	}
}

// suggestions notes the sampling settings that came with the model. They are never applied: numbers that nobody asked for
// would change what is seen.
func (s *Speaker) suggestions() {
	given := models.ReadSuggestions(filepath.Join(s.model.Path, "generation_config.json"))
	if len(given) == 0 {
		return
	}
	s.Notes = append(s.Notes, "generation_config.json suggests "+strings.Join(given, " ")+"; not applied unless you give it")
}
