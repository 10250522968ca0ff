#!/bin/sh
# Trains adapters (LoRA) of several ranks on the quickstart's model beside its weights, and PPO with a critic of its own
# beside one on the policy's trunk. One line for each run: name, learning rate, seed, success on held-out prompts after 0, 4,
# 8, … batches, seconds; for fine-tuning the held-out loss. docs/results/adapters.md shows the outcome.
#
#	scripts/results/adapters.sh rl|critic|sft QUICKSTART_FOLDER OUTPUT_FOLDER
set -eu
what=$1 quick=$2 out=$3
molt=${MOLT:-bin/molt} seeds=${SEEDS:-1 2 3}
mkdir -p "$out"

# field NAME reads a number from the result's JSON.
field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }

# rl NAME RATE SEED FLAG...
rl() {
	name=$1 rate=$2 seed=$3 dir=$out/rl-$1-$2-$3
	shift 3
	result=$($molt rl --model.model_name_or_path "$quick/sft/final" --data.prompt_dataset "$quick/prompts.jsonl" --data.label_key label --data.id_key id \
		--agent.name shop --agent.max_turns 6 --rollout.batch_size 32 --rollout.n_samples_per_prompt 8 --rollout.max_new_tokens 48 --rollout.max_len 320 \
		--actor.adam.lr "$rate" --actor.adam.betas 0.9,0.99 --actor.lr_scheduler linear --actor.lr_warmup_steps 3 \
		--train.steps 20 --train.batch_size 64 --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--eval.dataset "$quick/held_out.jsonl" --eval.eval_at_start --eval.steps 4 \
		--ckpt.save_steps 1000 --logger.tensorboard=false --ckpt.path "$dir" --json -q "$@" | tail -n 1)
	scores=$(sed -n 's/.*"kind":"eval_done".*"pass_at_1":\([0-9.]*\).*/\1/p' "$dir/events.jsonl" | xargs printf '%.2f ')
	printf '%s\t%s\t%s\t%s\t%.0f s\n' "$name" "$rate" "$seed" "$scores" "$(echo "$result" | field seconds)"
}

# sft NAME RATE SEED MODEL FLAG...
sft() {
	name=$1 rate=$2 seed=$3 model=$4
	shift 4
	result=$($molt sft --model.model_name_or_path "$model" --data.dataset "$out/learn.jsonl" --eval.dataset "$out/held_out.jsonl" \
		--data.max_len 512 --train.steps 200 --train.batch_size 8 --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--model.lr_scheduler cosine --model.lr_warmup_steps 20 --model.adam.lr "$rate" \
		--ckpt.save_steps 1000 --logger.tensorboard=false --ckpt.path "$out/sft-$name-$rate-$seed" --json -q "$@" | tail -n 1)
	printf '%s\t%s\t%s\t%.3f\t%.0f s\n' "$name" "$rate" "$seed" "$(echo "$result" | field held_out_loss)" "$(echo "$result" | field seconds)"
}

for seed in $seeds; do
	case $what in
	rl)
		rl weights 7e-4 "$seed"
		for rate in 2e-3 5e-3 1e-2; do rl r8 $rate "$seed" --actor.lora.rank 8; done
		rl r1 5e-3 "$seed" --actor.lora.rank 1
		rl r16 5e-3 "$seed" --actor.lora.rank 16
		rl r64-rslora 2e-3 "$seed" --actor.lora.rank 64 --actor.lora.alpha 16 --actor.lora.rslora
		rl r8-qv 1e-2 "$seed" --actor.lora.rank 8 --actor.lora.target_modules q_proj,v_proj
		;;
	critic)
		rl own 7e-4 "$seed" --algo.advantage.estimator gae --critic.adam.lr 7e-4
		for coef in 0.1 0.5 1; do
			rl shared-$coef 7e-4 "$seed" --algo.advantage.estimator gae --critic.shared --critic.adam.lr 3e-3 --critic.value_coef $coef
		done
		rl shared-lora 5e-3 "$seed" --algo.advantage.estimator gae --critic.shared --critic.adam.lr 3e-3 --critic.value_coef 0.5 --actor.lora.rank 8
		;;
	sft)
		head -n 6000 "$quick/demos.jsonl" >"$out/learn.jsonl"
		tail -n +6001 "$quick/demos.jsonl" >"$out/held_out.jsonl"
		sft weights 3e-3 "$seed" "$quick/init"
		for rate in 5e-3 2e-2; do sft drawn-r16 $rate "$seed" "$quick/init" --model.lora.rank 16; done
		;;
	esac
done
