#!/bin/sh
# Prints tokens per second, ours and the Rust library's, one core each and in turns. Needs what real.sh has fetched.
set -eu
here=$(dirname "$0")
cache=${XDG_CACHE_HOME:-$HOME/.cache}
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
for name in ${*:-gpt2 qwen3 llama3 gptoss deepseek3 gemma3 llama2}; do
	"$cache/molt/goldens/tokenizer/bin/python" "$here/bench.py" "$cache/molt/tokenizers" "$name" | sort >"$out/theirs"
	go test ./tokenizer -run '^$' -bench "^BenchmarkReal/$name\$" -benchtime 3x -count 3 -cpu 1 |
		sed -n 's|^BenchmarkReal/\([^ ]*\) .* \([0-9]*\) tokens/s.*|\1 \2|p' | sort -k1,1 -k2,2nr | awk '!seen[$1]++' >"$out/ours"
	join "$out/ours" "$out/theirs" | awk '{printf "%-18s ours %9d tokens/s   Rust %9d tokens/s   ratio %5.1f\n", $1, $2, $3, $2/$3}'
done
