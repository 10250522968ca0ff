#!/usr/bin/env bash
# Installs the client libraries that gateway/serve is tried with, at fixed versions, below a cache folder, and prints it.
# Install scripts of packages do not run.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache="${MOLT_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/molt-clients}"
mkdir -p "$cache"
if ! cmp -s gateway/serve/testdata/clients/package.json "$cache/package.json"; then
  cp gateway/serve/testdata/clients/package.json "$cache/package.json.new"
  mv "$cache/package.json.new" "$cache/package.json"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$cache" >&2
fi
if [ ! -e "$cache/python/.done" ]; then
  python3 -m venv "$cache/python"
  "$cache/python/bin/pip" install --quiet openai==3.57.0 anthropic==2.14.0 >&2
  touch "$cache/python/.done"
fi
echo "$cache"
