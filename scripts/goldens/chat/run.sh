#!/usr/bin/env bash
# Renders chat/testdata/conversations.json with Python's jinja2 3.1.6 under transformers' settings: the goldens of chat/.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python3 scripts/goldens/chat/render.py chat/testdata/conversations.json chat/testdata/goldens.json \
  qwen3=chat/testdata/templates/qwen3.jinja molt=chat/chat_template.jinja
