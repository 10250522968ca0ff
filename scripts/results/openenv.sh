#!/usr/bin/env bash
# Trains a model of 21,000 numbers on OpenEnv's echo environment, which pays a tenth for each character of a message: for
# docs/results/openenv.md. Give it a new folder and a seed. Needs what scripts/goldens/openenv/run.sh installs.
set -euo pipefail
out="$1" seed="${2:-42}"
root="$(cd "$(dirname "$0")/../.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/molt-openenv"
molt="$root/bin/molt"
mkdir -p "$out"
exec 3< <("$cache/venv/bin/python" "$root/scripts/goldens/openenv/serve.py" "$cache" echo 64)
server=$!
trap 'kill $server' EXIT
read -r address <&3
cd "$out"
for i in $(seq 30); do
  echo "{\"messages\": [{\"role\": \"user\", \"content\": \"what $i?\"}, {\"role\": \"assistant\", \"content\": \"7\"}]}"
done >chats.jsonl
for _ in $(seq 8); do echo '{"input": "Say something long."}'; done >prompts.jsonl
"$molt" model init tiny --train-tokenizer chats.jsonl --vocab-size 300 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 --max-position-embeddings 256 >/dev/null 2>&1
"$molt" rl --model.model_name_or_path tiny --data.prompt_dataset prompts.jsonl --agent.name openenv --agent.openenv.url "$address" \
  --agent.openenv.observation '{echoed_message}' --agent.max_turns 1 --rollout.batch_size 8 --rollout.n_samples_per_prompt 8 --rollout.max_new_tokens 6 \
  --rollout.max_len 200 --train.steps 120 --train.batch_size 64 --actor.adam.lr 3e-3 --train.seed "$seed" --ckpt.path run 2>&1 | grep -E 'step (1|10|20|30|40|50|60|120)/|finished'
