"""Strings that tokenizers get wrong. The same list on every machine."""
import random

CONTROL = ["<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<think>", "</think>",
           "<0x0A>", "<0xE2>", "<|space|>", "naïve", "<mask>"]

BLOCKS = [(0x20, 0x7E), (0xA0, 0xFF), (0x100, 0x17F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF),
          (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x209F),
          (0x20A0, 0x20CF), (0x2150, 0x218F), (0x2190, 0x21FF), (0x2580, 0x259F), (0x3040, 0x30FF), (0x4E00, 0x4EFF), (0xAC00, 0xACFF),
          (0xF900, 0xFAFF), (0xFB00, 0xFB4F), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x1D400, 0x1D4FF), (0x1F300, 0x1F64F), (0xE000, 0xE0FF)]

FIXED = [
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n", "\n ", "\u00a0", "\u3000", "\u2028", "\x00", "a\x00b", "\x7f", "\v\f", "\x1c\x1d\x85",
    "Once upon a time, there was a little girl named Lily.", "What do 3 pens and 2 cups cost?", "<answer>26</answer>",
    '{"name": "calc", "arguments": {"expression": "3*4+2*7"}}', "def f(x):\n    return x  # done\n\n\n", "a  b   c    d", "trailing   ",
    "   leading", "tab\tand\t\ttabs", "x\r\ny\r\n\r\nz", "I'm you're we've they'll he'd it's 'tis", "I'M YOU'RE WE'VE THEY'LL HE'D IT'S",
    "it'ſ 'ſ K\u212a '\u212a", "1234567890", "3.14159e-10", "١٢٣ ४५ ⅷ ² ½", "ab" * 40, "a" * 100, " " * 50, "\n" * 20, "ab " * 30, "!" * 33,
    "e\u0301", "é", "e\u0301" * 5, "e" + "\u0301" * 40, "a\u0316\u0301\u0327", "q\u0307\u0323", "\u0344", "\u0301leading mark", "\u1100\u1161\u11a8",
    "각", "\u1100\u1161" * 20, "\u0915\u093c", "\u0958", "\u2126\u212b", "\ufb01", "e" + "\u0323\u0302" * 20, "\u09c7\u09be" + "\u0300" * 31,
    "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "☺️", "ℌ𝔢𝔩𝔩𝔬", "\u200b\u200c\u200d\ufeff", "مرحبا بالعالم", "שלום", "สวัสดี", "नमस्ते", "你好，世界", "こんにちは",
    "한국어 텍스트", "Ελληνικά", "Русский текст", "Tiếng Việt", "İstanbul ıI", "ß ẞ ſt", "\U0001f9ff\U0010ffff\ue000", "\ufffd", "\ufffd\ufffd",
    "▁", "▁▁ ▁a", "a▁b", " ▁ ", "Ġ", "ĠhelloĊ", "Ġ Ġ", "<<>>", "<s", "s>", "<s><s>", "< s >", "<|im_", "end|>", "<|im_end|", "<<|im_end|>>",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", " <s> ", "a<s>b", "  <|im_end|>  x", "naïve", "nai\u0308ve", "anaïve naïve naïvet",
    "x<mask>y", "x <mask> y", "_<mask>_", "é<mask>é", "(<mask>)", "<mask><mask>", "\u0301<mask>", "a b<|space|>  c", "<|space|>\n<|space|>", "\u2581<0x41>",
]


def strings():
    r = random.Random(20261130)
    out = list(FIXED)
    for c in CONTROL:
        out += [c + c, "a" + c + "b", " " + c + " \n"]
    out += ["".join(r.choice(CONTROL + [" ", "x", "\n", "'s", "9", "é"]) for _ in range(8)) for _ in range(30)]
    out += ["".join(r.choice([" ", "  ", "\n", "\r\n", "\t", "a", "B", "7", ".", "'", "'S", "é", "世", "\u00a0"]) for _ in range(20)) for _ in range(40)]
    out += ["".join(chr(r.randint(*b)) for _ in range(8)) for b in BLOCKS for _ in range(2)]
    out += ["".join(chr(r.randint(*r.choice(BLOCKS))) for _ in range(14)) for _ in range(40)]
    words = "the little girl named Lily said hello to her big red dog and they played outside all day in the sun".split()
    out += [" ".join(r.choice(words) for _ in range(12)) + r.choice([".", "!", "?", "\n", " "]) for _ in range(15)]
    return out


def id_lists(size):
    """Sequences of ids that no encoder would produce."""
    r = random.Random(size)
    out = [[i] for i in r.sample(range(size), min(30, size))]
    out += [[r.randrange(size) for _ in range(r.choice([2, 3, 5, 12]))] for _ in range(60)]
    out += [[r.randrange(min(size, 300)) for _ in range(10)] for _ in range(40)]  # mostly bytes
    return out
