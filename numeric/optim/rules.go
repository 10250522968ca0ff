// Which parameter steps how. The classes are the original Molt's: Muon takes matrices; norms, biases, embeddings and heads
// keep AdamW, since a row of an embedding or a head belongs to one token and is no part of a map between vectors. Ours
// differs in two points. A value head stays with AdamW too: there its one row is made orthogonal, which only normalises
// it. And AdamW's decay means the same with both optimizers, every matrix that AdamW steps: there, under Muon, norms and
// biases decay, embeddings and heads do not.

package optim

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
)

// Param is one tensor under training. The optimizer reads Grad and writes Data.
type Param struct {
	Name       string // as in Hugging Face checkpoints
	Shape      []int  // [n], or [out, in] of a matrix
	Decay      bool   // weight decay applies
	Data, Grad []float32
}

func (p Param) size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// rule is how a parameter steps.
type rule struct {
	method method
	rate   float64 // learning rate as a share of the step's
	decay  float64
}

type method int

const (
	frozen method = iota
	adamw
	muon
)

// rules decides for each parameter, and reports every pattern that is broken or in vain.
func (c Config) rules(params []Param) ([]rule, error) {
	freeze, rates := patterns{list: c.Freeze}, patterns{}
	for _, r := range c.Rates {
		rates.list = append(rates.list, r.Pattern)
	}
	rules := make([]rule, len(params))
	count := map[method]int{}
	for i, p := range params {
		if freeze.match(p.Name) < 0 {
			rules[i] = c.rule(p)
			if r := rates.match(p.Name); r >= 0 {
				rules[i].rate *= c.Rates[r].Scale
			}
		}
		count[rules[i].method]++
	}
	errs := append(freeze.check("Freeze", params), rates.check("Rates", params)...)
	if count[frozen] == len(params) {
		errs = append(errs, errors.New("optim: Freeze leaves nothing to train"))
	} else if c.Name == "muon" && count[muon] == 0 {
		errs = append(errs, errors.New("optim: Freeze leaves no matrix for Muon; use adam"))
	}
	return rules, errors.Join(errs...)
}

// rule classifies a parameter that is not frozen.
func (c Config) rule(p Param) rule {
	r := rule{method: adamw, rate: 1}
	if p.Decay {
		r.decay = c.Adam.Decay
	}
	if c.Name != "muon" {
		return r
	}
	switch {
	case strings.Contains(p.Name, "lm_head"):
		// The rule of Dion (Ahn et al. 2025, arXiv 2504.05295), which the original follows: the head's rate is Muon's.
		r.rate = 1 / math.Sqrt(float64(p.Shape[len(p.Shape)-1]))
	case len(p.Shape) != 2, strings.Contains(p.Name, "embed_tokens"), p.Name == "score.weight":
		r.rate = c.Muon.AdamShare
	default:
		r = rule{method: muon, rate: 1, decay: c.Muon.Decay}
	}
	return r
}

// patterns are globs over names, of which the first that matches counts.
type patterns struct {
	list []string
	used map[int]bool
}

// match is the index of the pattern that counts for name, -1 for none.
func (p *patterns) match(name string) int {
	for i, pattern := range p.list {
		if ok, _ := path.Match(pattern, name); ok {
			if p.used == nil {
				p.used = map[int]bool{}
			}
			p.used[i] = true
			return i
		}
	}
	return -1
}

// check reports patterns that counted for no parameter.
func (p *patterns) check(field string, params []Param) (errs []error) {
	for i, pattern := range p.list {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("optim: %s: %q is no pattern: use *, ? and [ranges]", field, pattern))
		} else if !p.used[i] {
			errs = append(errs, fmt.Errorf("optim: %s: %q decides about no parameter; names are like %s", field, pattern, params[len(params)/2].Name))
		}
	}
	return errs
}
