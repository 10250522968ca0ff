package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"molt/algo"
	"molt/run/problem"
	"molt/run/recipe"
)

// TestEveryFieldOfAlgoHasASetting: whatever algo may refuse is told in a name that the user can type.
func TestEveryFieldOfAlgoHasASetting(t *testing.T) {
	c := recipe.Defaults()
	settings := recipe.Settings(&c)
	fields := map[string]bool{}
	for _, r := range algo.Rules {
		fields[r.Field] = true
	}
	for _, s := range algo.Settings {
		fields[s.Name] = true
	}
	for field := range fields {
		if s := recipe.Find(settings, settingOf(field)); s == nil || s.Name != settingOf(field) {
			t.Errorf("%s is told as %s, which is no setting", field, settingOf(field))
		}
		delete(fields, field)
	}
	for field := range settingNames {
		if !slices.ContainsFunc(algo.Settings, func(s algo.Setting) bool { return s.Name == field }) {
			t.Errorf("%s is no field of algo", field)
		}
	}
}

// TestEveryNameOfAlgoCanBeChosen: the words of the settings are the rows of algo's tables, no more and no less.
func TestEveryNameOfAlgoCanBeChosen(t *testing.T) {
	c := recipe.Defaults()
	settings := recipe.Settings(&c)
	words(t, recipe.Find(settings, "algo.advantage.estimator"), algo.Estimators)
	words(t, recipe.Find(settings, "algo.advantage.is_correction_level"), algo.Levels)
	words(t, recipe.Find(settings, "algo.advantage.is_correction_mode"), algo.Modes)
	words(t, recipe.Find(settings, "algo.kl.estimator"), algo.KLEstimators)
	words(t, recipe.Find(settings, "actor.loss_mode"), algo.Losses)
	words(t, recipe.Find(settings, "actor.proximal"), algo.Proximals)
	words(t, recipe.Find(settings, "actor.loss_agg_mode"), algo.Aggregations)
	words(t, recipe.Find(settings, "reward.length.shape"), algo.LengthShapes)
	words(t, recipe.Find(settings, "reward.normalise"), algo.Normalisations)
}

func words[T interface{ Called(string) bool }](t *testing.T, s *recipe.Setting, rows []T) {
	t.Helper()
	for _, word := range s.Enum {
		if !slices.ContainsFunc(rows, func(r T) bool { return r.Called(word) }) {
			t.Errorf("%s may be %s, which algo does not know", s.Name, word)
		}
	}
	for i, r := range rows {
		if !slices.ContainsFunc(s.Enum, r.Called) {
			t.Errorf("%s cannot be row %d of its table", s.Name, i)
		}
	}
}

// TestDefaultsReachAlgo: a setting that is left alone means what algo's own default means, but where the page says otherwise.
func TestDefaultsReachAlgo(t *testing.T) {
	c := recipe.Defaults()
	p := &rlPlan{cfg: &c}
	p.mathematics()
	want := algo.Default()
	want.Correction.Mode = "trunc" // the original masks; an exact engine needs neither
	want.KL.Estimator, want.KL.AsLoss = "k3", false
	want.Lag.Decay = 1 // 0 and 1 both mean off
	if p.algo != want {
		t.Errorf("got  %+v\nwant %+v", p.algo, want)
	}
}

