#!/usr/bin/env bash
# Exports the golden models of engine/local/testdata/architectures with weights.WriteFolder, loads each folder with Hugging Face
# transformers, and compares its logits with those of the original, bit for bit. run.sh installs the oracles.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
venv="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles/venv"
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
(cd "$root" && MOLT_EXPORT_DIR="$out" go test -count=1 ./engine/local -run '^TestArchitecturesSurviveExport$')
"$venv/bin/python" "$here/architectures.py" "$root/engine/local/testdata/architectures" "$out"
