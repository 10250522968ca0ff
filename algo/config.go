// The settings of this room, and every combination of them that is refused, as one table. Settings that have no effect
// are refused too: a run should mean what its configuration says.

package algo

// Config is all that one can choose about the mathematics. Default is a valid one.
type Config struct {
	RewardLow, RewardHigh float64 // rewards are clipped to this range; default −10 and 10
	Advantage             AdvantageConfig
	Correction            CorrectionConfig
	Loss                  LossConfig
	KL                    KLConfig
	EntropyCoef           float64 // weight of the entropy bonus; ≥ 0, default 0: entropy is not computed
	Filter                FilterConfig
}

// Facts is what the rest of a run decides and the mathematics depends on.
type Facts struct {
	N           int     // rollouts per prompt
	MaxLag      int64   // steps by which a trained token may be older than the learner; 0: never stale
	Temperature float64 // of sampling
	TopP, MinP  float64 // of sampling; 0 keeps all, as does TopP 1
	TopK        int     // of sampling; 0 keeps all
	Reference   bool    // a reference policy is loaded
}

// Default is GRPO with PPO's clip, token-level masking of mismatch, and neither KL nor entropy.
func Default() Config {
	return Config{
		RewardLow: -10, RewardHigh: 10,
		Advantage:  AdvantageConfig{Estimator: "grpo", Gamma: 1},
		Correction: CorrectionConfig{Level: "token", Mode: "mask", Low: 0.5, High: 5},
		Loss:       LossConfig{Name: "ppo", ClipLow: 0.2, ClipHigh: 0.2},
		KL:         KLConfig{Estimator: "k2", AsLoss: true, Horizon: 10000},
		Filter:     FilterConfig{MinGraded: 1, High: 1},
	}
}

// Problem is one reason not to start.
type Problem struct {
	Field string // the setting, as room.setting
	Why   string
	Fix   string
}

func (p Problem) String() string { return p.Field + ": " + p.Why + "; " + p.Fix }

// Check reports everything wrong with a configuration at once: unknown names, or else every rule that it breaks.
func Check(c Config, f Facts) []Problem {
	problems := checkNames(c)
	if problems != nil {
		return problems
	}
	for _, r := range Rules {
		if r.Broken(c, f) {
			problems = append(problems, r.Problem)
		}
	}
	return problems
}

func checkNames(c Config) (problems []Problem) {
	check := func(field string, err error) {
		if err != nil {
			problems = append(problems, Problem{field, err.Error(), "choose one of them"})
		}
	}
	_, err := find(Estimators, c.Advantage.Estimator)
	check("advantage.estimator", err)
	_, err = find(Losses, c.Loss.Name)
	check("loss.name", err)
	_, err = find(Levels, c.Correction.Level)
	check("correction.level", err)
	_, err = find(Modes, c.Correction.Mode)
	check("correction.mode", err)
	_, err = find(KLEstimators, c.KL.Estimator)
	check("kl.estimator", err)
	return problems
}

// Rule is one refused combination.
type Rule struct {
	Problem
	Broken func(Config, Facts) bool
}