// TestRefusals: what is known to be wrong, or to do nothing, is refused in the user's words.
func TestRefusals(t *testing.T) {
	gae := func(c *recipe.Config) { c.Algo.Advantage.Estimator = "gae" }
	for name, c := range map[string]struct {
		change func(*recipe.Config)
		where  string
		what   string
	}{
		"clip without a loss that clips":  {func(c *recipe.Config) { c.Actor.LossMode, c.Actor.Clip = "cispo", []float64{0.2, 0.3} }, "actor.eps_clip_low_high", "nothing but actor.loss_mode ppo or gspo reads it"},
		"ceiling without cispo":           {func(c *recipe.Config) { c.Actor.Ceiling = 3 }, "actor.cispo_ceiling", "no effect"},
		"tau without sapo":                {func(c *recipe.Config) { c.Actor.Tau[0] = 3 }, "actor.sapo_tau", "no effect"},
		"dual clip with gspo":             {func(c *recipe.Config) { c.Actor.LossMode, c.Actor.DualClip = "gspo", 3 }, "actor.dual_clip", "no second bound"},
		"critic without gae":              {func(c *recipe.Config) { c.Critic.Adam.LR = 1 }, "critic.adam.lr", "no effect"},
		"warm-up without a critic":        {func(c *recipe.Config) { c.Actor.Freezing = 1 }, "actor.freezing_steps", "no effect"},
		"warm-up of the whole run":        {func(c *recipe.Config) { gae(c); c.Actor.Freezing = 4 }, "actor.freezing_steps", "would not move in any of the 4 batches"},
		"lambda without gae":              {func(c *recipe.Config) { c.Algo.Advantage.Lambda = 0.9 }, "algo.advantage.lam", "no values"},
		"gamma with a group estimator":    {func(c *recipe.Config) { c.Algo.Advantage.Gamma = 0.9 }, "algo.advantage.gamma", "no effect"},
		"one rollout in a group":          {func(c *recipe.Config) { c.Rollout.Samples, c.Train.BatchSize = 1, 0 }, "algo.advantage.estimator", "too few to compare"},
		"buffer without overlong":         {func(c *recipe.Config) { c.Reward.Length.Buffer = 3 }, "reward.length.buffer", "no effect"},
		"overlong without a longest":      {func(c *recipe.Config) { c.Reward.Length.Shape, c.Reward.Length.Buffer = "overlong", 3 }, "reward.length.max", "no longest rollout"},
		"constant without tokens":         {func(c *recipe.Config) { c.Actor.Aggregation = "seq-mean-token-sum-norm" }, "actor.loss_max_tokens", "no constant"},
		"behavior with correction":        {func(c *recipe.Config) { c.Actor.Proximal = "behavior" }, "actor.proximal", "count the mismatch twice"},
		"off with stale rollouts":         {func(c *recipe.Config) { c.Train.Mode, c.Algo.Advantage.Level = "one_step_ahead", "off" }, "algo.advantage.is_correction_level", "may be stale"},
		"mode without correction":         {func(c *recipe.Config) { c.Algo.Advantage.Level, c.Algo.Advantage.Mode = "off", "clip" }, "algo.advantage.is_correction_mode", "no effect"},
		"trunc with segments":             {func(c *recipe.Config) { c.Algo.Advantage.Level = "geo" }, "algo.advantage.is_correction_mode", "as a whole"},
		"top-p with correction":           {func(c *recipe.Config) { c.Rollout.TopP = 0.9 }, "algo.advantage.is_correction_level", "cut distribution"},
		"decay in step":                   {func(c *recipe.Config) { c.Algo.Lag.Decay = 0.5 }, "algo.lag.decay", "no token is ever stale"},
		"a reference that nothing reads":  {func(c *recipe.Config) { c.Ref.Path = c.Model.Path }, "algo.kl.init_coef", "nothing reads it"},
		"KL in a reward nobody reads":     {func(c *recipe.Config) { c.Algo.KL.Coef = 1 }, "algo.kl.use_loss", "does not read the KL"},
		"k1 as a loss":                    {func(c *recipe.Config) { c.Algo.KL.Coef, c.Algo.KL.UseLoss, c.Algo.KL.Estimator = 1, true, "k1" }, "algo.kl.estimator", "gradient of mean 0"},
		"KL estimator without KL":         {func(c *recipe.Config) { c.Algo.KL.Estimator = "k2" }, "algo.kl.estimator", "no effect"},
		"distillation without a teacher":  {func(c *recipe.Config) { distil(c, "") }, "ref.model_name_or_path", "there is none"},
		"distillation from oneself":       {func(c *recipe.Config) { distil(c, c.Model.Path) }, "ref.model_name_or_path", "it teaches nothing"},
		"muon settings with adam":         {func(c *recipe.Config) { c.Actor.Muon.Momentum = 0.9 }, "actor.muon.momentum", "nothing but actor.optim muon reads it"},
		"muon settings of an adam critic": {func(c *recipe.Config) { gae(c); c.Critic.Muon.Nesterov = false }, "critic.muon.nesterov", "nothing but critic.optim muon reads it"},
		"other iterations":                {func(c *recipe.Config) { c.Actor.Optim, c.Actor.Muon.NSSteps = "muon", 6 }, "actor.muon.ns_steps", "made for 5"},
		"half a decay":                    {func(c *recipe.Config) { c.Actor.Optim, c.Actor.Muon.WeightDecay = "muon", -0.5 }, "actor.muon.weight_decay", "-0.5 means nothing"},
		"decay without wsd":               {func(c *recipe.Config) { c.Actor.DecayRatio = 0.5 }, "actor.lr_decay_ratio", "nothing but actor.lr_scheduler wsd reads it"},
		"end of a constant rate":          {func(c *recipe.Config) { c.Actor.MinLRRatio = 0.5 }, "actor.min_lr_ratio", "nothing but another actor.lr_scheduler than constant reads it"},
		"wsd that warms up too long":      {func(c *recipe.Config) { c.Actor.Scheduler, c.Actor.DecayRatio, c.Actor.WarmupSteps = "wsd", 0.5, 5 }, "actor.lr_warmup_steps", "goes down from step 4"},
		"a pattern without a factor":      {func(c *recipe.Config) { c.Actor.LRScale = []string{"model.*"} }, "actor.lr_scale", `"model.*" is no pattern with a factor`},
		"a pattern in vain":               {func(c *recipe.Config) { c.Actor.Freeze = []string{"visual.*"} }, "actor.freeze_params", `"visual.*" decides about no parameter; names are like model.layers.`},
		"a factor in vain":                {func(c *recipe.Config) { c.Actor.LRScale = []string{"lm_head.*=2"} }, "actor.lr_scale", `"lm_head.*" decides about no parameter`},
		"a critic frozen in vain":         {func(c *recipe.Config) { gae(c); c.Critic.Freeze = []string{"visual.*"} }, "critic.freeze_params", "decides about no parameter"},
		"everything frozen":               {func(c *recipe.Config) { c.Actor.Freeze = []string{"*"} }, "actor.freeze_params", "leaves nothing to train"},
		"filter range without a filter":   {func(c *recipe.Config) { c.Algo.Range[0] = 0.1 }, "algo.dynamic_filtering_range", "no effect"},
		"turn discount without turns":     {func(c *recipe.Config) { c.Algo.Advantage.TurnGamma = 0.5 }, "algo.advantage.turn_gamma", "no rewards of their own"},
	} {
		cfg := microRL(t)
		c.change(cfg)
		_, err := preflight(t.Context(), cfg)
		if p := problemAt(err, c.where); p == nil || !strings.Contains(p.Error(), c.what) {
			t.Errorf("%s: got %v; want %s refused: %s", name, err, c.where, c.what)
		}
	}
}

// distil learns from the model at path.
func distil(c *recipe.Config, path string) {
	c.Algo.Advantage.Estimator, c.Ref.Path = "on_policy_distill", path
	c.Algo.KL.Coef, c.Algo.KL.Estimator = 1, "k1"
}

// problemAt finds the problem about a setting among all that were found.
func problemAt(err error, where string) *problem.Problem {
	if p, ok := err.(*problem.Problem); ok && p.Where == where {
		return p
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			if p := problemAt(e, where); p != nil {
				return p
			}
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return problemAt(inner, where)
	}
	return nil
}
