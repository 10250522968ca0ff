#!/bin/sh
# Trains the quickstart's model with AdamW and with Muon at several learning rates, and writes one line for each run: the
# optimizer, its learning rate, the seed, then for fine-tuning the held-out loss, for reinforcement learning the success on
# held-out prompts after 0, 4, 8, … batches, and seconds. docs/results/optimizers.md shows the outcome.
#
#	scripts/results/optimizers.sh sft|rl QUICKSTART_FOLDER OUTPUT_FOLDER
set -eu
what=$1 quick=$2 out=$3
molt=${MOLT:-bin/molt} seeds=${SEEDS:-1 2 3} steps=${STEPS:-}
mkdir -p "$out"
head -n 6000 "$quick/demos.jsonl" >"$out/learn.jsonl"
tail -n +6001 "$quick/demos.jsonl" >"$out/held_out.jsonl"

# field NAME reads a number from the result's JSON.
field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }

# sft NAME RATE SEED FLAG...
sft() {
	name=$1 rate=$2 seed=$3
	shift 3
	result=$($molt sft --model.model_name_or_path "$quick/init" --data.dataset "$out/learn.jsonl" --eval.dataset "$out/held_out.jsonl" \
		--data.max_len 512 --train.steps "${steps:-200}" --train.batch_size 8 --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--model.lr_scheduler cosine --model.lr_warmup_steps 20 --model.adam.lr 3e-3 --model.adam.weight_decay 0.01 \
		--ckpt.save_steps 1000 --logger.tensorboard=false --ckpt.path "$out/sft-$name-$rate-$seed" --json -q "$@" | tail -n 1)
	printf '%s\t%s\t%s\t%.3f\t%.0f s\n' "$name" "$rate" "$seed" "$(echo "$result" | field held_out_loss)" "$(echo "$result" | field seconds)"
}

# rl NAME RATE SEED FLAG...
rl() {
	name=$1 rate=$2 seed=$3 dir=$out/rl-$1-$2-$3
	shift 3
	result=$($molt rl --model.model_name_or_path "$quick/sft/final" --data.prompt_dataset "$quick/prompts.jsonl" --data.label_key label --data.id_key id \
		--agent.name shop --agent.max_turns 6 --rollout.batch_size 32 --rollout.n_samples_per_prompt 8 --rollout.max_new_tokens 48 --rollout.max_len 320 \
		--actor.adam.lr 7e-4 --actor.adam.betas 0.9,0.99 --actor.lr_scheduler linear --actor.lr_warmup_steps 3 \
		--train.steps "${steps:-20}" --train.batch_size 64 --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--eval.dataset "$quick/held_out.jsonl" --eval.eval_at_start --eval.steps 4 \
		--ckpt.save_steps 1000 --logger.tensorboard=false --ckpt.path "$dir" --json -q "$@" | tail -n 1)
	scores=$(sed -n 's/.*"kind":"eval_done".*"pass_at_1":\([0-9.]*\).*/\1/p' "$dir/events.jsonl" | xargs printf '%.2f ')
	printf '%s\t%s\t%s\t%s\t%.0f s\n' "$name" "$rate" "$seed" "$scores" "$(echo "$result" | field seconds)"
}

for seed in $seeds; do
	case $what in
	sft)
		for rate in 1e-3 3e-3 6e-3 1e-2; do sft adam $rate "$seed" --model.adam.lr $rate; done
		for rate in 0.005 0.01 0.02 0.04 0.08; do sft muon $rate "$seed" --model.optim muon --model.muon.lr $rate; done
		;;
	rl)
		for rate in 3.5e-4 7e-4 1.4e-3; do rl adam $rate "$seed" --actor.adam.lr $rate; done
		for rate in 0.001 0.002 0.005 0.01 0.02; do rl muon $rate "$seed" --actor.optim muon --actor.muon.lr $rate; done
		;;
	esac
done
