"""Writes what the Rust library does with hostile.py's strings to tokenizer/testdata/golden.

  make.py                          the committed fixtures
  make.py NAME tokenizer.json OUT  any other tokenizer, to compare by hand: writes OUT/NAME.json
"""
import copy
import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, normalizers, trainers

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
    bases = {name: (DATA / (name + ".json")).read_text() for name in ("trained", "sentence")}
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
