#!/usr/bin/env bash
# Reads metrics/testdata/tensorboard with the real TensorBoard and writes down what it saw: the golden of the event file
# writer. Rewrite the event files first, when they changed on purpose: go test ./metrics -run TensorBoard -rewrite
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt/goldens/tensorboard"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
exec "$venv/bin/python" "$here/read.py" "$root/metrics/testdata/tensorboard"
