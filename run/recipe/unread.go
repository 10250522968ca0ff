// Settings that only some choices read. Where they were changed and nothing reads them the run is refused: it would not
// mean what its configuration says. What algo knows itself is in algo.Rules.

package recipe

import (
	"errors"
	"slices"
	"strings"

	"molt/algo"
	"molt/run/problem"
)

// readBy is a choice that reads a setting. A setting that ends with a dot is a section.
type readBy struct {
	setting string
	choice  string // that reads it
	reads   func(*Config) bool
}

// readers lists them, but for those of agents.
var readers = []readBy{
	{"actor.eps_clip_low_high", "actor.loss_mode ppo or gspo", func(c *Config) bool { return rowOf(algo.Losses, c.Actor.LossMode).Clips }},
	{"actor.cispo_ceiling", "actor.loss_mode cispo", func(c *Config) bool { return c.Actor.LossMode == "cispo" }},
	{"actor.sapo_tau", "actor.loss_mode sapo", func(c *Config) bool { return c.Actor.LossMode == "sapo" }},
	{"actor.freezing_steps", "algo.advantage.estimator gae", (*Config).Criticises},
	{"critic.", "algo.advantage.estimator gae", (*Config).Criticises},
	{"critic.model_name_or_path", "a critic with a model of its own (critic.shared false)", (*Config).ownCritic},
	{"critic.optim", "a critic with a model of its own (critic.shared false): a value head steps with adam", (*Config).ownCritic},
	{"critic.freeze_params", "a critic with a model of its own (critic.shared false)", (*Config).ownCritic},
	{"critic.lr_scale", "a critic with a model of its own (critic.shared false)", (*Config).ownCritic},
	{"critic.max_epochs", "a critic with a model of its own (critic.shared false), or actor.freezing_steps above 0", func(c *Config) bool { return c.ownCritic() || c.Actor.Freezing > 0 }},
	{"reward.length.max", "reward.length.shape overlong or cosine", func(c *Config) bool { return c.lengthIs("overlong", "cosine") }},
	{"reward.length.buffer", "reward.length.shape overlong", func(c *Config) bool { return c.lengthIs("overlong") }},
	{"reward.length.factor", "reward.length.shape overlong or linear", func(c *Config) bool { return c.lengthIs("overlong", "linear") }},
	{"reward.length.solved", "reward.length.shape linear or cosine", func(c *Config) bool { return c.lengthIs("linear", "cosine") }},
	{"reward.length.correct", "reward.length.shape cosine", func(c *Config) bool { return c.lengthIs("cosine") }},
	{"reward.length.wrong", "reward.length.shape cosine", func(c *Config) bool { return c.lengthIs("cosine") }},
	{"algo.advantage.is_correction_mode", "another algo.advantage.is_correction_level than off", (*Config).corrects},
	{"algo.advantage.is_correction_threshold", "another algo.advantage.is_correction_level than off", (*Config).corrects},
	{"algo.kl.estimator", "algo.kl.init_coef above 0", (*Config).Compares},
	{"algo.kl.use_loss", "algo.kl.init_coef above 0", (*Config).Compares},
	{"algo.kl.horizon", "algo.kl.target above 0", func(c *Config) bool { return c.Algo.KL.Target > 0 }},
	{"algo.dynamic_filtering_range", "algo.dynamic_filtering_enable", func(c *Config) bool { return c.Algo.Filter }},
	{"train.num_episodes", "a run without train.steps", func(c *Config) bool { return c.Train.Steps == 0 }},
	{"eval.n_samples_per_prompt", "eval.dataset", (*Config).evaluates},
	{"eval.temperature", "eval.dataset", (*Config).evaluates},
	{"eval.max_samples", "eval.dataset", (*Config).evaluates},
	{"ckpt.best_metric_key", "eval.dataset", (*Config).evaluates},
	{"ckpt.dtype", "actor.lora.export merged", func(c *Config) bool { return !c.Actor.LoRA.ExportsAdapter() }},
	{"ckpt.max_shard_size", "actor.lora.export merged", func(c *Config) bool { return !c.Actor.LoRA.ExportsAdapter() }},
	{"data.prompt_probs", "a mix of several files", func(c *Config) bool { return len(c.Data.Prompts) != 1 }},
	{"logger.keep_mib", "logger.keep_rollouts above 0", func(c *Config) bool { return c.Logger.KeepPerStep > 0 }},
}

