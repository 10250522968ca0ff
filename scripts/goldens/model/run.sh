#!/usr/bin/env bash
# Regenerates numeric/model/testdata and engine/local/testdata/architectures with PyTorch and Hugging Face transformers. Needs
# Python 3.11 or newer with venv; the oracles are installed once, into a cache folder that all golden scripts share (about
# 6 GB: PyPI's torch carries CUDA).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
"$venv/bin/python" "$here/golden.py" "$root/numeric/model/testdata" "$root/../shared/models/stories260K"
exec "$venv/bin/python" "$here/architectures.py" "$root/engine/local/testdata/architectures"
