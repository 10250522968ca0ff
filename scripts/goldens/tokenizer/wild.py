"""Some six thousand strings for a real tokenizer: hostile.py's, nearly every character of planes 0 and 1, and random mixtures, also of its
own added tokens. The same list on every machine."""
import random

import hostile

WORDS = """the little girl said hello to her big red dog and they played outside Internationalization antidisestablishmentarianism I'm you'll
we've he'd DON'T can't it’s naïve café Zürich São Øresund Straße ŁÓDŹ Москва говорит Ελλάδα שלום مرحبا 你好 世界 東京タワー 한국어 สวัสดี नमस्ते
func main() { return x; } if (a != b) && c || !d std::vector<int> #include <stdio.h> print(f"{x:.2f}\\n") self.__init__ camelCaseWord snake_case_word
HTTPServer2 3.14159 1,000,000 0xDEADBEEF 2026-11-30 user@example.com https://example.com/a?b=c&d=e#f $PATH C:\\Windows ~/.bashrc <div class="x"></div>
<!-- --> /* */ // -- ++ === >>> ... ?!?! *** ### ``` \"\" '' «» “” ‘’ – — … № ™ © ½ ² ₃ Ⅷ ٣٤ ४५ 😀 👩‍👩‍👧 🏳️‍🌈 🇩🇪 ☺️ e\u0301 \u212b ﬁ ＡＢＣ ｱｲｳ""".split()
SPACES = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n", "\n ", "\u00a0", "\u3000", "\u2009", "", "", "\u200b", "\x0b", "\x0c", "\x85", "\u2028"]
LETTERS = list("aAzZéÉßſKıİ09٣²,.!?'\"-_/\\()[]{}<>|@#$%^&*+=~`") + ["'s", "'S", "'LL", "'re", "'ſ", "世", "の", "ア", "가", "\u0301", "\u0308", "\u200d", "\ufe0f", "😀", "\u1100", "\u1161", "▁", "Ġ"]


def sweep():
    """Nearly every code point of planes 0 and 1, assigned or not, 48 in a string, some apart and some joined."""
    skip = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xF8FF), (0x17000, 0x18CD5), (0x20000, 0x10FFFF)]
    points = [c for c in range(0x20000) if not any(a <= c <= b for a, b in skip)]
    points += [c for a, b in skip if a != 0xD800 for c in range(a, min(b, 0x33FFF), 61)]
    out = []
    for i in range(0, len(points), 48):
        chars = [chr(c) for c in points[i : i + 48]]
        out.append(("", "a", " ", "x ")[i // 48 % 4].join(chars))
    return out


def strings(added):
    r = random.Random(len(added))
    out = hostile.strings() + sweep()
    pick = lambda source, n: "".join(r.choice(source) for _ in range(r.randint(1, n)))
    out += [pick(LETTERS + SPACES, 24) for _ in range(1200)]
    out += [pick(SPACES, 8) + pick(LETTERS, 6) + pick(SPACES, 8) for _ in range(300)]
    out += ["".join(chr(r.randint(*r.choice(hostile.BLOCKS))) for _ in range(r.randint(1, 30))) for _ in range(700)]
    out += ["".join(r.choice(WORDS) + r.choice(SPACES) for _ in range(r.randint(1, 40))) for _ in range(900)]
    out += [pick([chr(c) for c in range(0x80)], 60) for _ in range(300)]
    out += ["".join(r.choice(WORDS)[: r.randint(1, 9)].swapcase() for _ in range(r.randint(1, 6))) for _ in range(200)]
    out += [str(r.randrange(10 ** r.randint(1, 30))) + pick(LETTERS, 3) for _ in range(100)]
    out += [r.choice(LETTERS + WORDS) * r.randint(2, 200) for _ in range(150)]
    some = added if len(added) < 120 else added[:40] + r.sample(added, 80)
    out += some + [r.choice(["", " ", "x", "\n", "  "]) + c + r.choice(["", " ", "x", "\n", c]) for c in some]
    out += ["".join(r.choice([r.choice(some), r.choice(WORDS), r.choice(SPACES), r.choice(some)[:-1]]) for _ in range(r.randint(2, 14))) for _ in range(500)] if some else []
    return out
