// The curves of a run: one table that the terminal, TensorBoard and the report read, so that a quantity has the same
// name, unit and meaning everywhere.

package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// Series is a quantity that is drawn over the steps of a run.
type Series struct {
	Name  string // as in events.jsonl, a dot for each level
	Title string // for people
	Unit  string // "" for a plain number
	About string // what it is, and what a healthy run shows
	Phase string // the kind of the events it comes from
	value func(Event) (float64, bool)
}

// Value reads the quantity from an event; ok is false when the event does not have it.
func (s Series) Value(e Event) (v float64, ok bool) {
	if e.Kind() != s.Phase {
		return 0, false
	}
	return s.value(e)
}

// StepSeries are the curves of reinforcement learning and of supervised fine-tuning, in the order reports show them.
var StepSeries = []Series{
	rl("reward.mean", "Reward", "", "mean over the step's graded rollouts; it should rise",
		func(e StepDone) (float64, bool) { return e.Reward.Mean, e.Reward.N > 0 }),
	rl("reward.std", "Reward spread", "", "standard deviation over the step's graded rollouts; 0 means nothing to learn from",
		func(e StepDone) (float64, bool) { return e.Reward.Std, e.Reward.N > 0 }),
	rl("loss", "Loss", "nats", "what the optimizer minimised; it hovers around 0 and says little by itself",
		func(e StepDone) (float64, bool) { return e.Loss, true }),
	rl("entropy", "Entropy", "nats/token", "of the policy over trained tokens; a fall to 0 means it stopped exploring",
		func(e StepDone) (float64, bool) { return optional(e.Entropy) }),
	rl("ratio.k3", "KL old ‖ new", "nats/token", "how far the step's updates but the last moved the policy (k3); healthy below 0.05, and not there when a step has one update",
		func(e StepDone) (float64, bool) { return k3(e.Ratio) }),
	rl("mismatch.k3", "Mismatch KL gen ‖ old", "nats/token", "learner against generator at the same weights (k3); 0 when they agree bit for bit",
		func(e StepDone) (float64, bool) { return k3(e.Mismatch) }),
	rl("mismatch.max", "Largest log-mismatch", "nats", "largest |LogpOld − LogpGen| of a token; 0 when they agree, and the factor of the tables is then 1",
		func(e StepDone) (float64, bool) { return largest(e.Mismatch) }),
	rl("reference.k3", "KL new ‖ reference", "nats/token", "distance from the reference policy (k3)",
		func(e StepDone) (float64, bool) { return k3(e.Reference) }),
	rl("clip_fraction", "Clipped tokens", "share", "share of trained tokens whose gradient the clip took; healthy below 0.2",
		func(e StepDone) (float64, bool) { return optional(e.ClipFraction) }),
	rl("ess", "Effective sample", "share", "effective sample size under the mismatch weights; 1 is on-policy",
		func(e StepDone) (float64, bool) { return optional(e.ESS) }),
	rl("lag.mean", "Lag", "steps", "learner version minus token version, mean over trained tokens",
		func(e StepDone) (float64, bool) { return e.Lag.Mean, e.Lag.N > 0 }),
	rl("lag.max", "Largest lag", "steps", "learner version minus token version, the oldest trained token",
		func(e StepDone) (float64, bool) { return e.Lag.Max, e.Lag.N > 0 }),
	rl("grad_norm", "Gradient norm", "", "global, before clipping; spikes come before trouble",
		func(e StepDone) (float64, bool) { return e.GradNorm, true }),
	rl("learning_rate", "Learning rate", "", "of the step",
		func(e StepDone) (float64, bool) { return e.LearningRate, true }),
	rl("kl_coef", "KL coefficient", "", "weight of the KL to the reference; it follows a target where there is one",
		func(e StepDone) (float64, bool) { return optional(e.KLCoef) }),
	rl("critic.loss", "Value loss", "", "half the squared error of the critic's values, per token; it should fall",
		func(e StepDone) (float64, bool) { return ofCritic(e, func(c *Critic) float64 { return c.Loss }) }),
	rl("critic.explained_variance", "Explained variance", "share", "how much of the returns' variance the critic foresaw; below 0 is worse than a constant",
		func(e StepDone) (float64, bool) { return ofCritic(e, func(c *Critic) float64 { return c.Explained }) }),
	rl("turns.mean", "Turns", "per rollout", "calls of the policy in a rollout",
		func(e StepDone) (float64, bool) { return e.Turns.Mean, e.Turns.N > 0 }),
	rl("action_tokens.mean", "Action tokens", "per rollout", "tokens that the policy sampled in a rollout",
		func(e StepDone) (float64, bool) { return e.ActionTokens.Mean, e.ActionTokens.N > 0 }),
	rl("groups_trained", "Groups that train", "share", "groups left after the filter; the others had no signal",
		func(e StepDone) (float64, bool) { return e.TrainedGroups(), e.Groups > 0 }),
	rl("generated_tokens_per_s", "Generation", "tokens/s", "sampled tokens for each second of generating",
		func(e StepDone) (float64, bool) { return e.GeneratedPerSec, true }),
	rl("trained_tokens_per_s", "Training", "tokens/s", "tokens of the segments for each second of training",
		func(e StepDone) (float64, bool) { return e.TrainedPerSec, true }),
	rl("idle", "Idle", "share", "share of the time in which neither generator nor learner worked",
		func(e StepDone) (float64, bool) { return e.Idle, true }),

	sft("sft.loss", "SFT loss", "nats/token", "mean over trained tokens; it should fall",
		func(e SFTStep) (float64, bool) { return e.Loss, true }),
	sft("sft.held_out_loss", "SFT held-out loss", "nats/token", "mean over the tokens of held-out conversations; when it rises the model memorises",
		func(e SFTStep) (float64, bool) { return optional(e.HeldOut) }),
	sft("sft.grad_norm", "SFT gradient norm", "", "global, before clipping",
		func(e SFTStep) (float64, bool) { return e.GradNorm, true }),
	sft("sft.learning_rate", "SFT learning rate", "", "of the step",
		func(e SFTStep) (float64, bool) { return e.LearningRate, true }),
	sft("sft.tokens_per_s", "SFT speed", "tokens/s", "all tokens of the batches, for each second of training",
		func(e SFTStep) (float64, bool) { return float64(e.Tokens) / e.WallSeconds, e.WallSeconds > 0 }),
}

