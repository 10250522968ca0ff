#!/usr/bin/env bash
# Holds an exported model against transformers: the same prompts, logits within 1e-4, the same greedy text. The model is any
# folder that molt wrote, such as what examples/gsm8k trains:
#
#   scripts/goldens/smollm2/run.sh RUN/best
#
# Needs Python 3.11 or newer with venv; the oracles are kept in the user's cache folder.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 MODEL" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
model="$(cd "$1" && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
(cd "$here/../../.." && GOTOOLCHAIN=auto go build -o "$work/molt" ./cmd/molt)
HF_HUB_OFFLINE=1 "$venv/bin/python" "$here/compare.py" "$work/molt" "$model"
