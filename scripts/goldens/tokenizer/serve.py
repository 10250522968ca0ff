"""Answers, line by line, what the Rust library does: {"text": …} → {"ids": […], "plain": …}; {"ids": […]} → {"plain": …}.

  serve.py tokenizer.json"""
import json
import sys

from tokenizers import Tokenizer

t = Tokenizer.from_file(sys.argv[1])
t.no_truncation(), t.no_padding()
for line in sys.stdin:
    q = json.loads(line)
    ids = t.encode(q["text"], add_special_tokens=False).ids if "text" in q else q["ids"]
    print(json.dumps({"ids": ids, "plain": t.decode(ids, skip_special_tokens=False)}), flush=True)
