"""Tokens per second of the Rust library on one thread, on the texts of tokenizer.BenchmarkReal (bench.sh runs both).

  bench.py CACHE NAME …"""
import glob
import os
import pathlib
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer

root = pathlib.Path(__file__).resolve().parents[3]
prose = (root.parent / "shared" / "data" / "gsm8k" / "test.jsonl").read_text().splitlines()
code = [pathlib.Path(f).read_text() for f in sorted(glob.glob(str(root / "*" / "*.go")))]
for name in sys.argv[2:]:
    t = Tokenizer.from_file(str(pathlib.Path(sys.argv[1]) / name / "tokenizer.json"))
    t.no_truncation(), t.no_padding()
    for kind, texts in (("prose", prose), ("code", code)):
        best = 0
        for _ in range(3):
            began = time.perf_counter()
            tokens = sum(len(t.encode(s, add_special_tokens=False).ids) for s in texts)
            best = max(best, tokens / (time.perf_counter() - began))
        print(f"{name}/{kind} {best:.0f}", flush=True)
