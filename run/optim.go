// The optimizer's settings in the words of the engine, for a policy, a critic and supervised fine-tuning alike.

package run

import (
	"fmt"
	"strconv"
	"strings"

	"molt/engine/local"
	"molt/numeric/model"
	"molt/numeric/optim"
)

// unread refuses what has no effect or no meaning; section is "actor.", "critic." or "model.".
func (c OptimConfig) unread(section string, refuse func(setting, why, fix string)) {
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
	if _, err := c.rates(); err != nil {
		refuse(section+"lr_scale", err.Error(), "write pattern=factor, such as model.embed_tokens.*=0.1")
	}
}

// rates reads LRScale.
func (c OptimConfig) rates() ([]optim.Rate, error) {
	var rates []optim.Rate
	for _, text := range c.LRScale {
		pattern, factor, _ := strings.Cut(text, "=")
		scale, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
		if err != nil || pattern == "" {
			return nil, fmt.Errorf("%q is no pattern with a factor", text)
		}
		rates = append(rates, optim.Rate{Pattern: strings.TrimSpace(pattern), Scale: scale})
	}
	return rates, nil
}

// optimizer is how the engine steps. Rates that cannot be read are left out: unread refuses them.
func (c OptimConfig) optimizer() optim.Config {
	o := optim.Config{
		Name:   c.Optim,
		Adam:   optim.Adam{Beta1: c.Adam.Betas[0], Beta2: c.Adam.Betas[1], Eps: c.Adam.Eps, Decay: c.Adam.WeightDecay},
		Muon:   optim.Muon{Momentum: c.Muon.Momentum, Nesterov: c.Muon.Nesterov, Decay: c.Muon.WeightDecay, AdamShare: c.Adam.LR / c.Muon.LR},
		Freeze: c.Freeze,
	}
	if c.Muon.WeightDecay < 0 {
		o.Muon.Decay = c.Adam.WeightDecay
	}
	o.Rates, _ = c.rates()
	return o
}

// schedule is the learning rate over so many optimizer steps: Muon's where it was chosen; AdamW's goes along with it.
func (c OptimConfig) schedule(updates int64) local.Schedule {
	s := local.Schedule{Kind: c.Scheduler, LR: c.Adam.LR, Warmup: int64(c.WarmupSteps), Steps: updates, MinRatio: c.MinLRRatio, Decay: c.DecayRatio}
	if c.Optim == "muon" {
		s.LR = c.Muon.LR
	}
	return s
}

// usable checks the engine's configuration against a model, and says in the user's names what is wrong with it.
func usable(section string, engine local.Config, shape model.Config) error {
	err := engine.Validate(shape)
	if err == nil {
		return nil
	}
	what, where := err.Error(), ""
	for field, setting := range map[string]string{"optim: Freeze": section + "freeze_params", "optim: Rates": section + "lr_scale"} {
		if strings.Contains(what, field) {
			what, where = strings.ReplaceAll(what, field, setting), setting
		}
	}
	return &Problem{Code: CodeSetting, Where: where, What: what, Fix: "mend the setting", Err: err}
}
