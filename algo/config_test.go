package algo

import (
	"math"
	"strings"
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
		{"advantage.estimator", func(c *Config, f *Facts) { f.N = 1 }},
		{"advantage.gamma", func(c *Config, _ *Facts) { c.Advantage = AdvantageConfig{Estimator: "reinforce", Gamma: 1.5} }},
		{"advantage.gamma", func(c *Config, _ *Facts) { c.Advantage.Gamma = .9 }},
		{"advantage.no_whiten", func(c *Config, _ *Facts) { c.Advantage.NoWhiten = true }},
		{"correction.level", func(c *Config, f *Facts) { c.Correction.Level, f.MaxLag = "off", 1 }},
		{"correction.level", func(_ *Config, f *Facts) { f.TopP = .95 }},
		{"correction.mode", func(c *Config, _ *Facts) { c.Correction.Level, c.Correction.Mode = "geo", "clip" }},
		{"correction.low", func(c *Config, _ *Facts) { c.Correction.High = .9 }},
		{"loss.clip_low", func(c *Config, _ *Facts) { c.Loss.ClipLow = 1.1 }},
		{"loss.clip_high", func(c *Config, _ *Facts) { c.Loss.ClipHigh = math.NaN() }},
		{"loss.dual_clip", func(c *Config, _ *Facts) { c.Loss.DualClip = 1 }},
		{"loss.dual_clip", func(c *Config, _ *Facts) { c.Loss = LossConfig{Name: "policy_gradient", DualClip: 3} }},
		{"loss.entropy_coef", func(c *Config, _ *Facts) { c.EntropyCoef = -1 }},
		{"kl.coef", func(c *Config, _ *Facts) { c.KL.Coef = -1 }},
		{"kl.coef", func(c *Config, _ *Facts) { c.KL.Coef = .1 }},
		{"kl.coef", func(_ *Config, f *Facts) { f.Reference = true }},
		{"kl.estimator", func(c *Config, f *Facts) { c.KL.Estimator, c.KL.Coef, f.Reference = "k1", .1, true }},
		{"kl.as_loss", func(c *Config, f *Facts) { c.KL.AsLoss, c.KL.Coef, f.Reference = false, .1, true }},
		{"kl.target", func(c *Config, f *Facts) { c.KL.Target, c.KL.Horizon, c.KL.Coef, f.Reference = .1, 0, .1, true }},
		{"kl.target", func(c *Config, _ *Facts) { c.KL.Target = .1 }},
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
		if s := Rules[i].String(); !strings.HasPrefix(s, b.field+": ") || len(Rules[i].Why) < 20 || len(Rules[i].Fix) < 10 {
			t.Errorf("rule %d says too little: %s", i, s)
		}
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
	want := `advantage.estimator: no such name: "gpro"; valid, nearest first: grpo, rloo, dr_grpo, reinforce, reinforce_baseline; choose one of them`
	equal(t, "sentence", p[0].String(), want)
}

// Every row is complete, names are unique, and aliases find the same row.
func TestTables(t *testing.T) {
	checkTable(t, Estimators)
	checkTable(t, Losses)
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

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"gpro", "grpo", 2}, {"ppo", "ppo", 0}} {
		equal(t, c.a+" to "+c.b, distance(c.a, c.b), c.want)
		equal(t, c.b+" to "+c.a, distance(c.b, c.a), c.want)
	}
}
