"""Writes what transformers makes of a tokenizer.json with tokenizer_config.json, special_tokens_map.json and added_tokens.json beside it to
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
    ("extra names in their order", True, {"extra_special_tokens": {"z_token": "<z>", "a_token": "<y>"}}),
    ("its own names", True, {"video_token": "<v>", "audio_token": {"content": "<y>", "__type": "AddedToken", "special": True}, "eos_token": "<e>", "add_eos_token": False}),
    ("its own names beside a decoder", True, decoder(X, image_token="<y>")),
    ("map", True, {}, {"eos_token": "<x>", "pad_token": "<y>"}), ("map of flags", True, {}, {"eos_token": token("<y>", lstrip=True, normalized=True, special=False)}),
    ("map counts more", True, {"eos_token": "<x>", "unk_token": "<u>"}, {"eos_token": "<y>"}), ("map takes away", True, {"eos_token": "<y>", "bos_token": "<x>"}, {"eos_token": None}),
    ("map beside a decoder", True, decoder(X, eos_token="<x>"), {"eos_token": "<y>"}), ("map beside an empty decoder", True, decoder(), {"eos_token": "<y>"}),
    ("map alone", True, None, {"bos_token": "<x>", "eos_token": "<y>"}), ("map lists", True, {}, {"additional_special_tokens": ["<z>", "<y>"]}),
    ("both list", True, {"additional_special_tokens": ["<y>"]}, {"additional_special_tokens": ["<z>"]}),
    ("both list extra", True, {"extra_special_tokens": ["<q>", "<y>"]}, {"extra_special_tokens": ["<y>", "<z>"]}),
    ("map names extra", True, {"extra_special_tokens": {"z_token": "<z>"}}, {"extra_special_tokens": {"y_token": "<y>"}}),
    ("map's own names", True, {"image_token": "<i>", "z_token": "<z>"}, {"video_token": "<y>", "image_token": "<j>", "eos_token": "<x>"}),
    ("older", True, {}, {"eos_token": "<y>"}, {"<z>": 13, "<y>": 12}), ("older, known", False, {}, None, {"<x>": 11}), ("older beside a decoder", True, decoder(X), None, {"<y>": 12}),
    ("older gap", True, {}, None, {"<y>": 20}), ("older, another id", True, {}, None, {"<x>": 3}),
]


def one(name, special, config, special_map=None, added_tokens=None):
    with tempfile.TemporaryDirectory() as folder:
        t = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate("abcdefghij ")}, merges=[], unk_token="a"))
        t.add_tokens([AddedToken("<x>", special=special, normalized=False)])
        t.decoder = decoders.Fuse()
        t.save(folder + "/tokenizer.json")
        pathlib.Path(folder, "config.json").write_text('{"model_type": "llama"}')
        if config is not None:
            config = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
        files = {"tokenizer_config": config, "special_tokens_map": special_map, "added_tokens": added_tokens}
        files = {file: json.dumps(value) for file, value in files.items() if value is not None}
        for file, text in files.items():
            pathlib.Path(folder, file + ".json").write_text(text)
        t = AutoTokenizer.from_pretrained(folder)
    added = [{"id": i, "content": a.content, "single_word": a.single_word, "lstrip": a.lstrip, "rstrip": a.rstrip, "normalized": a.normalized, "special": a.special} for i, a in sorted(t.added_tokens_decoder.items())]
    return {"name": name, "special": special, "files": files, "named": t.special_tokens_map, "added": added, "ids": t.encode("a <x> b<y>b", add_special_tokens=False)}


OUT.write_text("[\n" + ",\n".join(json.dumps(one(*c)) for c in CASES) + "\n]\n")
