// What a request asks of sampling, against what the run says.

package capture

import (
	"crypto/sha256"
	"fmt"

	"molt/engine"
	"molt/gateway/wire"
)

// sampling returns the settings of a request's turns. A setting other than the run's is honoured, refused or counted, as the
// policy says; it never goes unnoticed.
func (g *Gateway) sampling(o *wire.Options) (engine.Sampling, *wire.Problem) {
	run := g.config.Sampling
	s := run
	if o.Temperature != nil {
		s.Temperature = float32(*o.Temperature)
	}
	if o.TopP != nil {
		s.TopP = float32(*o.TopP)
	}
	if o.TopK != nil {
		s.TopK = *o.TopK
	}
	if o.MinP != nil {
		s.MinP = float32(*o.MinP)
	}
	param, value := differs(s, run)
	switch {
	case param == "":
		s = run
	case g.config.Policy == Refuse:
		return s, wire.Badf(param, "is %v, and this run samples with its own settings only; leave it out", value)
	case g.config.Policy == Keep:
		s = run
		g.counts.add(func(c *Counts) { c.Overridden++ })
	}
	if o.MaxTokens > 0 {
		s.MaxTokens = min(s.MaxTokens, o.MaxTokens)
	}
	return s, nil
}

// differs names the first setting that changes what is sampled. A top_p of 0 and of 1 are the same.
func differs(s, run engine.Sampling) (param string, value any) {
	all := func(p float32) bool { return p == 0 || p == 1 }
	switch {
	case s.Temperature != run.Temperature:
		return "temperature", s.Temperature
	case s.TopP != run.TopP && !(all(s.TopP) && all(run.TopP)):
		return "top_p", s.TopP
	case s.TopK != run.TopK:
		return "top_k", s.TopK
	case s.MinP != run.MinP:
		return "min_p", s.MinP
	}
	return "", nil
}

// asked spells everything that makes two requests for the same conversation different.
func asked(s engine.Sampling, o *wire.Options) string {
	seed := "run"
	if o.Seed != nil {
		seed = fmt.Sprint(*o.Seed)
	}
	return fmt.Sprintf("temperature %v top_p %v top_k %d min_p %v max_tokens %d seed %s stop %q choose %d %s single %v format %q %s",
		s.Temperature, s.TopP, s.TopK, s.MinP, s.MaxTokens, seed, o.Stop, o.Choose.Mode, o.Choose.Name, o.Single, o.Format.Param, digest(o.Format.Schema))
}

// digest names a schema, "" for none.
func digest(schema []byte) string {
	if schema == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(schema))
}
