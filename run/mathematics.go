// The settings in the words of algo, and back: what algo refuses is told in the user's names.

package run

import (
	"regexp"

	"molt/algo"
)

// mathematics translates the settings into algo's words.
func (p *rlPlan) mathematics() {
	a, r, l, actor, kl := &p.cfg.Algo, &p.cfg.Reward, &p.cfg.Reward.Length, &p.cfg.Actor, &p.cfg.Algo.KL
	p.algo = algo.Config{
		RewardLow: r.ClipRange[0], RewardHigh: r.ClipRange[1],
		Reward: algo.RewardConfig{Scale: r.Scale, Normalise: r.Normalise, Length: algo.LengthConfig{
			Shape: l.Shape, Max: l.Max, Buffer: l.Buffer, Factor: l.Factor, Solved: l.Solved,
			CorrectShort: l.Correct[0], CorrectLong: l.Correct[1], WrongShort: l.Wrong[0], WrongLong: l.Wrong[1],
		}},
		Advantage: algo.AdvantageConfig{
			Estimator: a.Advantage.Estimator, Gamma: a.Advantage.Gamma, Lambda: a.Advantage.Lambda,
			Turns: a.Advantage.Turns, TurnGamma: a.Advantage.TurnGamma, K: a.Advantage.K, NoWhiten: a.Advantage.NoWhiten,
		},
		Correction: algo.CorrectionConfig{Level: a.Advantage.Level, Mode: a.Advantage.Mode, Low: a.Advantage.Threshold[0], High: a.Advantage.Threshold[1]},
		Lag:        algo.LagConfig{Decay: a.Lag.Decay},
		Loss: algo.LossConfig{
			Name: actor.LossMode, ClipLow: actor.Clip[0], ClipHigh: actor.Clip[1], DualClip: actor.DualClip, Ceiling: actor.Ceiling,
			TauPositive: actor.Tau[0], TauNegative: actor.Tau[1], Proximal: actor.Proximal, Aggregation: actor.Aggregation, MaxTokens: actor.MaxTokens,
		},
		KL:          algo.KLConfig{Estimator: kl.Estimator, Coef: kl.Coef, AsLoss: kl.UseLoss, Target: kl.Target, Horizon: float64(kl.Horizon)},
		EntropyCoef: actor.Entropy,
		Value:       algo.ValueConfig{Clip: p.cfg.Critic.Clip, Coef: p.cfg.Critic.Coef},
		Filter:      algo.FilterConfig{MinGraded: a.MinGraded, Dynamic: a.Filter, Low: a.Range[0], High: a.Range[1]},
	}
	if p.cfg.Train.Mode == "one_step_ahead" {
		p.lag = 1
	}
}

// facts is what the rest of the run decides. Lag counts optimizer steps: a batch that is one published version behind is
// older by all updates of the batch between.
func (p *rlPlan) facts() algo.Facts {
	c := p.cfg.Rollout
	return algo.Facts{
		N: c.Samples, MaxLag: int64(p.lag * p.updatesPerBatch()), Temperature: c.Temperature, TopP: c.TopP, MinP: c.MinP, TopK: c.TopK,
		Reference: p.cfg.Compares(), Critic: p.cfg.Criticises(),
	}
}

// settingNames gives the user's name of each field of algo that is called otherwise. The others have one name.
var settingNames = map[string]string{
	"reward.low": "reward.clip_range", "reward.high": "reward.clip_range",
	"reward.length.correct_short": "reward.length.correct", "reward.length.correct_long": "reward.length.correct",
	"reward.length.wrong_short": "reward.length.wrong", "reward.length.wrong_long": "reward.length.wrong",

	"advantage.estimator": "algo.advantage.estimator", "advantage.gamma": "algo.advantage.gamma", "advantage.lambda": "algo.advantage.lam",
	"advantage.turns": "algo.advantage.turns", "advantage.turn_gamma": "algo.advantage.turn_gamma", "advantage.no_whiten": "algo.advantage.no_whiten", "advantage.k": "algo.advantage.k",
	"correction.level": "algo.advantage.is_correction_level", "correction.mode": "algo.advantage.is_correction_mode",
	"correction.low": "algo.advantage.is_correction_threshold", "correction.high": "algo.advantage.is_correction_threshold",
	"lag.decay": "algo.lag.decay",

	"loss.name": "actor.loss_mode", "loss.clip_low": "actor.eps_clip_low_high", "loss.clip_high": "actor.eps_clip_low_high",
	"loss.dual_clip": "actor.dual_clip", "loss.ceiling": "actor.cispo_ceiling", "loss.tau_positive": "actor.sapo_tau", "loss.tau_negative": "actor.sapo_tau",
	"loss.proximal": "actor.proximal", "loss.aggregation": "actor.loss_agg_mode", "loss.max_tokens": "actor.loss_max_tokens",
	"loss.entropy_coef": "actor.entropy_coef",

	"kl.coef": "algo.kl.init_coef", "kl.estimator": "algo.kl.estimator", "kl.as_loss": "algo.kl.use_loss", "kl.target": "algo.kl.target", "kl.horizon": "algo.kl.horizon",
	"value.clip": "critic.value_clip", "value.coef": "critic.value_coef",
	"filter.min_graded": "algo.min_graded", "filter.dynamic": "algo.dynamic_filtering_enable",
	"filter.low": "algo.dynamic_filtering_range", "filter.high": "algo.dynamic_filtering_range",
}

// settingOf gives the user's name of a field of algo.
func settingOf(field string) string {
	if name, ok := settingNames[field]; ok {
		return name
	}
	return field
}

// inSettings puts the user's names into a sentence of algo. Low and high of a pair are one setting.
func inSettings(sentence string) string {
	sentence = algoPair.ReplaceAllString(sentence, "low,high with low < high")
	return algoField.ReplaceAllStringFunc(sentence, settingOf)
}

var (
	algoField = regexp.MustCompile(`\b[a-z]+\.[a-z_]+\b`)
	algoPair  = regexp.MustCompile(`\b[a-z]+\.low < [a-z]+\.high\b`)
)
