// Checks of what crosses the contracts: adapters call them on arrival, so that a mistake is named once, the same everywhere.

package engine

import (
	"fmt"
	"math"

	"molt/traj"
)

// Exact reports whether the generator's log-probs are the learner's, bit for bit, at equal weights.
func Exact(g Capabilities, l LearnerCapabilities) bool {
	return g.Deterministic && g.Numerics != "" && g.Numerics == l.Numerics
}

// Validate reports what is wrong with the request for an engine with these capabilities.
func (r *Request) Validate(c Capabilities) error {
	if len(r.Prompt) == 0 {
		return fmt.Errorf("engine: request %q has an empty prompt", r.Tag)
	}
	for i, id := range r.Prompt {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("engine: request %q: prompt id %d at %d is outside the vocabulary of %d", r.Tag, id, i, c.Vocab)
		}
	}
	if err := r.Sampling.Validate(c.Vocab); err != nil {
		return fmt.Errorf("engine: request %q: %w", r.Tag, err)
	}
	if r.Sampling.Shapes() && !c.Shapes || r.Sampling.Top > c.Top {
		return fmt.Errorf("engine: request %q asks for a bias, a penalty, a least number of tokens or alternatives that %s cannot give", r.Tag, c.Name)
	}
	if r.Earlier < 0 || r.Earlier > len(r.Prompt) {
		return fmt.Errorf("engine: request %q: %d of %d prompt ids were sampled before", r.Tag, r.Earlier, len(r.Prompt))
	}
	if r.Constrain != nil && !c.Constrained {
		return fmt.Errorf("engine: request %q constrains its reply, and %s cannot", r.Tag, c.Name)
	}
	if len(r.Images) > 0 && !c.Images {
		return fmt.Errorf("engine: request %q shows %d images, and %s reads text only", r.Tag, len(r.Images), c.Name)
	}
	if err := traj.ValidateImages(r.Images, len(r.Prompt)); err != nil {
		return fmt.Errorf("engine: request %q: %w", r.Tag, err)
	}
	if len(r.Prompt)+1 > c.MaxTokens {
		return fmt.Errorf("engine: request %q: prompt of %d tokens leaves no room in %d: %w", r.Tag, len(r.Prompt), c.MaxTokens, ErrTooLong)
	}
	return nil
}

// Validate reports the first setting that means nothing.
func (s *Sampling) Validate(vocab int) error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(float64(s.Temperature), 0):
		return fmt.Errorf("temperature %v; want a finite number >= 0", s.Temperature)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top_p %v; want 0 to 1", s.TopP)
	case s.TopK < 0:
		return fmt.Errorf("top_k %d; want 0 (off) or more", s.TopK)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("min_p %v; want 0 to 1", s.MinP)
	case s.MaxTokens < 1:
		return fmt.Errorf("max_tokens %d; want at least 1", s.MaxTokens)
	}
	if err := s.validateShape(vocab); err != nil {
		return err
	}
	for _, id := range s.StopTokens {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("stop token %d is outside the vocabulary of %d", id, vocab)
		}
	}
	for i, seq := range s.StopSequences {
		if len(seq) == 0 {
			return fmt.Errorf("stop sequence %d is empty", i)
		}
	}
	return nil
}

func (s *Sampling) validateShape(vocab int) error {
	finite := func(x float32) bool { return math.Abs(float64(x)) <= maxShape }
	switch {
	case !finite(s.FrequencyPenalty):
		return fmt.Errorf("frequency_penalty %v; want a number of at most %v", s.FrequencyPenalty, maxShape)
	case !finite(s.PresencePenalty):
		return fmt.Errorf("presence_penalty %v; want a number of at most %v", s.PresencePenalty, maxShape)
	case s.RepetitionPenalty != 0 && !(s.RepetitionPenalty >= 1/float32(maxShape) && finite(s.RepetitionPenalty)):
		return fmt.Errorf("repetition_penalty %v; want a number above 0", s.RepetitionPenalty)
	case s.MinTokens < 0:
		return fmt.Errorf("min_tokens %d; want 0 or more", s.MinTokens)
	case s.Top < 0:
		return fmt.Errorf("%d alternatives; want 0 or more", s.Top)
	}
	for _, b := range s.Bias {
		if b.ID < 0 || int(b.ID) >= vocab || !finite(b.Value) {
			return fmt.Errorf("a bias of %v for id %d; want an id of the vocabulary of %d and a number of at most %v", b.Value, b.ID, vocab, maxShape)
		}
	}
	return nil
}

// maxShape bounds what is added to a logit.
const maxShape = 1000.0

// Validate reports the first broken rule of the batch.
func (b *Batch) Validate(vocab, maxTokens int) error {
	if err := b.validateStarts(maxTokens); err != nil {
		return err
	}
	for i, id := range b.Tokens {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("engine: batch token %d at %d is outside the vocabulary of %d", id, i, vocab)
		}
	}
	return b.validateScore()
}

func (b *Batch) validateStarts(maxTokens int) error {
	n := len(b.Starts)
	if n < 2 || b.Starts[0] != 0 || int(b.Starts[n-1]) != len(b.Tokens) {
		return fmt.Errorf("engine: batch starts %v do not cover its %d tokens", b.Starts, len(b.Tokens))
	}
	for i := 1; i < n; i++ {
		length := int(b.Starts[i]) - int(b.Starts[i-1])
		if length < 2 {
			return fmt.Errorf("engine: batch sequence %d has %d tokens; one that predicts nothing does not belong in a batch", i-1, length)
		}
		if length > maxTokens {
			return fmt.Errorf("engine: batch sequence %d has %d tokens, more than %d: %w", i-1, length, maxTokens, ErrTooLong)
		}
	}
	return nil
}

func (b *Batch) validateScore() error {
	if b.Temperature != nil && len(b.Temperature) != len(b.Score) {
		return fmt.Errorf("engine: batch scores %d tokens with %d temperatures", len(b.Score), len(b.Temperature))
	}
	last, seq := int32(-1), 0
	for i, t := range b.Score {
		if t <= last || int(t) >= len(b.Tokens) {
			return fmt.Errorf("engine: batch score index %d at %d is not ascending inside the batch", t, i)
		}
		for b.Starts[seq+1] <= t {
			seq++
		}
		if t == b.Starts[seq] {
			return fmt.Errorf("engine: batch scores token %d, the first of its sequence, which has no prefix", t)
		}
		if b.Temperature != nil && !(b.Temperature[i] > 0 && !math.IsInf(float64(b.Temperature[i]), 0)) {
			return fmt.Errorf("engine: batch temperature %v at %d; want a finite number > 0", b.Temperature[i], i)
		}
		last = t
	}
	return nil
}
