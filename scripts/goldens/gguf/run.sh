#!/usr/bin/env bash
# Regenerates weights/gguf/testdata/golden with the gguf package, PyTorch and transformers (llamacpp.sh adds llama.cpp's own
# answers). Needs Python 3.11 or newer with venv; the oracles are installed once, into a cache folder that all golden scripts
# share.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
exec "$venv/bin/python" "$here/golden.py" "$root/weights/gguf/testdata/golden"
