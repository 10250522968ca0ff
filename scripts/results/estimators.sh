#!/bin/sh
# Trains the quickstart's imitation model with every estimator, loss and correction, some batches each, and writes one line
# for each: success on held-out prompts before and after, seconds, alarms. docs/results/estimators.md shows the outcome.
#
#	scripts/results/estimators.sh QUICKSTART_FOLDER OUTPUT_FOLDER [WAY ...]
set -eu
quick=$1 out=$2
shift 2
molt=${MOLT:-bin/molt} seed=${SEED:-0} steps=${STEPS:-16}
only=" $* "
mkdir -p "$out"

task="--data.label_key label --data.id_key id --agent.name shop --agent.max_turns 6 --rollout.max_new_tokens 48 --rollout.max_len 320"

# way NAME FLAG... trains one way, unless it has been trained.
way() {
	name=$1
	shift
	case "$only" in "  " | *" $name "*) ;; *) return ;; esac
	dir=$out/$name
	[ -e "$dir.json" ] && return
	if ! $molt rl --model.model_name_or_path "$quick/sft/final" --data.prompt_dataset "$quick/prompts.jsonl" $task \
		--rollout.batch_size 32 --rollout.n_samples_per_prompt 8 \
		--actor.adam.lr 7e-4 --actor.adam.betas 0.9,0.99 --actor.lr_scheduler linear --actor.lr_warmup_steps 3 \
		--train.steps "$steps" --train.batch_size 64 --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--eval.dataset "$quick/held_out.jsonl" --eval.eval_at_start --eval.steps 4 \
		--ckpt.path "$dir" --ckpt.save_steps 1000 --logger.tensorboard=false --json -q "$@" >"$dir.out" 2>&1; then
		printf '%s\tfailed: %s\n' "$name" "$(tail -1 "$dir.out")"
		return
	fi
	tail -1 "$dir.out" >"$dir.json"
	$molt eval --model.model_name_or_path "$dir/last" $task --eval.dataset "$quick/fresh.jsonl" --train.seed "$seed" --json -q >"$dir.eval" 2>&1
	tail -1 "$dir.eval" >"$dir.fresh.json"
	report "$name" "$dir" "$*"
}

# report writes name, held-out success by evaluation, success on fresh prompts, seconds, alarms and flags.
report() {
	curve=$(grep '"kind":"eval_done"' "$2/events.jsonl" | sed 's/.*"pass_at_1":\([0-9.e-]*\).*/\1/' | awk '{printf "%s%.1f", (NR>1 ? " " : ""), 100*$1}')
	fresh=$(sed 's/.*"pass_at_1":\([0-9.e-]*\).*/\1/' "$2.fresh.json" | awk '{printf "%.1f", 100*$1}')
	seconds=$(sed 's/.*"seconds":\([0-9.e-]*\).*/\1/' "$2.json" | awk '{printf "%.0f", $1}')
	alarms=$(grep '"kind":"alarm"' "$2/events.jsonl" | sed 's/.*"name":"\([a-z-]*\)".*/\1/' | sort | uniq -c | awk '{printf "%s%s×%s", (NR>1 ? " " : ""), $2, $1}')
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$curve" "$fresh" "$seconds" "${alarms:-none}" "$3"
}

way control --reward.shuffle
way grpo
way dr_grpo --algo.advantage.estimator dr_grpo
way rloo --algo.advantage.estimator rloo
way pass_at_k --algo.advantage.estimator pass_at_k --algo.advantage.k 4
way pass_at_2 --algo.advantage.estimator pass_at_k --algo.advantage.k 2
way reinforce_baseline --algo.advantage.estimator reinforce_baseline
way reinforce --algo.advantage.estimator reinforce
way reinforce_kl --algo.advantage.estimator reinforce --algo.kl.init_coef 0.01 --algo.kl.estimator k1
way gae --algo.advantage.estimator gae --critic.adam.lr 1e-3
way gae_warm --algo.advantage.estimator gae --algo.advantage.lam 0.95 --critic.adam.lr 1e-3 --critic.max_epochs 2 --actor.freezing_steps 2
way gae_shared --algo.advantage.estimator gae --critic.shared --critic.adam.lr 1e-3
way distill --algo.advantage.estimator on_policy_distill --algo.kl.init_coef 1 --algo.kl.estimator k1 --ref.model_name_or_path "$quick/rl/best"
way gspo --actor.loss_mode gspo --actor.eps_clip_low_high 3e-4,4e-4
way gspo_wide --actor.loss_mode gspo
way cispo --actor.loss_mode cispo
way sapo --actor.loss_mode sapo
way pg --actor.loss_mode pg
way pg_once --actor.loss_mode pg --train.batch_size 0
way grpo_once --train.batch_size 0
way clip_higher --actor.eps_clip_low_high 0.2,0.28 --actor.dual_clip 3
way behavior --actor.proximal behavior --algo.advantage.is_correction_level off
way rollout_sum --actor.loss_agg_mode rollout_sum
way rollout_mean --actor.loss_agg_mode rollout_mean
way dr_grpo_constant --algo.advantage.estimator dr_grpo --actor.loss_agg_mode constant --actor.loss_max_tokens 128
way ahead --train.mode one_step_ahead
way ahead_geo --train.mode one_step_ahead --algo.advantage.is_correction_level geo --algo.advantage.is_correction_mode mask
way ahead_decay --train.mode one_step_ahead --algo.lag.decay 0.9
way ahead_behavior --train.mode one_step_ahead --actor.proximal behavior --algo.advantage.is_correction_level off
way kl_loss --algo.kl.init_coef 0.01 --algo.kl.use_loss --algo.kl.estimator k3_unbiased
way entropy --actor.entropy_coef 0.003
way turns --algo.advantage.estimator rloo --algo.advantage.turns --algo.advantage.turn_gamma 0.9
way overlong --reward.length.shape overlong --reward.length.max 160 --reward.length.buffer 80
way running --algo.advantage.estimator dr_grpo --reward.normalise running
way dynamic --algo.dynamic_filtering_enable
way two_epochs --train.max_epochs 2
way muon --actor.optim muon --actor.muon.lr 3e-3
way muon_fast --actor.optim muon
way bf16 --actor.adam.bf16_moments
way lora --actor.lora.rank 16 --actor.adam.lr 7e-3
way lora_fast --actor.lora.rank 16 --actor.adam.lr 1e-2
