// The optimizer's settings in the words of the engine, for a policy, a critic and supervised fine-tuning alike.

package leg

import (
	"strings"

	"molt/engine/local"
	"molt/numeric/model"
	"molt/numeric/optim"
	"molt/run/problem"
	"molt/run/recipe"
)

// Optimizer is how the engine steps. Rates that cannot be read are left out: unread refuses them.
func Optimizer(c recipe.OptimConfig) optim.Config {
	o := optim.Config{
		Name:   c.Optim,
		Adam:   optim.Adam{Beta1: c.Adam.Betas[0], Beta2: c.Adam.Betas[1], Eps: c.Adam.Eps, Decay: c.Adam.WeightDecay, BF16: c.Adam.BF16},
		Muon:   optim.Muon{Momentum: c.Muon.Momentum, Nesterov: c.Muon.Nesterov, Decay: c.Muon.WeightDecay, AdamShare: c.Adam.LR / c.Muon.LR},
		Freeze: c.Freeze,
	}
	if c.Muon.WeightDecay < 0 {
		o.Muon.Decay = c.Adam.WeightDecay
	}
	rates, _ := c.Rates()
	for _, r := range rates {
		o.Rates = append(o.Rates, optim.Rate{Pattern: r.Pattern, Scale: r.Factor})
	}
	return o
}

// Schedule is the learning rate over so many optimizer steps: Muon's where it was chosen; AdamW's goes along with it.
func Schedule(c recipe.OptimConfig, updates int64) local.Schedule {
	s := local.Schedule{Kind: c.Scheduler, LR: c.Adam.LR, Warmup: int64(c.WarmupSteps), Steps: updates, MinRatio: c.MinLRRatio, Decay: c.DecayRatio}
	if c.Optim == "muon" {
		s.LR = c.Muon.LR
	}
	return s
}

// Usable checks the engine's configuration against a model, and says in the user's names what is wrong with it.
func Usable(section string, engine local.Config, shape model.Config) error {
	err := engine.Validate(shape)
	if err == nil {
		return nil
	}
	what, where := err.Error(), ""
	for field, setting := range map[string]string{"optim: Freeze": section + "freeze_params", "optim: Rates": section + "lr_scale", "LoRA.Targets": section + "lora.target_modules", "LoRA.Rank": section + "lora.rank"} {
		if strings.Contains(what, field) {
			what, where = strings.ReplaceAll(what, field, setting), setting
		}
	}
	return &problem.Problem{Code: problem.Setting, Where: where, What: what, Fix: "mend the setting", Err: err}
}
