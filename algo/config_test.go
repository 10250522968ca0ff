package algo

import (
	"math"
	"testing"
)

// sound is a run on which Default has nothing to say.
var sound = Facts{N: 8, Temperature: 1}

func TestDefaultIsSound(t *testing.T) {
	for _, f := range []Facts{sound, {N: 2, MaxLag: 4, Temperature: .7, TopP: 1}} {
		if p := Check(Default(), f); p != nil {
			t.Errorf("%+v: %v", f, p)
		}
	}
}

// One breach for every rule, in the order of Rules. What is changed is all that is wrong.
func TestEveryRule(t *testing.T) {
	breaches := []struct {
		field  string
		breach func(c *Config, f *Facts)
	}{
		{"reward.low", func(c *Config, _ *Facts) { c.RewardLow = math.NaN() }},
		{"reward.scale", func(c *Config, _ *Facts) { c.Reward.Scale, c.Advantage.Estimator = math.NaN(), "rloo" }},
		{"reward.scale", func(c *Config, _ *Facts) { c.Reward.Scale = 2 }},
		{"reward.normalise", func(c *Config, _ *Facts) { c.Reward.Normalise = "running" }},
		{"reward.length.shape", func(c *Config, f *Facts) { distill(c, f); c.Reward.Length.Shape = "linear" }},
		{"reward.length.max", func(c *Config, _ *Facts) { c.Reward.Length.Shape = "cosine" }},
		{"reward.length.buffer", func(c *Config, _ *Facts) { overlongOf(c, 20, 30) }},
		{"reward.length.factor", func(c *Config, _ *Facts) { overlongOf(c, 20, 5); c.Reward.Length.Factor = 0 }},
		{"reward.length.correct_short", func(c *Config, _ *Facts) {
			overlongOf(c, 20, 0)
			c.Reward.Length.Shape, c.Reward.Length.WrongLong = "cosine", 2
		}},

		{"advantage.estimator", func(c *Config, f *Facts) { f.N = 1 }},
		{"advantage.estimator", func(c *Config, _ *Facts) { c.Advantage.Estimator = "gae" }},
		{"advantage.estimator", func(_ *Config, f *Facts) { f.Critic = true }},
		{"advantage.gamma", func(c *Config, _ *Facts) { c.Advantage.Estimator, c.Advantage.Gamma = "reinforce", 1.5 }},
		{"advantage.gamma", func(c *Config, _ *Facts) { c.Advantage.Gamma = .9 }},
		{"advantage.lambda", func(c *Config, f *Facts) { critic(c, f); c.Advantage.Lambda = -1 }},
		{"advantage.lambda", func(c *Config, _ *Facts) { c.Advantage.Lambda = .95 }},
		{"advantage.turns", func(c *Config, f *Facts) { distill(c, f); c.Advantage.Turns = true }},
		{"advantage.turn_gamma", func(c *Config, _ *Facts) { c.Advantage.Turns, c.Advantage.TurnGamma = true, math.NaN() }},
		{"advantage.turn_gamma", func(c *Config, _ *Facts) { c.Advantage.TurnGamma = .9 }},
		{"advantage.k", func(c *Config, _ *Facts) { c.Advantage.Estimator, c.Advantage.K = "pass_at_k", 9 }},
		{"advantage.k", func(c *Config, _ *Facts) { c.Advantage.K = 2 }},
		{"advantage.no_whiten", func(c *Config, _ *Facts) { c.Advantage.NoWhiten = true }},

		{"correction.level", func(c *Config, f *Facts) { c.Correction.Level, f.MaxLag = "off", 1 }},
		{"correction.level", func(_ *Config, f *Facts) { f.TopP = .95 }},
		{"correction.mode", func(c *Config, _ *Facts) { c.Correction.Level, c.Correction.Mode = "geo", "clip" }},
		{"correction.low", func(c *Config, _ *Facts) { c.Correction.High = .9 }},
		{"lag.decay", func(c *Config, f *Facts) { c.Lag.Decay, f.MaxLag = 1.1, 8 }},
		{"lag.decay", func(c *Config, _ *Facts) { c.Lag.Decay = .9 }},

		{"loss.clip_low", func(c *Config, _ *Facts) { c.Loss.ClipLow = 1.1 }},
		{"loss.clip_high", func(c *Config, _ *Facts) { c.Loss.ClipHigh = math.NaN() }},
		{"loss.dual_clip", func(c *Config, _ *Facts) { c.Loss.DualClip = 1 }},
		{"loss.dual_clip", func(c *Config, _ *Facts) { c.Loss.Name, c.Loss.DualClip = "gspo", 3 }},
		{"loss.ceiling", func(c *Config, _ *Facts) { c.Loss.Name, c.Loss.Ceiling = "cispo", .9 }},
		{"loss.tau_positive", func(c *Config, _ *Facts) { c.Loss.Name, c.Loss.TauNegative = "sapo", 0 }},
		{"loss.proximal", func(c *Config, _ *Facts) { c.Loss.Proximal = "behavior" }},
		{"loss.proximal", func(c *Config, _ *Facts) {
			c.Loss.Name, c.Loss.Proximal, c.Correction.Level = "policy_gradient", "behavior", "off"
		}},
		{"loss.max_tokens", func(c *Config, _ *Facts) { c.Loss.Aggregation = "constant" }},
		{"loss.max_tokens", func(c *Config, _ *Facts) { c.Loss.MaxTokens = 100 }},
		{"loss.entropy_coef", func(c *Config, _ *Facts) { c.EntropyCoef = -1 }},

		{"kl.coef", func(c *Config, _ *Facts) { c.KL.Coef = -1 }},
		{"kl.coef", func(c *Config, _ *Facts) { c.KL.Coef = .1 }},
		{"kl.coef", func(_ *Config, f *Facts) { f.Reference = true }},
		{"kl.coef", func(c *Config, _ *Facts) { c.Advantage.Estimator = "on_policy_distill" }},
		{"kl.estimator", func(c *Config, f *Facts) { c.KL.Estimator, c.KL.Coef, f.Reference = "k1", .1, true }},
		{"kl.estimator", func(c *Config, f *Facts) { distill(c, f); c.KL.Estimator = "k3_unbiased" }},
		{"kl.estimator", func(c *Config, f *Facts) { distill(c, f); c.KL.Estimator = "k3" }},
		{"kl.as_loss", func(c *Config, f *Facts) { c.KL.AsLoss, c.KL.Coef, f.Reference = false, .1, true }},
		{"kl.as_loss", func(c *Config, f *Facts) { distill(c, f); c.KL.AsLoss, c.KL.Estimator = true, "k2" }},
		{"kl.target", func(c *Config, f *Facts) { c.KL.Target, c.KL.Horizon, c.KL.Coef, f.Reference = .1, 0, .1, true }},
		{"kl.target", func(c *Config, _ *Facts) { c.KL.Target = .1 }},
		{"value.clip", func(c *Config, f *Facts) { critic(c, f); c.Value.Clip = -1 }},
		{"value.coef", func(c *Config, f *Facts) { critic(c, f); c.Value.Coef = 0 }},

		{"filter.min_graded", func(c *Config, _ *Facts) { c.Filter.MinGraded = 9 }},
		{"filter.low", func(c *Config, _ *Facts) { c.Filter.Dynamic, c.Filter.Low = true, 1 }},
		{"filter.dynamic", func(c *Config, f *Facts) { c.Advantage.Estimator, c.Filter.Dynamic, f.N = "reinforce", true, 1 }},
		{"rollout.temperature", func(_ *Config, f *Facts) { f.Temperature = 0 }},
	}
	equal(t, "breaches", len(breaches), len(Rules))
	for i, b := range breaches {
		c, f := Default(), sound
		b.breach(&c, &f)
		problems := Check(c, f)
		if len(problems) != 1 || problems[0] != Rules[i].Problem || problems[0].Field != b.field {
			t.Errorf("rule %d, %s: %v", i, b.field, problems)
		}
		if len(Rules[i].Why) < 20 || len(Rules[i].Fix) < 10 {
			t.Errorf("rule %d says too little: %v", i, Rules[i].Problem)
		}
	}
}

