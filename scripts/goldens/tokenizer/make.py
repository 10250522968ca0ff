"""Writes what the Rust library does with hostile.py's strings to tokenizer/testdata/golden.

  make.py                          the committed fixtures
  make.py NAME tokenizer.json OUT  any other tokenizer, to compare by hand: writes OUT/NAME.json
"""
import copy
import json
import pathlib
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import hostile

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "tokenizer" / "testdata"


def dump(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(k) + ": [\n" + ",\n".join(json.dumps(x, ensure_ascii=True, separators=(",", ":")) for x in v) + "\n]" for k, v in value.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def golden(name, source, out):
    t = Tokenizer.from_str(source)
    t.encode_special_tokens = False
    rows = []
    for s in hostile.strings():
        ids = t.encode(s, add_special_tokens=False).ids
        whole, visible = (t.decode(ids, skip_special_tokens=skip) for skip in (False, True))
        rows.append([ids, None if whole == s else whole, None if visible == whole else visible])
    framed = [[s, t.encode(s).ids] for s in hostile.FIXED[18:22]]
    decoded = [[ids, t.decode(ids, skip_special_tokens=False)] for ids in hostile.id_lists(t.get_vocab_size())]
    dump(out / (name + ".json"), {"encoded": rows, "framed": framed, "decoded": decoded})


def pieces(source):
    """What BPE sees of each string: it tells splits apart that a small vocabulary does not."""
    t = Tokenizer.from_str(source)
    norm = t.normalizer.normalize_str if t.normalizer else str
    return [[p for p, _ in t.pre_tokenizer.pre_tokenize_str(norm(s))] for s in hostile.strings()]


def sentence():
    """A small SentencePiece-style BPE with byte fallback, trained by the Rust library."""
    corpus = (DATA / "corpus.txt").read_text()
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(corpus.replace("\n", " ").split(" . "), trainers.BpeTrainer(vocab_size=520, special_tokens=special, show_progress=False, max_token_length=8))
    f = json.loads(t.to_str())
    f["added_tokens"] = f["added_tokens"][:3]  # byte pieces are ordinary
    f["post_processor"] = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in [(1, "<s>"), (2, "</s>")]}}
    return json.dumps(f, ensure_ascii=False, separators=(",", ":"))


NORMALIZERS = [
    {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"},
    {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": "  "}, "content": "_"}, {"type": "Replace", "pattern": {"String": "e\u0301"}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Replace", "pattern": {"Regex": "[a-f&&[^c]]|\\p{N}{2,}"}, "content": "<>"},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "x"}]},
]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
PRE_TOKENIZERS = [
    *({"type": "Split", "pattern": p, "behavior": b, "invert": i} for b in BEHAVIORS for p, i in [({"String": "a"}, False), ({"Regex": "[ab ]"}, False), ({"Regex": "[ab ]"}, True)]),
    *({"type": "Punctuation", "behavior": b} for b in BEHAVIORS),
    {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"},
    *({"type": "Metaspace", "replacement": "▁", "prepend_scheme": s, "split": p} for s in ("always", "first", "never") for p in (True, False)),
    {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}, {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "add_prefix_space": False},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    {"type": "Split", "pattern": {"Regex": "[^\\p{Han}\\s]{1,3}?x|\\p{Lu}++|[\\p{L}&&[^\\p{Han}\\p{Lu}]]+(?=[!.])|(?:a|bc)?d"}, "behavior": "Isolated", "invert": False},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": False}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]},
]


CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]*[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]+%s|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]+[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]*%s"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {  # of model families whose vocabularies are not at hand
    "tekken": WORD % ("", "", "", "", "", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES,
    "kimi": r"[\p{Han}]+|" + WORD % (("&&[^\\p{Han}]",) * 2 + (CONTRACTIONS + "?",) + ("&&[^\\p{Han}]",) * 2 + (CONTRACTIONS + "?",)) + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES,
    "qwen3.5": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES,
    "phi4": r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|" + SPACES,
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+", "falcon": "[0-9][0-9][0-9]",
    "olmo": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
}


def patterns():
    texts = [s for s in hostile.strings()[::3] if 0 < len(s) < 60]
    split = lambda p: pre_tokenizers.Split(Regex(p), "isolated")
    dump(DATA / "patterns.json", {"strings": texts, "patterns": [[n, p, [[x for x, _ in split(p).pre_tokenize_str(s)] for s in texts]] for n, p in PATTERNS.items()]})


def components():
    """What single components do to every fourth string."""
    base = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    texts = [s for s in hostile.strings()[::4] if len(s) < 90]
    norm = [[n, [Tokenizer.from_str(json.dumps({**base, "normalizer": n})).normalizer.normalize_str(s) for s in texts]] for n in NORMALIZERS]
    pre = [[p, [[x for x, _ in Tokenizer.from_str(json.dumps({**base, "pre_tokenizer": p})).pre_tokenizer.pre_tokenize_str(s)] for s in texts]] for p in PRE_TOKENIZERS]
    dump(DATA / "components.json", {"strings": texts, "normalizers": norm, "pre_tokenizers": pre})


def words(prefix, suffix):
    """A small BPE of whole words, with a mark on the pieces that continue one or on those that end one."""
    corpus = (DATA / "corpus.txt").read_text()
    marks = {"continuing_subword_prefix": prefix} if prefix else {"end_of_word_suffix": suffix}
    t = Tokenizer(models.BPE(unk_token="<unk>", **marks))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece(prefix, cleanup=True) if prefix else decoders.BPEDecoder(suffix)
    t.train_from_iterator(corpus.split("\n"), trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False,
                          **marks))
    f = json.loads(t.to_str())
    f["post_processor"] = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]} if prefix else \
        {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": False}
    return json.dumps(f, ensure_ascii=False, separators=(",", ":"))


def vary(bases, spec):
    """The tokenizer.json of a variant; variant in golden_test.go does the same."""
    f = copy.deepcopy(json.loads(bases[spec["base"]]))
    for key in ("normalizer", "pre_tokenizer", "decoder"):
        if key in spec:
            f[key] = spec[key]
    f["model"].update(spec.get("model", {}))
    for a in spec.get("added", []):
        f["added_tokens"].append({"id": len(f["model"]["vocab"]) + len([x for x in f["added_tokens"] if x["content"] not in f["model"]["vocab"]]), **a})
    return json.dumps(f)


def main():
    if len(sys.argv) == 4:
        golden(sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), pathlib.Path(sys.argv[3]))
        return
    dump(DATA / "hostile.json", {"strings": hostile.strings()})
    (DATA / "sentence.json").write_text(sentence())
    for name, marks in (("continued", ("##", "")), ("ended", ("", "</w>"))):
        if not (DATA / (name + ".json")).exists():  # training breaks ties by chance
            (DATA / (name + ".json")).write_text(words(*marks))
    components()
    patterns()
    bases = {name: (DATA / (name + ".json")).read_text() for name in ("trained", "sentence", "continued", "ended")}
    out = DATA / "golden"
    for name, source in bases.items():
        golden(name, source, out)
    split = {"trained": pieces(bases["trained"])}
    for name, spec in json.loads((DATA / "variants.json").read_text()).items():
        if "pre_tokenizer" in spec:
            split[name] = pieces(vary(bases, spec))
        if not spec.get("only_pieces"):
            golden(name, vary(bases, spec), out)
    dump(DATA / "pieces.json", split)
    stories = ROOT.parent / "shared" / "models" / "stories260K" / "tokenizer.json"
    if stories.exists():
        golden("stories260K", stories.read_text(), out)
    else:
        print("stories260K is absent; its golden file is left as it is")


main()
