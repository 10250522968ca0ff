package recipe

import (
	"strings"
	"testing"

	"molt/internal/spell"
)

func TestSettingsHaveNamesHelpAndValidDefaults(t *testing.T) {
	rl, sft := Defaults(), SFTDefaults()
	for _, settings := range [][]*Setting{Settings(&rl), Settings(&sft)} {
		seen := map[string]bool{}
		for _, s := range settings {
			for _, name := range append(s.Aliases, s.Name) {
				if seen[name] {
					t.Errorf("%s is used twice", name)
				}
				seen[name] = true
			}
			if s.Help == "" || strings.Contains(s.Name, "-") || strings.HasSuffix(s.Name, ".") {
				t.Errorf("%s needs a name and a help text", s.Name)
			}
			if text := s.Text(); text != "" {
				if err := s.Set(text, "default"); err != nil {
					t.Errorf("default of %s: %v", s.Name, err)
				}
			}
		}
	}
}

func TestSet(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"rollout.batch_size", "32", ""},
		{"rollout.batch-size", "32", ""},
		{"data.max_len", "512", ""}, // the original's name of rollout.max_len
		{"rollout.batch_size", "0", "wants >=1, not 0"},
		{"rollout.batch_size", "many", `wants a whole number, not "many"`},
		{"rollout.temperature", "0", "wants [0.001,1000], not 0"},
		{"rollout.temperature", "1e-30", "wants [0.001,1000], not 1e-30"},
		{"eval.temperature", "0", ""},
		{"eval.temperature", "1e-30", "wants 0 or [0.001,1000], not 1e-30"},
		{"rollout.top_p", "0", "wants (0,1], not 0"},
		{"rollout.top_p", "1", ""},
		{"rollout.min_p", "1", "wants [0,1), not 1"},
		{"actor.adam.lr", "NaN", `wants a finite number, not "NaN"`},
		{"actor.adam.lr", "Inf", `wants a finite number, not "Inf"`},
		{"actor.adam.lr", "-1", "wants >=0, not -1"},
		{"actor.eps_clip_low_high", "0.2,0.28", ""},
		{"actor.eps_clip_low_high", "0.2", "wants 2 values separated by commas, not 1"},
		{"algo.advantage.estimator", "gpro", "wants one of grpo, dr_grpo, rloo, pass_at_k, reinforce_baseline, reinforce, reinforce++, gae, on_policy_distill, not \"gpro\"; did you mean grpo?"},
		{"train.seed", "18446744073709551615", ""},
		{"train.seed", "-1", `wants a whole number >= 0, not "-1"`},
		{"algo.dynamic_filtering_enable", "true", ""},
		{"algo.dynamic_filtering_enable", "perhaps", `wants true or false, not "perhaps"`},
	}
	for _, c := range cases {
		cfg := Defaults()
		s := Find(Settings(&cfg), c.name)
		if s == nil {
			t.Fatalf("no setting %s", c.name)
		}
		err := s.Set(c.text, "flag")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s = %q: %v", c.name, c.text, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s = %q: got %v, want %s", c.name, c.text, err, c.want)
		case c.want == "" && (s.Text() != c.text || s.Source != "flag"):
			t.Errorf("%s = %q reads back %q from %s", c.name, c.text, s.Text(), s.Source)
		}
	}
}

func TestNearest(t *testing.T) {
	cfg := Defaults()
	names := Names(Settings(&cfg))
	cases := map[string]string{
		"actor.adam.lrr":              "actor.adam.lr",
		"rollout.batchsize":           "rollout.batch_size",
		"rollout.n_sample_per_prompt": "rollout.n_samples_per_prompt",
		"train.sede":                  "train.seed",
		"algo.advantage.estimater":    "algo.advantage.estimator",
		"completely.different":        "",
	}
	for typo, want := range cases {
		if got := spell.Nearest(typo, names); got != want {
			t.Errorf("nearest to %s: got %q, want %q", typo, got, want)
		}
	}
}

func TestEveryOriginalFlagIsAcceptedOrExplained(t *testing.T) {
	rl := Defaults()
	settings := Settings(&rl)
	for _, name := range []string{
		"actor.model_name_or_path", "data.prompt_dataset", "data.prompt_probs", "data.max_samples", "data.max_len", "data.input_key",
		"data.label_key", "data.tools_key", "algo.advantage.estimator", "algo.advantage.gamma", "algo.advantage.no_whiten",
		"algo.advantage.is_correction_level", "algo.advantage.is_correction_mode", "algo.advantage.is_correction_threshold",
		"algo.kl.use_loss", "algo.kl.estimator", "algo.kl.init_coef", "algo.kl.target", "algo.kl.horizon",
		"algo.dynamic_filtering_enable", "algo.dynamic_filtering_range", "reward.clip_range", "actor.eps_clip_low_high",
		"actor.dual_clip", "actor.loss_mode", "actor.entropy_coef", "actor.adam.lr", "actor.adam.betas", "actor.adam.eps",
		"actor.adam.weight_decay", "actor.lr_scheduler", "actor.lr_warmup_ratio", "actor.min_lr_ratio", "actor.max_norm",
		"train.batch_size", "train.max_epochs", "train.num_episodes", "train.max_tokens_per_gpu", "train.seed", "train.force_on_policy",
		"rollout.batch_size", "rollout.vllm_generate_batch_size", "rollout.n_samples_per_prompt", "rollout.max_new_tokens",
		"rollout.temperature", "rollout.top_p", "eval.dataset", "eval.steps", "eval.temperature", "eval.n_samples_per_prompt",
		"eval.eval_at_start", "ckpt.output_dir", "ckpt.path", "ckpt.save_steps", "ckpt.max_num", "ckpt.max_mem", "ckpt.best_metric_key",
		"vllm.num_engines", "fsdp.tp_size", "critic.model_name_or_path", "critic.value_clip", "critic.max_epochs",
		"critic.adam.lr", "critic.lr_scheduler", "critic.lr_warmup_ratio", "critic.min_lr_ratio", "critic.max_norm", "critic.freeze_moe_router",
		"ref.model_name_or_path", "ref.num_nodes", "actor.num_gpus_per_node", "algo.advantage.lam", "algo.advantage.is_correction_gating",
		"actor.loss_agg_mode", "reward.overlong_buffer_len", "reward.overlong_penalty_factor", "reward.stop_properly_penalty_coef",
		"actor.freeze_visual_encoder", "actor.optim", "actor.muon.lr", "actor.muon.momentum",
		"actor.muon.weight_decay", "actor.muon.ns_steps", "actor.muon.nesterov", "actor.muon.no_nesterov", "critic.optim", "critic.muon.lr",
		"actor.freeze_moe_router", "train.agent_path", "data.image_key",
		"train.async_queue_size", "logger.wandb.key", "actor.freezing_steps", "data.apply_chat_template", "rollout.num_runners",
	} {
		if Find(settings, name) == nil && NotHere(name) == "" {
			t.Errorf("--%s of the original is neither accepted nor explained", name)
		}
	}
}
