"""Writes what transformers makes of a tokenizer.json with a tokenizer_config.json beside it to
tokenizer/testdata/golden/configured.json. Needs transformers 5.24."""
import json
import pathlib
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import AutoTokenizer

OUT = pathlib.Path(__file__).resolve().parents[3] / "tokenizer" / "testdata" / "golden" / "configured.json"


def token(content, **flags):
    return {"content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True, **flags}


def decoder(*entries, **rest):
    return {"added_tokens_decoder": {str(i): t for i, t in entries}, **rest}


X = (11, token("<x>"))
CASES = [
    ("nothing", True, {}), ("the same", True, decoder(X)), ("flags", True, decoder((11, token("<x>", lstrip=True, rstrip=True)))),
    ("special", False, decoder(X)), ("not special", True, decoder((11, token("<x>", special=False)))), ("one more", True, decoder(X, (12, token("<y>")))),
    ("defaults", True, decoder((12, {"content": "<y>"}), (13, {"content": "<z>", "special": True}))), ("a gap", True, decoder(X, (20, token("<y>")))),
    ("another id", True, decoder((3, token("<x>")))), ("a word of the model", True, decoder(X, (1, token("b")))), ("another id of a piece", True, decoder(X, (5, token("b")))),
    ("bos is not added", True, decoder(X, bos_token="<x>", add_bos_token=True, add_eos_token=True, eos_token="<x>")),
    ("named", False, {"eos_token": "<x>"}), ("named beside a decoder", False, decoder((11, token("<x>", special=False)), eos_token="<x>")),
    ("named beside an empty decoder", False, decoder(eos_token="<x>")), ("missing", True, {"eos_token": "<y>"}),
    ("missing, with flags", True, {"eos_token": {"content": "<y>", "lstrip": True, "__type": "AddedToken"}}), ("a named letter", True, {"eos_token": "b"}),
    ("many", True, {"unk_token": "<u>", "bos_token": "<b>", "additional_special_tokens": ["<q>"], "pad_token": "<p>", "eos_token": "<y>"}),
    ("extra", True, {"extra_special_tokens": ["<y>"]}), ("extra by name", True, {"extra_special_tokens": {"image_token": "<y>"}}), ("listed", False, {"additional_special_tokens": ["<x>"]}),
]


def one(name, special, config):
    with tempfile.TemporaryDirectory() as folder:
        t = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate("abcdefghij ")}, merges=[], unk_token="a"))
        t.add_tokens([AddedToken("<x>", special=special, normalized=False)])
        t.decoder = decoders.Fuse()
        t.save(folder + "/tokenizer.json")
        config = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
        pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
        t = AutoTokenizer.from_pretrained(folder)
    added = [{"id": i, "content": a.content, "single_word": a.single_word, "lstrip": a.lstrip, "rstrip": a.rstrip, "normalized": a.normalized, "special": a.special} for i, a in sorted(t.added_tokens_decoder.items())]
    return {"name": name, "special": special, "config": json.dumps(config), "added": added, "ids": t.encode("a <x> b<y>b", add_special_tokens=False)}


OUT.write_text("[\n" + ",\n".join(json.dumps(one(*c)) for c in CASES) + "\n]\n")