// Rules lists every refused combination. The names in the configuration are known when they are asked.
var Rules = []Rule{
	{Problem{"reward.low", "the range of rewards is empty", "choose reward.low < reward.high"},
		func(c Config, _ Facts) bool { return !(c.RewardLow < c.RewardHigh) }},

	{Problem{"advantage.estimator", "a group estimator compares the rollouts of a prompt, and there are too few to compare",
		"raise the rollouts per prompt to 2 or more, or choose reinforce"},
		func(c Config, f Facts) bool { return f.N < c.estimator().MinGroup }},
	{Problem{"advantage.gamma", "a discount lies in 0..1", "choose 1 to not discount"},
		func(c Config, _ Facts) bool { return !within(c.Advantage.Gamma, 0, 1) }},
	{Problem{"advantage.gamma", "a group estimator gives a whole rollout one advantage, so a discount has no effect",
		"choose 1, or the estimator reinforce"},
		func(c Config, _ Facts) bool { return !c.estimator().ReadsKL && c.Advantage.Gamma != 1 }},
	{Problem{"advantage.no_whiten", "this estimator never whitens, so it has no effect", "leave it out"},
		func(c Config, _ Facts) bool { return !c.estimator().Whitens && c.Advantage.NoWhiten }},

	{Problem{"correction.level", "rollouts may be stale, and without correction they are trained on as if they were fresh",
		"choose token, sequence or geometric, or allow no lag"},
		func(c Config, f Facts) bool { return c.level().Off && f.MaxLag > 0 }},
	{Problem{"correction.level", "with top-p, top-k or min-p the tokens come from a cut distribution, but log-probs are those of the whole one",
		"sample from the whole distribution, or turn the correction off"},
		func(c Config, f Facts) bool { return !c.level().Off && f.cut() }},
	{Problem{"correction.mode", "a judged segment is kept or dropped as a whole, so clip and truncate mean nothing",
		"choose mask, or the level token"},
		func(c Config, _ Facts) bool { return c.level().PerSegment && c.mode() != "mask" }},
	{Problem{"correction.low", "the band must contain 1, or tokens without any mismatch are corrected",
		"choose 0 ≤ low ≤ 1 ≤ high"},
		func(c Config, _ Facts) bool {
			return !c.level().Off && !(within(c.Correction.Low, 0, 1) && within(c.Correction.High, 1, expBound))
		}},

	{Problem{"loss.clip_low", "1 − clip_low lies outside of 0..1, where no ratio below 1 can be", "choose 0 ≤ clip_low ≤ 1"},
		func(c Config, _ Facts) bool { return c.loss().Clips && !within(c.Loss.ClipLow, 0, 1) }},
	{Problem{"loss.clip_high", "the bound lies below 0", "choose clip_high ≥ 0"},
		func(c Config, _ Facts) bool { return c.loss().Clips && !within(c.Loss.ClipHigh, 0, expBound) }},
	{Problem{"loss.dual_clip", "a dual clip of 1 or less stops the gradient of tokens that did not move", "choose more than 1 (3 is usual), or 0 for off"},
		func(c Config, _ Facts) bool {
			return c.Loss.DualClip != 0 && !(c.Loss.DualClip > 1 && finite(c.Loss.DualClip))
		}},
	{Problem{"loss.dual_clip", "this loss has no ratio to clip, so it has no effect", "leave it out, or choose ppo"},
		func(c Config, _ Facts) bool { return !c.loss().Clips && c.Loss.DualClip != 0 }},
	{Problem{"loss.entropy_coef", "a bonus is a finite number of at least 0", "choose 0 for none"},
		func(c Config, _ Facts) bool { return !within(c.EntropyCoef, 0, expBound) }},

	{Problem{"kl.coef", "a coefficient is a finite number of at least 0", "choose 0 for no KL"},
		func(c Config, _ Facts) bool { return !within(c.KL.Coef, 0, expBound) }},
	{Problem{"kl.coef", "there is no reference to measure a distance to", "name a reference, or choose 0"},
		func(c Config, f Facts) bool { return c.KL.Coef > 0 && !f.Reference }},
	{Problem{"kl.coef", "a reference is loaded and nothing reads it", "set a coefficient, or leave the reference out"},
		func(c Config, f Facts) bool { return c.KL.Coef == 0 && f.Reference }},
	{Problem{"kl.estimator", "k1 as a loss has a gradient of mean 0: noise that holds nothing back", "choose k2 or k3"},
		func(c Config, _ Facts) bool { return c.KL.Coef > 0 && c.KL.AsLoss && !c.kl().Pulls }},
	{Problem{"kl.as_loss", "a group estimator does not read the KL from the reward, so it has no effect", "make it a loss, or choose reinforce"},
		func(c Config, _ Facts) bool { return c.KL.Coef > 0 && !c.KL.AsLoss && !c.estimator().ReadsKL }},
	{Problem{"kl.target", "a target is a finite number of nats of at least 0, with a horizon above 0", "choose 0 for a fixed coefficient"},
		func(c Config, _ Facts) bool {
			return !within(c.KL.Target, 0, expBound) || !(c.KL.Horizon > 0)
		}},
	{Problem{"kl.target", "a coefficient of 0 stays 0, so a target has no effect", "set kl.coef, or leave the target out"},
		func(c Config, _ Facts) bool { return c.KL.Coef == 0 && c.KL.Target != 0 }},

	{Problem{"filter.min_graded", "a group never has so many graded rollouts, so none would train", "choose 1..rollouts per prompt"},
		func(c Config, f Facts) bool { return c.Filter.MinGraded < 1 || c.Filter.MinGraded > f.N }},
	{Problem{"filter.low", "no mean reward lies strictly between the bounds", "choose filter.low < filter.high"},
		func(c Config, _ Facts) bool { return c.Filter.Dynamic && !(c.Filter.Low < c.Filter.High) }},
	{Problem{"filter.dynamic", "one rollout says nothing about how hard its prompt is", "raise the rollouts per prompt to 2 or more"},
		func(c Config, f Facts) bool { return c.Filter.Dynamic && f.N < 2 }},

	{Problem{"rollout.temperature", "greedy rollouts are all the same, and their log-probs are not those of what chose them",
		"choose a temperature above 0"},
		func(_ Config, f Facts) bool { return !(f.Temperature > 0) }},
}

// SkipsFlat reports whether groups with equal rewards can be left out of the passes without changing the step: their
// advantages are exactly 0, and no other term gives their tokens a gradient.
func (c Config) SkipsFlat() bool {
	e := c.estimator()
	return e.group != nil && (!e.Whitens || c.Advantage.NoWhiten) && c.EntropyCoef == 0 && !(c.KL.Coef > 0 && c.KL.AsLoss)
}

func (c Config) estimator() Estimator { return row(Estimators, c.Advantage.Estimator) }
func (c Config) loss() Loss           { return row(Losses, c.Loss.Name) }
func (c Config) level() Level         { return row(Levels, c.Correction.Level) }
func (c Config) mode() string         { return row(Modes, c.Correction.Mode).Name }
func (c Config) kl() KLEstimator      { return row(KLEstimators, c.KL.Estimator) }

// cut reports whether sampling leaves out a part of the distribution.
func (f Facts) cut() bool { return f.TopP != 0 && f.TopP != 1 || f.TopK != 0 || f.MinP != 0 }

// expBound is the largest number that a ratio or a coefficient may name; a ratio never exceeds it.
const expBound = 1e13

// within reports low ≤ x ≤ high; a NaN is within nothing.
func within(x, low, high float64) bool { return low <= x && x <= high }
