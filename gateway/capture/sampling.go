// What a request asks of sampling, against what the run says.

package capture

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"molt/engine"
	"molt/gateway/wire"
)

// sampling returns the settings of a request's turns, given the run's. A setting other than the run's is honoured, refused or counted, as the
// policy says; it never goes unnoticed. untrained names the setting for which the turns do not train, "" when they do:
// log-probs are those of the policy at the sampling temperature, whatever else ids were drawn by.
func (g *Gateway) sampling(run engine.Sampling, o *wire.Options) (s engine.Sampling, untrained string, problem *wire.Problem) {
	s = asks(run, o)
	param, value := differs(s, run)
	switch {
	case param == "":
		s = run
	case g.config.Policy == Refuse:
		return s, "", wire.Badf(param, "is %v, and this run samples with its own settings only; leave it out", value)
	case g.config.Policy == Keep:
		s = run
		g.counts.add(func(c *Counts) { c.Overridden++ })
	default:
		untrained = biased(s, run)
	}
	if p := g.able(s, o); p != nil {
		return s, "", p
	}
	s.Top = o.Top
	if o.MaxTokens > 0 {
		s.MaxTokens = min(s.MaxTokens, o.MaxTokens)
	}
	if o.IgnoreEnd {
		s.StopTokens = nil
	}
	s.StopTokens = slices.Concat(s.StopTokens, o.StopTokens)
	return s, untrained, nil
}

// asks is the run's settings with a request's in their place.
func asks(run engine.Sampling, o *wire.Options) engine.Sampling {
	s := run
	set := func(to *float32, from *float64) {
		if from != nil {
			*to = float32(*from)
		}
	}
	set(&s.Temperature, o.Temperature)
	set(&s.TopP, o.TopP)
	set(&s.MinP, o.MinP)
	set(&s.FrequencyPenalty, o.Frequency)
	set(&s.PresencePenalty, o.Presence)
	set(&s.RepetitionPenalty, o.Repetition)
	if o.TopK != nil {
		s.TopK = *o.TopK
	}
	if o.MinTokens > 0 {
		s.MinTokens = o.MinTokens
	}
	s.Bias = slices.Clip(s.Bias) // the run's is not for one request to write behind
	for _, b := range o.Bias {
		s.Bias = append(s.Bias, engine.Bias(b))
	}
	return s
}

// able refuses what the engine cannot do, and ids that it does not know.
func (g *Gateway) able(s engine.Sampling, o *wire.Options) *wire.Problem {
	c := g.config.Generator.Capabilities()
	for _, b := range o.Bias {
		if int(b.ID) >= c.Vocab {
			return wire.Badf("logit_bias", "names id %d, outside the vocabulary of %d", b.ID, c.Vocab)
		}
	}
	for _, id := range o.StopTokens {
		if int(id) >= c.Vocab {
			return wire.Badf("stop_token_ids", "holds id %d, outside the vocabulary of %d", id, c.Vocab)
		}
	}
	if param, _ := shapes(s, engine.Sampling{}); param != "" && !c.Shapes {
		return wire.Badf(param, "is set, which the engine cannot sample with; leave it out")
	}
	if o.Top > c.Top {
		return wire.Badf("top_logprobs", "is %d; the engine reports at most %d", o.Top, c.Top)
	}
	return nil
}

// differs names the first setting that changes what is sampled. A top_p of 0 and of 1 are the same.
func differs(s, run engine.Sampling) (param string, value any) {
	if s.Temperature != run.Temperature {
		return "temperature", s.Temperature
	}
	if param, value = narrows(s, run); param != "" {
		return param, value
	}
	return shapes(s, run)
}

// biased names the setting that makes turns no free sample of the policy. Another temperature is none: the learner scores
// a turn at its own. At 0 nothing is sampled.
func biased(s, run engine.Sampling) string {
	if s.Temperature == 0 && run.Temperature != 0 {
		return "temperature 0"
	}
	param, _ := narrows(s, run)
	if param == "" {
		param, _ = shapes(s, run)
	}
	return param
}

// narrows names the filter that is another than the run's.
func narrows(s, run engine.Sampling) (param string, value any) {
	all := func(p float32) bool { return p == 0 || p == 1 }
	switch {
	case s.TopP != run.TopP && !(all(s.TopP) && all(run.TopP)):
		return "top_p", s.TopP
	case s.TopK != run.TopK:
		return "top_k", s.TopK
	case s.MinP != run.MinP:
		return "min_p", s.MinP
	}
	return "", nil
}

// shapes names the first setting that changes logits otherwise than the run does. A repetition_penalty of 0 and of 1 are the
// same.
func shapes(s, run engine.Sampling) (param string, value any) {
	neutral := func(x float32) float32 { return cmp.Or(x, 1) }
	switch {
	case !slices.Equal(s.Bias, run.Bias):
		return "logit_bias", "set"
	case s.FrequencyPenalty != run.FrequencyPenalty:
		return "frequency_penalty", s.FrequencyPenalty
	case s.PresencePenalty != run.PresencePenalty:
		return "presence_penalty", s.PresencePenalty
	case neutral(s.RepetitionPenalty) != neutral(run.RepetitionPenalty):
		return "repetition_penalty", s.RepetitionPenalty
	case s.MinTokens != run.MinTokens:
		return "min_tokens", s.MinTokens
	}
	return "", nil
}

// asked spells everything that makes two requests for the same conversation different.
func asked(s engine.Sampling, r *wire.Request) string {
	o := &r.Options
	seed := "run"
	if o.Seed != nil {
		seed = fmt.Sprint(*o.Seed)
	}
	text := fmt.Sprintf("temperature %v top_p %v top_k %d min_p %v max_tokens %d seed %s stop %q choose %d %q single %v format %q %s",
		s.Temperature, s.TopP, s.TopK, s.MinP, s.MaxTokens, seed, o.Stop, o.Choose.Mode, o.Choose.Only, o.Single, o.Format.Param, digest(o.Format.Schema))
	if s.Shapes() {
		text += fmt.Sprintf(" bias %v frequency_penalty %v presence_penalty %v repetition_penalty %v min_tokens %d", s.Bias, s.FrequencyPenalty, s.PresencePenalty, s.RepetitionPenalty, s.MinTokens)
	}
	if r.Names.Strict() {
		text += fmt.Sprintf(" strict %q", slices.Sorted(strict(r.Names)))
	}
	if o.Top > 0 {
		text += fmt.Sprintf(" top_logprobs %d", o.Top)
	}
	if len(o.StopTokens) > 0 || o.IgnoreEnd {
		text += fmt.Sprintf(" stop_token_ids %v ignore_eos %v", o.StopTokens, o.IgnoreEnd)
	}
	return text
}

// strict are the tools whose arguments must follow their schemas.
func strict(names wire.Names) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, t := range names {
			if t.Strict && !yield(name) {
				return
			}
		}
	}
}

// digest names a schema, "" for none.
func digest(schema []byte) string {
	if schema == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(schema))
}