// EvalSeries are the curves of one evaluation, such as held_out at temperature 1.
func EvalSeries(name string, temperature float64) []Series {
	is := func(e EvalDone) bool { return e.Name == name && e.Temperature == temperature }
	prefix := "eval." + name + "." + Decoding(temperature)
	title := name + ", " + decodingWords(temperature)
	return []Series{
		eval(prefix+".pass_at_1", title, "share", "mean score over the prompts of "+name,
			func(e EvalDone) (float64, bool) { return e.PassAt1, is(e) }),
		eval(prefix+".pass_at_k", "Best of k, "+title, "share", "share of the prompts of "+name+" that some sample solved",
			func(e EvalDone) (float64, bool) { return e.PassAtK, is(e) && e.Samples > 1 }),
		eval(prefix+".turns", "Turns, "+title, "per rollout", "calls of the policy in a rollout",
			func(e EvalDone) (float64, bool) { return e.Turns.Mean, is(e) && e.Turns.N > 0 }),
	}
}

// InfoSeries is the curve of one of the environment's numbers.
func InfoSeries(name string) Series {
	return rl("info."+name, name, "per rollout", "a number from the environment, mean over graded rollouts",
		func(e StepDone) (float64, bool) { v, ok := e.Info[name]; return v, ok })
}

// Decoding spells a sampling temperature.
func Decoding(temperature float64) string {
	if temperature == 0 {
		return "greedy"
	}
	return "t" + strconv.FormatFloat(temperature, 'g', -1, 64)
}

// AllSeries lists the curves that the records have at least one number for.
func AllSeries(records []Record) []Series {
	var all []Series
	type set struct {
		name        string
		temperature float64
	}
	var sets []set
	for _, e := range Of[EvalDone](records) {
		if s := (set{e.Name, e.Temperature}); !slices.Contains(sets, s) {
			sets = append(sets, s)
		}
	}
	slices.SortStableFunc(sets, func(a, b set) int { return cmp.Compare(b.temperature, a.temperature) })
	for _, s := range sets {
		all = append(all, EvalSeries(s.name, s.temperature)...)
	}
	all = append(all, StepSeries...)
	for _, name := range infoNames(records) {
		all = append(all, InfoSeries(name))
	}
	return slices.DeleteFunc(all, func(s Series) bool {
		return !slices.ContainsFunc(records, func(r Record) bool { _, ok := s.Value(r.Event); return ok })
	})
}

func infoNames(records []Record) []string {
	names := map[string]bool{}
	for _, e := range Of[StepDone](records) {
		for name := range e.Info {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TrainedGroups is the share of the step's groups that trained.
func (e StepDone) TrainedGroups() float64 {
	filtered := 0
	for _, n := range e.Filtered {
		filtered += n
	}
	return float64(e.Groups-filtered) / float64(e.Groups)
}

func rl(name, title, unit, about string, value func(StepDone) (float64, bool)) Series {
	return series(name, title, unit, about, value)
}

func sft(name, title, unit, about string, value func(SFTStep) (float64, bool)) Series {
	return series(name, title, unit, about, value)
}

func eval(name, title, unit, about string, value func(EvalDone) (float64, bool)) Series {
	return series(name, title, unit, about, value)
}

func series[E Event](name, title, unit, about string, value func(E) (float64, bool)) Series {
	var e E
	return Series{name, title, unit, about, e.Kind(), func(e Event) (float64, bool) { return value(e.(E)) }}
}

func optional(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

func ofCritic(e StepDone, value func(*Critic) float64) (float64, bool) {
	if e.Critic == nil {
		return 0, false
	}
	return value(e.Critic), true
}

func k3(d *Divergence) (float64, bool) {
	if d == nil {
		return 0, false
	}
	return d.K3, true
}

func largest(d *Divergence) (float64, bool) {
	if d == nil {
		return 0, false
	}
	return d.Max, true
}

// StepOf is the step that an event belongs to, on the axis of its phase.
func StepOf(e Event) (step int64, ok bool) {
	switch e := e.(type) {
	case SFTStep:
		return e.Step, true
	case StepDone:
		return e.Step, true
	case EvalDone:
		return e.Step, true
	case CheckpointSaved:
		return e.Step, true
	case RolloutsKept:
		return e.Step, true
	case Alarm:
		return e.Step, true
	}
	return 0, false
}
