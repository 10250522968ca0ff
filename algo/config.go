// The settings of this room.

package algo

// Config is all that one can choose about the mathematics. Default is a valid one.
type Config struct {
	RewardLow, RewardHigh float64 // rewards are clipped to this range; default −10 and 10
	Reward                RewardConfig
	Advantage             AdvantageConfig
	Correction            CorrectionConfig
	Lag                   LagConfig
	Loss                  LossConfig
	KL                    KLConfig
	EntropyCoef           float64 // weight of the entropy bonus; ≥ 0, default 0: entropy is not computed
	Value                 ValueConfig
	Filter                FilterConfig
}

// Facts is what the rest of a run decides and the mathematics depends on.
type Facts struct {
	N           int     // rollouts per prompt
	MaxLag      int64   // steps by which a trained token may be older than the learner; 0: never stale
	Temperature float64 // of sampling
	TopP, MinP  float64 // of sampling; 0 keeps all, as does TopP 1
	TopK        int     // of sampling; 0 keeps all
	Reference   bool    // a reference policy, or a teacher, is loaded
	Critic      bool    // a learner with a value head is loaded
}

// Default is GRPO with PPO's clip, token-level masking of mismatch, and neither KL nor entropy.
func Default() Config {
	return Config{
		RewardLow: -10, RewardHigh: 10,
		Reward: RewardConfig{Scale: 1, Normalise: "off", Length: LengthConfig{
			Shape: "off", Factor: 1, Solved: 1, CorrectShort: 1, CorrectLong: 0.5, WrongShort: -0.5, WrongLong: 0}},
		Advantage:  AdvantageConfig{Estimator: "grpo", Gamma: 1, Lambda: 1, TurnGamma: 1},
		Correction: CorrectionConfig{Level: "token", Mode: "mask", Low: 0.5, High: 5},
		Loss: LossConfig{Name: "ppo", ClipLow: 0.2, ClipHigh: 0.2, Ceiling: 5, TauPositive: 1, TauNegative: 1.05,
			Proximal: "decoupled", Aggregation: "token_mean"},
		KL:     KLConfig{Estimator: "k2", AsLoss: true, Horizon: 10000},
		Value:  ValueConfig{Clip: 0.2, Coef: 1},
		Filter: FilterConfig{MinGraded: 1, High: 1},
	}
}

// SkipsFlat reports whether groups with equal rewards can be left out of the passes without changing the step: their
// advantages are exactly 0, and no other term gives their tokens a gradient.
func (c Config) SkipsFlat() bool {
	e := c.estimator()
	flat := e.group != nil && (!e.Whitens || c.Advantage.NoWhiten) && !c.Advantage.Turns && c.length().shape == nil
	return flat && c.EntropyCoef == 0 && !(c.KL.Coef > 0 && c.KL.AsLoss)
}

// ReadsOld reports whether anything compares with LogpOld: the ratio, the correction, or a KL that the ratio weighs. Where
// nothing does, a batch needs no scoring pass.
func (c Config) ReadsOld() bool {
	ratio := c.loss().ReadsOld && !c.proximal().Coupled
	return ratio || !c.level().Off || c.klInLoss() && c.kl().ReadsOld
}

func (c Config) estimator() Estimator     { return row(Estimators, c.Advantage.Estimator) }
func (c Config) loss() Loss               { return row(Losses, c.Loss.Name) }
func (c Config) proximal() Proximal       { return row(Proximals, c.Loss.Proximal) }
func (c Config) aggregation() Aggregation { return row(Aggregations, c.Loss.Aggregation) }
func (c Config) level() Level             { return row(Levels, c.Correction.Level) }
func (c Config) mode() string             { return row(Modes, c.Correction.Mode).Name }
func (c Config) kl() KLEstimator          { return row(KLEstimators, c.KL.Estimator) }
func (c Config) length() LengthShape      { return row(LengthShapes, c.Reward.Length.Shape) }
func (c Config) normalises() bool         { return row(Normalisations, c.Reward.Normalise).normalise != nil }

// shapes reports whether a reward is more than clipped.
func (c Config) shapes() bool { return c.normalises() || c.length().shape != nil || c.scales() }
func (c Config) scales() bool { return c.Reward.Scale != 0 && c.Reward.Scale != 1 }

// cut reports whether sampling leaves out a part of the distribution.
func (f Facts) cut() bool { return f.TopP != 0 && f.TopP != 1 || f.TopK != 0 || f.MinP != 0 }

// expBound is the largest number that a ratio or a coefficient may name; a ratio never exceeds it.
const expBound = 1e13

// within reports low ≤ x ≤ high; a NaN is within nothing.
func within(x, low, high float64) bool { return low <= x && x <= high }
