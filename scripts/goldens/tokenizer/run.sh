#!/bin/sh
# Rewrites tokenizer/testdata/golden from the Rust library (PyPI tokenizers). Run it from the repository root after
#   go test ./tokenizer -run TestTrainedFixture -rewrite
# when the trainer changed on purpose. The virtual environment is kept in the user's cache folder.
set -eu
here=$(dirname "$0")
venv=${XDG_CACHE_HOME:-$HOME/.cache}/molt/goldens/tokenizer
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import tokenizers; assert tokenizers.__version__ == "0.23.3"' 2>/dev/null ||
	"$venv/bin/pip" install --quiet tokenizers==0.23.3
exec "$venv/bin/python" "$here/make.py" "$@"
