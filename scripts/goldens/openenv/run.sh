#!/usr/bin/env bash
# Records what OpenEnv's servers say (agent/openenv/testdata) and plays agent/openenv against them: the echo environment that
# `openenv init` writes, and one with tools. Needs Python 3.11 or newer with venv; the package is installed once, into a cache folder.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/molt-openenv"
if [ ! -e "$cache/.done" ]; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
  "$cache/venv/bin/openenv" init echo_world --output-dir "$cache" >/dev/null
  touch "$cache/.done"
fi
cd "$root"
"$cache/venv/bin/python" "$here/record.py" "$cache" "$root/agent/openenv/testdata"
go test ./agent/openenv -run TestServers -count 1 -v -servers "$cache/venv/bin/python $here/serve.py $cache"