// Unread refuses what was changed and is not read: whatever a flag says, and in a file what differs from the default, because
// the config.yaml of a run holds all settings and is a recipe. Without settings the values alone tell.
func (c *Config) Unread(settings []*Setting, refuse func(setting, why, fix string)) {
	c.checkAgent(refuse)
	builtIn := Defaults()
	before := Settings(&builtIn)
	for i, s := range Settings(c) {
		given := i < len(settings) && settings[i].Source == "flag"
		if !given && s.Text() == before[i].Text() {
			continue
		}
		c.unreadOwn(s, refuse)
		for _, r := range append(readers, readersOfAgent...) {
			if of := strings.HasSuffix(r.setting, ".") && strings.HasPrefix(s.Name, r.setting); (of || s.Name == r.setting) && !r.reads(c) {
				refuse(s.Name, "it has no effect: nothing but "+r.choice+" reads it", "choose that, or leave it out")
			}
		}
	}
}

// CheckAgent refuses flags that say nothing about the agent, and those of agents that were not chosen.
func CheckAgent(c *Config, settings []*Setting) error {
	var problems []error
	for _, s := range settings {
		if s.Source == "flag" && !strings.HasPrefix(s.Name, "agent.") {
			problems = append(problems, &problem.Problem{Code: problem.Combined, Where: s.Name, What: "it has no effect: only settings of the agent are read here", Fix: "leave it out"})
		}
	}
	return errors.Join(append(problems, c.unreadBelow("agent.", settings))...)
}

// CheckFlags refuses flags that nothing reads.
func CheckFlags(c *Config, settings []*Setting) error { return c.unreadBelow("", settings) }

func (c *Config) unreadBelow(section string, settings []*Setting) error {
	var problems []error
	c.Unread(settings, func(setting, why, fix string) {
		if strings.HasPrefix(setting, section) {
			problems = append(problems, &problem.Problem{Code: problem.Combined, Where: setting, What: why, Fix: fix})
		}
	})
	return errors.Join(problems...)
}

// readByEval are the settings that an evaluation reads; a name that ends with a dot is a section.
var readByEval = []string{
	"model.", "data.input_key", "data.label_key", "data.tools_key", "data.id_key", "agent.", "rollout.max_new_tokens", "rollout.max_len",
	"rollout.top_p", "rollout.top_k", "rollout.min_p", "rollout.retries", "eval.dataset", "eval.n_samples_per_prompt", "eval.temperature",
	"eval.max_samples", "train.seed", "engine.",
}

// CheckEval refuses flags that an evaluation does not read, and settings of agents that were not chosen. A recipe may hold more
// of the others: that of a run is a good one.
func CheckEval(c *Config, settings []*Setting) error {
	return errors.Join(checkRead(settings, readByEval, "an evaluation does not read it"), c.unreadBelow("agent.", settings))
}

// readByTry are the settings that a rehearsal reads.
var readByTry = []string{
	"model.", "data.prompt_dataset", "data.input_key", "data.label_key", "data.tools_key", "data.id_key", "agent.", "rollout.max_new_tokens", "rollout.max_len",
	"rollout.temperature", "rollout.top_p", "rollout.top_k", "rollout.min_p", "train.seed", "engine.threads", "engine.cache_mib",
}

// CheckTry refuses flags that a rehearsal does not read, and those of agents that were not chosen.
func CheckTry(c *Config, settings []*Setting) error {
	return errors.Join(checkRead(settings, readByTry, "a rehearsal does not read it"), c.unreadBelow("agent.", settings))
}

func checkRead(settings []*Setting, names []string, why string) error {
	var problems []error
	for _, s := range settings {
		read := slices.ContainsFunc(names, func(name string) bool {
			return s.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(s.Name, name)
		})
		if s.Source == "flag" && !read {
			problems = append(problems, &problem.Problem{Code: problem.Combined, Where: s.Name, What: "it has no effect: " + why, Fix: "leave it out"})
		}
	}
	return errors.Join(problems...)
}
