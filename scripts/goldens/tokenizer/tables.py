"""Writes which characters the Rust library takes for what (tokenizer/testdata/unicode.json): its parts follow different
versions of Unicode, and none of them Go's. Then
  go test ./tokenizer -run TestReferenceTables -rewrite
writes tokenizer/reference.go."""
import json
import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp".split()


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return " ".join(f"{a:04X}" if a == b else f"{a:04X}-{b:04X}" for a, b in out)


def removed(pre):
    out = set()
    for i in range(0, len(POINTS), 4096):
        part = POINTS[i : i + 4096]
        kept = {ord(c) for p, _ in pre.pre_tokenize_str("".join(map(chr, part))) for c in p}
        out.update(c for c in part if c not in kept)
    return out


def pieces(pre, before, after, is_it):
    """Characters that pre cuts out of before+c+after as is_it says."""
    return {c for c in POINTS if is_it(chr(c), [p for p, _ in pre.pre_tokenize_str(before + chr(c) + after)])}


def main():
    out = {c: removed(pre_tokenizers.Split(Regex(rf"\p{{{c}}}"), "removed")) for c in CATEGORIES}
    out["\\s"] = removed(pre_tokenizers.Split(Regex(r"\s"), "removed"))
    out["\\d"] = removed(pre_tokenizers.Split(Regex(r"\d"), "removed"))
    out["space"] = removed(pre_tokenizers.WhitespaceSplit())
    out["number"] = pieces(pre_tokenizers.Digits(individual_digits=True), "a", "a", lambda c, p: len(p) == 3)
    out["punctuation"] = pieces(pre_tokenizers.Punctuation("isolated"), "a", "a", lambda c, p: len(p) == 3)
    out["word"] = pieces(pre_tokenizers.Whitespace(), "a", "a", lambda c, p: len(p) == 1)
    strip, lower = normalizers.StripAccents(), normalizers.Lowercase()
    out["mark"] = {c for c in POINTS if strip.normalize_str(chr(c)) == ""}
    out["upper"] = {c for c in POINTS if lower.normalize_str(chr(c)) != chr(c)}
    for name in ("NFD", "NFKD"):
        form = getattr(normalizers, name)()
        out[name] = {c for c in POINTS if form.normalize_str(chr(c)) != chr(c)}
    form = normalizers.NFD()
    # U+0345 has the highest combining class, U+0334 the lowest: whatever has a class changes places with one of them.
    out["nonstarter"] = {c for c in POINTS if form.normalize_str("\u0345" + chr(c)) == chr(c) + "\u0345" or form.normalize_str(chr(c) + "\u0334") == "\u0334" + chr(c)} - out["NFD"] | {0x345, 0x334}
    path = pathlib.Path(__file__).resolve().parents[3] / "tokenizer" / "testdata" / "unicode.json"
    path.write_text("{\n" + ",\n".join(json.dumps(k) + ": " + json.dumps(ranges(v)) for k, v in out.items()) + "\n}\n")


main()
