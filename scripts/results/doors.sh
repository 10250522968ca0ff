#!/bin/sh
# Trains the quickstart's model on the quickstart's task through every door: an environment in Go and in Python, an agent with a
# loop of its own in Go and in Python, and a program of its own on either wire. One line for each run: door, seed, success on
# held-out prompts before and after, mean reward of each step, the fingerprint of the weights in the end, seconds.
# docs/results/doors.md shows the outcome.
#
#	scripts/results/doors.sh inside|http|programs QUICKSTART_FOLDER OUTPUT_FOLDER
#
# A program is a process of its own for every rollout, so `programs` plays smaller batches, and an agent in Python with them to
# compare with.
set -eu
what=$1 quick=$(cd "$2" && pwd) out=$3
molt=${MOLT:-bin/molt} seeds=${SEEDS:-1 2 3} steps=${STEPS:-12}
examples=$(cd "$(dirname "$0")/../../examples/doors" && pwd)
mkdir -p "$out"

# rl DOOR SEED BATCH FLAG...
rl() {
	door=$1 seed=$2 batch=$3 dir=$out/$1-$3-$2
	shift 3
	result=$($molt rl --model.model_name_or_path "$quick/sft/final" --data.prompt_dataset "$quick/prompts.jsonl" --data.label_key label --data.id_key id \
		--agent.max_turns 6 --rollout.batch_size "$batch" --rollout.n_samples_per_prompt 8 --rollout.max_new_tokens 48 --rollout.max_len 320 \
		--actor.adam.lr 0.0007 --actor.adam.betas 0.9,0.99 --actor.lr_scheduler linear --actor.lr_warmup_steps 3 \
		--train.steps "$steps" --train.batch_size $((batch * 2)) --train.max_tokens_per_micro_batch 1024 --train.seed "$seed" \
		--eval.dataset "$quick/held_out.jsonl" --eval.max_samples $((batch * 8)) --eval.eval_at_start --eval.steps "$steps" \
		--ckpt.save_steps 1000 --logger.tensorboard=false --ckpt.path "$dir" --json -q "$@" | tail -n 1)
	events=$dir/events.jsonl
	scores=$(sed -n 's/.*"kind":"eval_done".*"pass_at_1":\([0-9.]*\).*/\1/p' "$events" | xargs printf '%.3f ')
	rewards=$(sed -n 's/.*"kind":"step_done".*"reward":{"n":[0-9]*,"mean":\([0-9.]*\).*/\1/p' "$events" | xargs printf '%.2f ')
	print=$(sed -n 's/.*"kind":"step_done".*"fingerprint":"\([0-9a-f]\{12\}\).*/\1/p' "$events" | tail -n 1)
	seconds=$(echo "$result" | sed -n 's/.*"seconds":\([0-9.]*\).*/\1/p')
	printf '%s\t%s\t%s\t%s\t%s\t%.0f s\n' "$door" "$seed" "$scores" "$rewards" "$print" "$seconds"
}

program() { echo "python3 $examples/program.py $1 $quick/prompts.jsonl $quick/held_out.jsonl"; }

for seed in $seeds; do
	case $what in
	inside)
		rl env-go "$seed" 32 --agent.name shop
		rl env-python "$seed" 32 --agent.path "$examples/env_agent.py"
		;;
	http)
		rl chat-go "$seed" 32 --agent.name shop_chat
		rl chat-python "$seed" 32 --agent.path "$examples/chat_agent.py"
		;;
	programs)
		rl chat-python "$seed" 8 --agent.path "$examples/chat_agent.py"
		rl program-openai "$seed" 8 --agent.command "$(program openai)"
		rl program-anthropic "$seed" 8 --agent.command "$(program anthropic)"
		;;
	esac
done
