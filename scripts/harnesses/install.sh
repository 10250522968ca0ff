#!/usr/bin/env bash
# Installs the agent harnesses that the presets know, at the versions the conformance table was made with, below a cache
# folder. Prints the folder whose bin/ holds them. Install scripts do not run.
set -euo pipefail
cache="${MOLT_HARNESSES:-${XDG_CACHE_HOME:-$HOME/.cache}/molt-harnesses}"
mkdir -p "$cache/bin"
install() { # name, package@version, entry below node_modules
  local at="$cache/$1"
  if [ ! -e "$at/.done" ]; then
    mkdir -p "$at"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$at" "$2" >&2
    echo "$2" >"$at/.done"
  fi
  ln -sfn "$at/node_modules/$3" "$cache/bin/$1"
}
install claude @anthropic-ai/claude-code@2.1.197 @anthropic-ai/claude-code-linux-x64/claude
install codex @openai/codex@0.171.0 @openai/codex/bin/codex.js
install opencode opencode-ai@1.18.33 opencode-linux-x64/bin/opencode
install pi @mariozechner/pi-coding-agent@0.73.1 @mariozechner/pi-coding-agent/dist/cli.js
install qwen @qwen-code/qwen-code@0.15.10 @qwen-code/qwen-code/cli.js
install cline cline@3.0.65 @cline/cli-linux-x64/bin/cline
if [ ! -e "$cache/mini/.done" ]; then
  python3 -m venv "$cache/mini"
  "$cache/mini/bin/pip" install --quiet mini-swe-agent==2.4.6 >&2
  echo mini-swe-agent==2.4.6 >"$cache/mini/.done"
fi
ln -sf ../mini/bin/mini "$cache/bin/mini"
echo "$cache"
