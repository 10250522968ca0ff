// Every combination of settings that is refused, as one table. Settings that have no effect are refused too: a run should
// mean what its configuration says.

package algo

import "slices"

// Problem is one reason not to start.
type Problem struct {
	Field string // the setting, as room.setting
	Why   string
	Fix   string
}

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
	_, err = find(Proximals, c.Loss.Proximal)
	check("loss.proximal", err)
	_, err = find(Aggregations, c.Loss.Aggregation)
	check("loss.aggregation", err)
	_, err = find(LengthShapes, c.Reward.Length.Shape)
	check("reward.length.shape", err)
	_, err = find(Normalisations, c.Reward.Normalise)
	check("reward.normalise", err)
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
	{Problem{"reward.scale", "a scale is a finite number above 0", "choose 1 to leave rewards as they are"},
		func(c Config, _ Facts) bool { return !within(c.Reward.Scale, 0, expBound) }},
	{Problem{"reward.scale", "this estimator divides by the spread of the group, so it has no effect", "leave it at 1"},
		func(c Config, _ Facts) bool { return c.estimator().ScaleFree && c.scales() }},
	{Problem{"reward.normalise", "this estimator takes mean and spread of the group away itself, so it has no effect", "choose off, or another estimator"},
		func(c Config, _ Facts) bool { return c.estimator().ScaleFree && c.normalises() }},
	{Problem{"reward.length.shape", "distillation learns from the teacher alone, so no setting of rewards has an effect", "leave rewards as they are"},
		func(c Config, _ Facts) bool { return c.estimator().IgnoresReward && c.shapes() }},
	{Problem{"reward.length.max", "there is no longest rollout to measure against", "choose the tokens that a rollout may take, 1 or more"},
		func(c Config, _ Facts) bool { return c.lengthIs("overlong", "cosine") && c.Reward.Length.Max < 1 }},
	{Problem{"reward.length.buffer", "the penalty has no tokens to grow over", "choose 1 ≤ buffer ≤ max (a fifth of it is usual)"},
		func(c Config, _ Facts) bool {
			return c.lengthIs("overlong") && (c.Reward.Length.Buffer < 1 || c.Reward.Length.Buffer > c.Reward.Length.Max)
		}},
	{Problem{"reward.length.factor", "a factor is a finite number above 0", "choose 1 for the penalty of the paper"},
		func(c Config, _ Facts) bool {
			return c.lengthIs("overlong", "linear") && !positive(c.Reward.Length.Factor)
		}},
	{Problem{"reward.length.correct_short", "a longer correct rollout would earn more, a shorter wrong one too, or a wrong one more than a correct one",
		"choose correct_short ≥ correct_long ≥ wrong_long ≥ wrong_short"},
		func(c Config, _ Facts) bool {
			l := c.Reward.Length
			return c.lengthIs("cosine") && !(l.CorrectShort >= l.CorrectLong && l.CorrectLong >= l.WrongLong && l.WrongLong >= l.WrongShort)
		}},

	{Problem{"advantage.estimator", "a group estimator compares the rollouts of a prompt, and there are too few to compare",
		"raise the rollouts per prompt to 2 or more, or choose reinforce"},
		func(c Config, f Facts) bool { return f.N < c.estimator().MinGroup }},
	{Problem{"advantage.estimator", "this estimator reads a critic's values, and no critic is loaded", "load a critic, or choose another estimator"},
		func(c Config, f Facts) bool { return c.estimator().ReadsValue && !f.Critic }},
	{Problem{"advantage.estimator", "a critic is loaded and nothing reads its values", "choose gae, or leave the critic out"},
		func(c Config, f Facts) bool { return !c.estimator().ReadsValue && f.Critic }},
	{Problem{"advantage.gamma", "a discount lies in 0..1", "choose 1 to not discount"},
		func(c Config, _ Facts) bool { return !within(c.Advantage.Gamma, 0, 1) }},
	{Problem{"advantage.gamma", "this estimator gives the tokens of a rollout no returns of their own, so a discount has no effect",
		"choose 1, or the estimator reinforce"},
		func(c Config, _ Facts) bool { return !c.estimator().Discounts && c.Advantage.Gamma != 1 }},
	{Problem{"advantage.lambda", "a weight between critic and rewards lies in 0..1", "choose 1 to trust the rewards alone"},
		func(c Config, _ Facts) bool { return !within(c.Advantage.Lambda, 0, 1) }},
	{Problem{"advantage.lambda", "this estimator reads no values to weigh against rewards, so it has no effect", "choose 1, or the estimator gae"},
		func(c Config, _ Facts) bool { return !c.estimator().ReadsValue && between(c.Advantage.Lambda, 0, 1) }},
	{Problem{"advantage.turns", "distillation learns from the teacher alone, so rewards of turns have no effect", "leave it out"},
		func(c Config, _ Facts) bool { return c.estimator().IgnoresReward && c.Advantage.Turns }},
	{Problem{"advantage.turn_gamma", "a discount lies in 0..1", "choose 1 to not discount"},
		func(c Config, _ Facts) bool { return !within(c.Advantage.TurnGamma, 0, 1) }},
	{Problem{"advantage.turn_gamma", "turns have no rewards of their own, so a discount between them has no effect", "choose 1, or set advantage.turns"},
		func(c Config, _ Facts) bool { return !c.Advantage.Turns && between(c.Advantage.TurnGamma, 0, 1) }},
	{Problem{"advantage.k", "the best of k needs 2 tries or more, and not more than a prompt has", "choose 2..rollouts per prompt"},
		func(c Config, f Facts) bool {
			return c.estimator().ReadsK && f.N >= 2 && (c.Advantage.K < 2 || c.Advantage.K > f.N)
		}},
	{Problem{"advantage.k", "this estimator does not look at the best of several tries, so it has no effect", "leave it out, or choose pass_at_k"},
		func(c Config, _ Facts) bool { return !c.estimator().ReadsK && c.Advantage.K != 0 }},
	{Problem{"advantage.no_whiten", "this estimator never whitens, so it has no effect", "leave it out"},
		func(c Config, _ Facts) bool { return !c.estimator().Whitens && c.Advantage.NoWhiten }},

	{Problem{"correction.level", "rollouts may be stale, and without correction they are trained on as if they were fresh",
		"choose token, sequence or geometric, or allow no lag"},
		func(c Config, f Facts) bool { return c.level().Off && f.MaxLag > 0 && !c.proximal().Coupled }},
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

	{Problem{"lag.decay", "a factor per version lies in 0..1", "choose 1 to not weigh tokens by their age"},
		func(c Config, _ Facts) bool { return !within(c.Lag.Decay, 0, 1) }},
	{Problem{"lag.decay", "no token is ever stale, so it has no effect", "leave it out, or allow a lag"},
		func(c Config, f Facts) bool { return between(c.Lag.Decay, 0, 1) && f.MaxLag == 0 }},

	{Problem{"loss.clip_low", "1 − clip_low lies outside of 0..1, where no ratio below 1 can be", "choose 0 ≤ clip_low ≤ 1"},
		func(c Config, _ Facts) bool { return c.loss().Clips && !within(c.Loss.ClipLow, 0, 1) }},
	{Problem{"loss.clip_high", "the bound lies below 0", "choose clip_high ≥ 0"},
		func(c Config, _ Facts) bool { return c.loss().Clips && !within(c.Loss.ClipHigh, 0, expBound) }},
	{Problem{"loss.dual_clip", "a dual clip of 1 or less stops the gradient of tokens that did not move", "choose more than 1 (3 is usual), or 0 for off"},
		func(c Config, _ Facts) bool {
			return c.Loss.DualClip != 0 && !(c.Loss.DualClip > 1 && finite(c.Loss.DualClip))
		}},
	{Problem{"loss.dual_clip", "this loss has no second bound for tokens that rose although they are bad, so it has no effect", "leave it out, or choose ppo"},
		func(c Config, _ Facts) bool { return !c.loss().DualClips && c.Loss.DualClip != 0 }},
	{Problem{"loss.ceiling", "a ceiling below 1 holds back tokens that did not move", "choose 1 or more (5 is usual)"},
		func(c Config, _ Facts) bool { return c.loss().Name == "cispo" && !within(c.Loss.Ceiling, 1, expBound) }},
	{Problem{"loss.tau_positive", "a gate that does not close is no gate", "choose both tau above 0 (1 and 1.05 are usual)"},
		func(c Config, _ Facts) bool {
			return c.loss().Name == "sapo" && !(positive(c.Loss.TauPositive) && positive(c.Loss.TauNegative))
		}},
	{Problem{"loss.proximal", "the ratio to the generator already weighs what it sampled, and the correction would count the mismatch twice",
		"turn the correction off, or choose decoupled"},
		func(c Config, _ Facts) bool { return c.proximal().Coupled && !c.level().Off }},
	{Problem{"loss.proximal", "this loss compares with no policy, so it has no effect", "choose decoupled, or another loss"},
		func(c Config, _ Facts) bool { return c.proximal().Coupled && !c.loss().ReadsOld }},
	{Problem{"loss.max_tokens", "there is no constant to divide by", "choose the tokens that a rollout may take, 1 or more"},
		func(c Config, _ Facts) bool { return c.aggregation().Constant && c.Loss.MaxTokens < 1 }},
	{Problem{"loss.max_tokens", "this aggregation divides by what is there, so it has no effect", "leave it out, or choose constant"},
		func(c Config, _ Facts) bool { return !c.aggregation().Constant && c.Loss.MaxTokens != 0 }},
	{Problem{"loss.entropy_coef", "a bonus is a finite number of at least 0", "choose 0 for none"},
		func(c Config, _ Facts) bool { return !within(c.EntropyCoef, 0, expBound) }},

	{Problem{"kl.coef", "a coefficient is a finite number of at least 0", "choose 0 for no KL"},
		func(c Config, _ Facts) bool { return !within(c.KL.Coef, 0, expBound) }},
	{Problem{"kl.coef", "there is no reference to measure a distance to", "name a reference, or choose 0"},
		func(c Config, f Facts) bool { return c.KL.Coef > 0 && !f.Reference }},
	{Problem{"kl.coef", "a reference is loaded and nothing reads it", "set a coefficient, or leave the reference out"},
		func(c Config, f Facts) bool { return c.KL.Coef == 0 && f.Reference }},
	{Problem{"kl.coef", "distillation learns from the KL to its teacher alone, and its weight is 0", "name a teacher as reference and choose 1"},
		func(c Config, f Facts) bool {
			return c.estimator().IgnoresReward && c.KL.Coef == 0 && !f.Reference
		}},
	{Problem{"kl.estimator", "k1 as a loss has a gradient of mean 0: noise that holds nothing back", "choose k2 or k3"},
		func(c Config, _ Facts) bool { return c.klInLoss() && !c.kl().Pulls }},
	{Problem{"kl.estimator", "k3_unbiased is weighted by the ratio, which is 1 when rewards are computed", "choose k3, or make it a loss"},
		func(c Config, _ Facts) bool { return c.klInReward() && c.kl().ReadsOld }},
	{Problem{"kl.estimator", "the advantage of distillation is the log-ratio itself, and any other estimator is never negative: no token would ever be good",
		"choose k1, which has a sign"},
		func(c Config, _ Facts) bool {
			return c.estimator().IgnoresReward && c.klInReward() && !c.kl().ReadsOld && c.kl().Name != "k1"
		}},
	{Problem{"kl.as_loss", "a group estimator does not read the KL from the reward, so it has no effect", "make it a loss, or choose reinforce"},
		func(c Config, _ Facts) bool { return c.klInReward() && !c.estimator().ReadsKL }},
	{Problem{"kl.as_loss", "distillation takes the KL as its advantage, and as a loss it would leave nothing to learn", "turn it off"},
		func(c Config, _ Facts) bool { return c.klInLoss() && c.estimator().IgnoresReward }},
	{Problem{"kl.target", "a target is a finite number of nats of at least 0, with a horizon above 0", "choose 0 for a fixed coefficient"},
		func(c Config, _ Facts) bool {
			return !within(c.KL.Target, 0, expBound) || !(c.KL.Horizon > 0)
		}},
	{Problem{"kl.target", "a coefficient of 0 stays 0, so a target has no effect", "set kl.coef, or leave the target out"},
		func(c Config, _ Facts) bool { return c.KL.Coef == 0 && c.KL.Target != 0 }},

	{Problem{"value.clip", "a bound on how far a value moves is a finite number of at least 0", "choose 0 for none"},
		func(c Config, _ Facts) bool { return c.estimator().ReadsValue && !within(c.Value.Clip, 0, expBound) }},
	{Problem{"value.coef", "a critic that is not trained says nothing", "choose a weight above 0 (1 is usual)"},
		func(c Config, _ Facts) bool { return c.estimator().ReadsValue && !positive(c.Value.Coef) }},

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

func (c Config) klInLoss() bool   { return c.KL.Coef > 0 && c.KL.AsLoss }
func (c Config) klInReward() bool { return c.KL.Coef > 0 && !c.KL.AsLoss }

func (c Config) lengthIs(names ...string) bool { return slices.Contains(names, c.length().Name) }

// between reports low < x < high: a number that does something, where either end would do nothing.
func between(x, low, high float64) bool { return low < x && x < high }

// positive reports a finite number above 0.
func positive(x float64) bool { return x > 0 && finite(x) }
