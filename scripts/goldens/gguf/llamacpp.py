"""Asks llama.cpp about the golden models, with every pre-tokenizer that can be imported, and about a real one.

usage: llamacpp.py NODE_FOLDER GOLDEN_FOLDER WORK_FOLDER [MODEL.gguf ANSWER.json]

llamacpp.json.gz holds, for each file, the ids of hostile strings and the likeliest next tokens after some prompts. A quantized
real model is first widened to float32 by the gguf package, since llama.cpp computes with quantized activations otherwise.
"""

import gzip
import json
import pathlib
import subprocess
import sys

import gguf
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "tokenizer"))
import hostile  # noqa: E402

node, golden, work = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
KINDS = ["llama", "llama3", "qwen2", "qwen3", "smollm3", "olmo2", "granite", "phi3", "gemma", "gemma2", "gemma3_text"]
PRES = ["gpt-2", "olmo", "smollm", "starcoder", "command-r", "llama-bpe", "smaug-bpe", "qwen2", "deepseek-r1-qwen", "tekken", "gpt-4o"]
PROMPTS = [[4], [10] * 20 + [20] * 30 + [30, 31, 32] * 20]


def copy(source, target, pre=None):
    """The same file with another pre-tokenizer, every tensor as float32."""
    r = gguf.GGUFReader(source)
    w = gguf.GGUFWriter(target, r.fields["general.architecture"].contents())
    for key, f in r.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value = pre if pre and key == "tokenizer.ggml.pre" else f.contents()
        w.add_key_value(key, value, f.types[0], f.types[-1] if len(f.types) > 1 else None)
    for t in r.tensors:
        shape = [int(d) for d in reversed(t.shape)]
        w.add_tensor(t.name, gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32).reshape(shape))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return target


def ask(request):
    (work / "request.json").write_text(json.dumps(request))
    script = work / "llamacpp.mjs"
    script.write_text((here / "llamacpp.mjs").read_text())
    (work / "node_modules").unlink(missing_ok=True)
    (work / "node_modules").symlink_to(node / "node_modules")
    subprocess.run(["node", "--preserve-symlinks", str(script), str(work / "request.json"), str(work / "answer.json")], check=True)
    return json.loads((work / "answer.json").read_text())


# llama.cpp differs from the Rust library on purpose where a text holds a token's name with a space beside it, or none at
# all; those strings say nothing about an import.
texts = [t for t in hostile.strings() if t and "<" not in t and "\x00" not in t]

if len(sys.argv) > 4:
    real = copy(sys.argv[4], work / "float32.gguf")
    chat = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    answer = ask([{"file": str(real), "texts": texts + [chat], "prompts": [], "top": 0}])[0]
    prompts = [ids[:100] for ids in answer["ids"] if 3 <= len(ids)][:20] + [answer["ids"][-1]]
    answer["next"] = ask([{"file": str(real), "texts": [], "prompts": prompts, "top": 40}])[0]["next"]
    pathlib.Path(sys.argv[5]).write_text(json.dumps({"texts": texts + [chat], "ids": answer["ids"], "prompts": prompts, "next": answer["next"]}))
    sys.exit()

request, names = [], KINDS + ["pre:" + p for p in PRES]
for name in names:
    file = golden / f"{name}.gguf"
    if name.startswith("pre:"):
        file = copy(golden / "llama.gguf", work / f"{name[4:]}.gguf", name[4:])
    prompts = [] if name.startswith("pre:") else PROMPTS
    request.append({"file": str(file), "texts": texts, "prompts": prompts, "top": 8})
answers = dict(zip(names, ask(request)))
with gzip.GzipFile(golden / "llamacpp.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps({"texts": texts, "prompts": PROMPTS, "answers": answers}).encode())
