// Rewards on their way to the estimator: by length, scaled, clipped, normalised, in this order. Filters and reports read
// the clipped reward without the rest: how good a rollout was does not depend on how it is trained on.

package algo

import "math"

// RewardConfig says what becomes of a reward before it is an advantage. The zero value changes nothing.
type RewardConfig struct {
	Length    LengthConfig
	Scale     float64 // rewards are multiplied by it; > 0, default 1; 0 is 1
	Normalise string  // a row of Normalisations; default "off"
}

// LengthConfig says how the length of a rollout, its action tokens, changes its reward.
type LengthConfig struct {
	Shape  string  // a row of LengthShapes; default "off"
	Max    int     // overlong, cosine: the longest rollout that is wanted, tokens; ≥ 1
	Buffer int     // overlong: over how many of these tokens the penalty grows; 1..Max
	Factor float64 // overlong, linear: the largest change of a reward; > 0, default 1
	Solved float64 // linear, cosine: a reward of at least this counts as correct; default 1

	CorrectShort, CorrectLong float64 // cosine: reward of a correct rollout of length 0 and Max; defaults 1 and 0.5
	WrongShort, WrongLong     float64 // cosine: of a wrong one, and of any longer than Max the first; defaults −0.5 and 0
}

// ShapeRewards changes the rewards of a batch in place. group and length have one value for each rollout. It returns seen
// with the rewards added, before normalisation: what the next batch's call takes, and what a checkpoint holds.
func ShapeRewards(reward []float64, group []int64, length []int, c Config, seen Running) Running {
	mustHave("group", len(group), len(reward))
	mustHave("length", len(length), len(reward))
	shapeLengths(reward, group, length, c.Reward.Length)
	for i, r := range reward {
		if c.Reward.Scale != 0 {
			r *= c.Reward.Scale
		}
		reward[i] = ClipReward(r, c.RewardLow, c.RewardHigh)
	}
	seen = seen.Add(reward)
	if normalise := row(Normalisations, c.Reward.Normalise).normalise; normalise != nil {
		normalise(reward, group, seen)
	}
	return seen
}

func shapeLengths(reward []float64, group []int64, length []int, cfg LengthConfig) {
	shape := row(LengthShapes, cfg.Shape).shape
	if shape == nil {
		return
	}
	for _, members := range groups(group) {
		r, l := make([]float64, len(members)), make([]int, len(members))
		for i, m := range members {
			r[i], l[i] = reward[m], length[m]
		}
		shape(r, l, cfg)
		for i, m := range members {
			reward[m] = r[i]
		}
	}
}

// overlong is the soft overlong punishment of DAPO (arXiv 2503.14476, eq. 13), with a factor as in verl:
//
//	r − factor · clip((len − (Max − Buffer)) / Buffer, 0, 1)
func overlong(reward []float64, length []int, cfg LengthConfig) {
	for i, n := range length {
		over := float64(n-(cfg.Max-cfg.Buffer)) / float64(cfg.Buffer)
		reward[i] -= cfg.Factor * min(max(over, 0), 1)
	}
}

// linear is the length reward of Kimi k1.5 (arXiv 2501.12599 §2.3.3), from the lengths of the group:
//
//	λ_i = ½ − (len_i − min) / (max − min);  0 when all lengths are equal
//	r_i + factor · λ_i if correct, r_i + factor · min(0, λ_i) if wrong
func linear(reward []float64, length []int, cfg LengthConfig) {
	shortest, longest := length[0], length[0]
	for _, n := range length {
		shortest, longest = min(shortest, n), max(longest, n)
	}
	if shortest == longest {
		return
	}
	for i, n := range length {
		bonus := 0.5 - float64(n-shortest)/float64(longest-shortest)
		if reward[i] < cfg.Solved {
			bonus = min(0, bonus)
		}
		reward[i] += cfg.Factor * bonus
	}
}

// cosine replaces the reward by one of correctness and length (arXiv 2502.03373):
//
//	long + (short − long) · (1 + cos(π·len/Max)) / 2
//
// with short and long those of a correct or a wrong rollout, and WrongShort, the lowest of the four, beyond Max.
func cosine(reward []float64, length []int, cfg LengthConfig) {
	for i, n := range length {
		short, long := cfg.WrongShort, cfg.WrongLong
		if reward[i] >= cfg.Solved {
			short, long = cfg.CorrectShort, cfg.CorrectLong
		}
		switch {
		case math.IsNaN(reward[i]): // not graded
		case n > cfg.Max:
			reward[i] = cfg.WrongShort
		default:
			reward[i] = long + (short-long)*(1+math.Cos(math.Pi*float64(n)/float64(cfg.Max)))/2
		}
	}
}

// Running is the mean and spread of the rewards of a run so far (Welford 1962). The zero value has seen none.
type Running struct {
	Count float64 `json:"count"`
	Mean  float64 `json:"mean"`
	M2    float64 `json:"m2"` // Σ (r − mean)²
}

// Add returns s with more rewards seen. A reward that is not finite is not seen.
func (s Running) Add(reward []float64) Running {
	for _, r := range reward {
		if !finite(r) {
			continue
		}
		s.Count++
		d := r - s.Mean
		s.Mean += d / s.Count
		s.M2 += d * (r - s.Mean)
	}
	return s
}

// Std is the sample standard deviation; 0 for fewer than two rewards.
func (s Running) Std() float64 {
	if s.Count < 2 {
		return 0
	}
	return math.Sqrt(s.M2 / (s.Count - 1))
}

func normaliseGroups(reward []float64, group []int64, _ Running) {
	for _, members := range groups(group) {
		of := make([]float64, len(members))
		for i, m := range members {
			of[i] = reward[m]
		}
		GRPO(of, append([]float64(nil), of...))
		for i, m := range members {
			reward[m] = of[i]
		}
	}
}

func normaliseBatch(reward []float64, _ []int64, _ Running) {
	GRPO(reward, append([]float64(nil), reward...))
}

func normaliseRunning(reward []float64, _ []int64, seen Running) {
	for i := range reward {
		reward[i] = (reward[i] - seen.Mean) / (seen.Std() + 1e-9)
	}
}
