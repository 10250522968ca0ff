#!/usr/bin/env bash
# Lets Python's huggingface_hub and hub/ find what the other has downloaded, against a local server that speaks the hub's
# HTTP. Needs Python 3.11 or newer with venv; the oracles are installed once, into a cache folder that all golden scripts share.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet huggingface_hub==2.4.0
cd "$root"
go test ./hub -run TestPython -count 1 -v -python "$venv/bin/python" -script "$here/check.py"
