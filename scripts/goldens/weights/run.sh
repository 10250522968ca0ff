#!/usr/bin/env bash
# Regenerates weights/testdata/golden with PyTorch, safetensors and transformers, then lets them read what weights/ writes.
# Needs Python 3.11 or newer with venv; the oracles are installed once, into a cache folder that all golden scripts share.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
"$venv/bin/python" "$here/golden.py" "$root/weights/testdata/golden"
written="$(mktemp -d)"
trap 'rm -rf "$written"' EXIT
(cd "$root" && go test ./weights -run TestWriteForPython -count 1 -written "$written")
"$venv/bin/python" "$here/check.py" "$written"
