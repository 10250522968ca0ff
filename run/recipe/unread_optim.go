// What an optimizer's settings may not say.

package recipe

import (
	"fmt"
	"strconv"
	"strings"
)

// Unread refuses what has no effect or no meaning; section is "actor.", "critic." or "model.".
func (c OptimConfig) Unread(section string, refuse func(setting, why, fix string)) {
	usual := optimizer(0)
	choose := func(setting, choice string) {
		refuse(section+setting, "it has no effect: nothing but "+choice+" reads it", "choose that, or leave it out")
	}
	before := Settings(&usual.Muon)
	for i, s := range Settings(&c.Muon) {
		if c.Optim != "muon" && s.Text() != before[i].Text() {
			choose("muon."+s.Name, section+"optim muon")
		}
	}
	if c.Scheduler != "wsd" && c.DecayRatio != usual.DecayRatio {
		choose("lr_decay_ratio", section+"lr_scheduler wsd")
	}
	if c.Scheduler == "constant" && c.MinLRRatio != usual.MinLRRatio {
		choose("min_lr_ratio", "another "+section+"lr_scheduler than constant")
	}
	if c.Muon.NSSteps != usual.Muon.NSSteps {
		refuse(section+"muon.ns_steps", fmt.Sprintf("the coefficients of the iteration are made for %d of them", usual.Muon.NSSteps), "leave it out")
	}
	if c.Muon.WeightDecay < 0 && c.Muon.WeightDecay != usual.Muon.WeightDecay {
		refuse(section+"muon.weight_decay", fmt.Sprintf("%g means nothing", c.Muon.WeightDecay), "choose a decay between 0 and 1, or leave it out")
	}
	if _, err := c.Rates(); err != nil {
		refuse(section+"lr_scale", err.Error(), "write pattern=factor, such as model.embed_tokens.*=0.1")
	}
}

// LearningRate is a line of LRScale: the parameters whose names fit step with this factor.
type LearningRate struct {
	Pattern string
	Factor  float64
}

// Rates reads LRScale.
func (c OptimConfig) Rates() ([]LearningRate, error) {
	var rates []LearningRate
	for _, text := range c.LRScale {
		pattern, factor, _ := strings.Cut(text, "=")
		scale, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
		if err != nil || pattern == "" {
			return nil, fmt.Errorf("%q is no pattern with a factor", text)
		}
		rates = append(rates, LearningRate{strings.TrimSpace(pattern), scale})
	}
	return rates, nil
}
