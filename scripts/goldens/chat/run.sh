#!/usr/bin/env bash
# The goldens of chat/: the language of templates, and real templates over chat/testdata/conversations.json, both rendered by
# transformers itself.
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/molt-oracles"
if [ ! -x "$cache/venv/bin/python" ]; then
  python3 -m venv "$cache/venv"
fi
python="$cache/venv/bin/python"
export PYTHONHASHSEED=0
"$python" -c 'import transformers, jinja2' 2>/dev/null || "$python" -m pip install --quiet transformers==5.24.0 jinja2==3.1.6
"$python" scripts/goldens/chat/language.py chat/jinja/testdata/language.jsonl.gz
"$python" scripts/goldens/chat/render.py chat/testdata/conversations.json chat/testdata/goldens.jsonl.gz \
  chat/chat_template.jinja chat/testdata/templates/*.jinja
