"""Writes which chat template transformers uses where a model has several to run/inspect/testdata/named.json. Needs transformers 5.24.

usage: named.py    (from anywhere; overwrites the file)
"""
import json
import pathlib
import tempfile

from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

OUT = pathlib.Path(__file__).resolve().parents[3] / "run" / "inspect" / "testdata" / "named.json"
TOOLS = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}]
EXTRA = "additional_chat_templates/"


def listed(**templates):
    return {"tokenizer_config.json": json.dumps({"chat_template": [{"name": n, "template": t} for n, t in templates.items()]})}


CASES = {
    "one in the configuration": {"tokenizer_config.json": json.dumps({"chat_template": "one{{ eos_token }}"}), "special_tokens_map.json": '{"eos_token": "<e>"}'},
    "a list": listed(default="d", tool_use="t", rag="r"),
    "a list without a default": listed(tool_use="t", rag="r"),
    "a file": {"chat_template.jinja": "f"},
    "a file beside one": {"chat_template.jinja": "f", "tokenizer_config.json": json.dumps({"chat_template": "one"})},
    "a file beside a list": {"chat_template.jinja": "f", **listed(default="d", tool_use="t")},
    "files": {"chat_template.jinja": "f", EXTRA + "tool_use.jinja": "t", EXTRA + "rag.jinja": "r"},
    "files beside a list": {"chat_template.jinja": "f", EXTRA + "rag.jinja": "r", **listed(default="d", tool_use="t")},
    "files without a default": {EXTRA + "tool_use.jinja": "t", EXTRA + "rag.jinja": "r"},
    "files without a default beside one": {EXTRA + "rag.jinja": "r", "tokenizer_config.json": json.dumps({"chat_template": "one"})},
    "two default ones": {"chat_template.jinja": "f", EXTRA + "default.jinja": "d"},
    "older file": {"chat_template.json": json.dumps({"chat_template": "j"}), "tokenizer_config.json": "{}"},
    "its own names": {"tokenizer_config.json": json.dumps({"chat_template": "{{ image_token }}{{ pad_token }}", "image_token": "<i>", "pad_token": "<p>"})},
    "none": {"tokenizer_config.json": "{}"},
}


def rendered(files, tools, name):
    with tempfile.TemporaryDirectory() as folder:
        Tokenizer(models.BPE(vocab={c: i for i, c in enumerate("abc ")}, merges=[], unk_token="a")).save(folder + "/tokenizer.json")
        (pathlib.Path(folder) / "config.json").write_text('{"model_type": "llama"}')
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        t = AutoTokenizer.from_pretrained(folder)
        if name and not (isinstance(t.chat_template, dict) and name in t.chat_template):
            return None  # transformers takes the name for a template itself
        try:
            return t.apply_chat_template([{"role": "user", "content": "x"}], chat_template=name or None, tools=TOOLS if tools else None, tokenize=False)
        except ValueError:
            return None


OUT.parent.mkdir(exist_ok=True)
rows = [{"name": what, "files": files, "tools": tools, "named": name, "want": rendered(files, tools, name)} for what, files in CASES.items() for tools in (False, True) for name in ("", "rag", "tool_use")]
OUT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
