#!/usr/bin/env bash
# Regenerates engine/local/testdata/lora with Hugging Face PEFT, in both directions: it writes an adapter for us, we write
# one for it, and it says what a model computes with each. Needs Python 3.11 or newer with venv; the oracles are installed
# once, into a cache folder that all golden scripts share (about 6 GB: PyPI's torch carries CUDA).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
out="$root/engine/local/testdata/lora"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
export PYTHONHASHSEED=0 # PEFT writes a set
"$venv/bin/python" "$here/golden.py" write "$out"
(cd "$root" && GOTOOLCHAIN=auto go test ./engine/local -run TestAdapterForPEFT -rewrite >/dev/null)
"$venv/bin/python" "$here/golden.py" read "$out"
