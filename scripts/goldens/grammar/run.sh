#!/usr/bin/env bash
# Regenerates chat/grammar/testdata/golden.json.gz with the Python package jsonschema. Needs Python 3.11 or newer with venv;
# the oracles are installed once, into a cache folder that all golden scripts share.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import jsonschema' 2>/dev/null || "$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
out="$(mktemp)"
"$venv/bin/python" "$here/golden.py" | gzip -9n >"$out"
mv "$out" "$root/chat/grammar/testdata/golden.json.gz"
chmod 644 "$root/chat/grammar/testdata/golden.json.gz"