// Three sound configurations that a breach can start from.
func distill(c *Config, f *Facts) {
	c.Advantage.Estimator, f.Reference = "on_policy_distill", true
	c.KL.Estimator, c.KL.Coef, c.KL.AsLoss = "k1", 1, false
}

func critic(c *Config, f *Facts) { c.Advantage.Estimator, f.Critic = "gae", true }

func overlongOf(c *Config, most, buffer int) {
	c.Reward.Length.Shape, c.Reward.Length.Max, c.Reward.Length.Buffer = "overlong", most, buffer
}

func TestWhatBreachesStartFromIsSound(t *testing.T) {
	for name, change := range map[string]func(c *Config, f *Facts){
		"distillation": distill, "critic": critic, "overlong": func(c *Config, _ *Facts) { overlongOf(c, 20, 5) },
		"one success in k tries":       func(c *Config, _ *Facts) { c.Advantage.Estimator, c.Advantage.K = "pass_at_k", 8 },
		"stale, against the generator": func(c *Config, f *Facts) { c.Loss.Proximal, c.Correction.Level, f.MaxLag = "behavior", "off", 8 },
	} {
		c, f := Default(), sound
		change(&c, &f)
		if p := Check(c, f); p != nil {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// Every setting that came later is sound when it is left at its zero value.
func TestZeroValuesAreSound(t *testing.T) {
	d := Default()
	c := Config{RewardLow: d.RewardLow, RewardHigh: d.RewardHigh, Correction: d.Correction, KL: d.KL, Filter: d.Filter}
	c.Advantage = AdvantageConfig{Estimator: "grpo", Gamma: 1}
	c.Loss = LossConfig{Name: "ppo", ClipLow: .2, ClipHigh: .2}
	if p := Check(c, sound); p != nil {
		t.Error(p)
	}
}

// A group with equal rewards may be skipped only where all its advantages are 0.
func TestSkipsFlat(t *testing.T) {
	for name, change := range map[string]func(c *Config, f *Facts){
		"turns":        func(c *Config, _ *Facts) { c.Advantage.Turns = true },
		"by length":    func(c *Config, _ *Facts) { overlongOf(c, 20, 5) },
		"entropy":      func(c *Config, _ *Facts) { c.EntropyCoef = .1 },
		"KL":           func(c *Config, _ *Facts) { c.KL.Coef = .1 },
		"whitened":     func(c *Config, _ *Facts) { c.Advantage.Estimator = "reinforce_baseline" },
		"distillation": distill,
	} {
		c, f := Default(), sound
		equal(t, "default", c.SkipsFlat(), true)
		change(&c, &f)
		equal(t, name, c.SkipsFlat(), false)
	}
}

func TestSamplingThatCutsTheDistribution(t *testing.T) {
	for _, f := range []Facts{{TopP: .9}, {TopK: 50}, {MinP: .1}} {
		f.N, f.Temperature = 8, 1
		c := Default()
		equal(t, "refused with a correction", len(Check(c, f)), 1)
		c.Correction.Level = "off"
		equal(t, "accepted without", len(Check(c, f)), 0)
		f.MaxLag = 1
		equal(t, "stale and cut: refused", len(Check(c, f)), 1)
	}
}

func TestEverythingWrongIsReportedAtOnce(t *testing.T) {
	c := Default()
	c.Loss.ClipLow, c.Advantage.Gamma, c.EntropyCoef = -1, .5, math.NaN()
	equal(t, "problems", len(Check(c, sound)), 3)
	c = Config{}
	equal(t, "an empty configuration names nothing", len(Check(c, Facts{})), 5)
}

func TestUnknownNamesGetTheNearest(t *testing.T) {
	c := Default()
	c.Advantage.Estimator = "gpro"
	p := Check(c, sound)
	equal(t, "problems", len(p), 1)
	want := `no such name: "gpro"; valid, nearest first: grpo, rloo, gae, dr_grpo, reinforce, pass_at_k, on_policy_distill, reinforce_baseline`
	equal(t, "sentence", p[0].Why, want)
}

// Every row is complete, names are unique, and aliases find the same row.
func TestTables(t *testing.T) {
	checkTable(t, Estimators)
	checkTable(t, Losses)
	checkTable(t, Proximals)
	checkTable(t, Aggregations)
	checkTable(t, LengthShapes)
	checkTable(t, Normalisations)
	checkTable(t, Levels)
	checkTable(t, Modes)
	checkTable(t, KLEstimators)
}

func checkTable[T interface{ option() Option }](t *testing.T, rows []T) {
	seen := map[string]bool{}
	for _, r := range rows {
		o := r.option()
		for _, name := range append([]string{o.Name}, o.Alias...) {
			equal(t, name+" is used once", seen[name], false)
			seen[name] = true
			equal(t, name+" finds its row", row(rows, name).option().Name, o.Name)
		}
		if o.Does == "" {
			t.Errorf("%s does not say what it does", o.Name)
		}
	}
	mustPanic(t, "unknown", func() { row(rows, "no such") })
}
