// The scanners against the engine, and the engine against another one.

package tokenizer

import (
	"encoding/json/v2"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
	"pgregory.net/rapid"
)

var scanned = map[string]string{"gpt2": gpt2Pattern, "qwen": TrainPattern, "cl100k": cl100kPattern, "o200k": o200kPattern, "deepseek": deepseekPattern}

// spellingsOf are characters and strings that tell the branches of the patterns apart.
var spellingsOf = []string{
	" ", "  ", "\n", "\r", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "\u2028", "a", "b", "S", "Z", "ab", "XY", "ǅ", "ʰ", "ª", "世", "の", "ـ", "ß", "ſ", "İ", "K", "é", "e\u0301",
	"\u0301", "\u0903", "\u20dd", "1", "12", "²", "Ⅷ", "٣", "½", "'", "'s", "'S", "'ſ", "'ll", "'LL", "'lL", "'re", "'Ve", "'d", "'T", "’s", ".", ",", "/", "//", "-", "_", "!", "$", "+", "€", "™", "«",
	"😀", "\u200d", "\u200b", "\x00", "\x7f", "\ue000", "\U00010400", "\U00010428", "\U0001d7d8", "\U0001e8d0", "\U000e0100", "\u0378", "\ua7ce",
}

func randomText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(spellingsOf), 1, 14).Draw(t, "text"), "")
}

func spansOf(m matcher, s string) []span {
	out := []span{}
	m(s, func(at span) { out = append(out, at) })
	return out
}

func engineOf(t testing.TB, pattern string) matcher {
	t.Helper()
	re, err := new(patterns).parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return re.find
}

// TestScanners: on strings of the frozen set and on random ones, a scanner cuts where the engine does.
func TestScanners(t *testing.T) {
	texts := frozenTexts(t)
	for name, pattern := range scanned {
		scanner, engine := scannerOf(pattern), engineOf(t, pattern)
		if scanner == nil {
			t.Fatalf("%s has no scanner", name)
		}
		for _, s := range texts {
			if got, want := spansOf(scanner, s), spansOf(engine, s); !slices.Equal(got, want) {
				t.Errorf("%s of %q: got %v, want %v", name, s, got, want)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			s := randomText(t)
			if got, want := spansOf(scanner, s), spansOf(engine, s); !slices.Equal(got, want) {
				t.Fatalf("%s of %q: got %v, want %v", name, s, got, want)
			}
		})
	}
}

// TestScannersOnEveryCharacter sets each character between others.
func TestScannersOnEveryCharacter(t *testing.T) {
	for name, pattern := range scanned {
		scanner, engine := scannerOf(pattern), engineOf(t, pattern)
		var b strings.Builder
		for r := rune(0); r < 0x20000; r++ {
			if r >= 0xD800 && r < 0xE000 {
				continue
			}
			b.WriteRune(r)
			b.WriteString([]string{"a", " ", "B ", "", ".", "1", "\n", " \u0301"}[r%8])
			if b.Len() > 200 {
				if s := b.String(); !slices.Equal(spansOf(scanner, s), spansOf(engine, s)) {
					t.Errorf("%s: %q", name, s)
				}
				b.Reset()
			}
		}
	}
}

func FuzzScanners(f *testing.F) {
	for _, s := range frozenTexts(f) {
		f.Add(s)
	}
	engines := make(map[string]matcher)
	for _, pattern := range scanned {
		engines[pattern] = engineOf(f, pattern)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = toText(s)
		for pattern, engine := range engines {
			if got, want := spansOf(scannerOf(pattern), s), spansOf(engine, s); !slices.Equal(got, want) {
				t.Errorf("%s of %q: got %v, want %v", pattern, s, got, want)
			}
		}
	})
}

// TestEngineLikeRegexp2 runs patterns that both engines read alike, on characters that both know.
func TestEngineLikeRegexp2(t *testing.T) {
	patterns := slices.Collect(func(yield func(string) bool) {
		for _, p := range []string{gpt2Pattern, TrainPattern, o200kPattern, deepseekPattern, `a*b*c`, `a+?b|a{2,3}?`, `[ab]+a(?!b)`, `(?:a|ab)(?:c|bcd)?d`, `[^a]*a|b`, `a{0,3}a{0,3}b`,
			`(a+|b+)(?=c)|.`, `\s*?\S`, `(?:|a)b`, `a+(?!b)a*`, `[a-c]+[b-d]+?c`, `(?i:k|s+)x?`} {
			if !yield(p) {
				return
			}
		}
	})
	pieces := append([]string{"a", "a", "b", "b", "c", "d", "ab", "k", "s", "x", " ", "\n"}, slices.DeleteFunc(slices.Clone(spellingsOf), func(s string) bool {
		return strings.ContainsAny(s, "ſİK\ua7ce") // regexp2 folds and knows these differently
	})...)
	for _, p := range patterns {
		engine := engineOf(t, p)
		other := regexp2.MustCompile(p, regexp2.Unicode)
		rapid.Check(t, func(t *rapid.T) {
			s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(t, "text"), "")
			if got, want := spansOf(engine, s), regexp2Spans(other, s); !slices.Equal(got, want) {
				t.Fatalf("%s of %q: got %v, want %v", p, s, got, want)
			}
		})
	}
}

func regexp2Spans(re *regexp2.Regexp, s string) []span {
	out := []span{}
	runes := []rune(s)
	bytes := func(n int) int { return len(string(runes[:n])) }
	for m, _ := re.FindRunesMatch(runes); m != nil; m, _ = re.FindNextMatch(m) {
		out = append(out, span{bytes(m.Index), bytes(m.Index + m.Length)})
	}
	return out
}

// TestPatternsAreLinear: what takes a backtracking engine minutes or ages.
func TestPatternsAreLinear(t *testing.T) {
	const n = 100_000
	for _, c := range []struct{ pattern, text string }{
		{`a*a*b`, strings.Repeat("a", n)}, {`a*a*a*a*b`, strings.Repeat("a", n)}, {`a+b|a`, strings.Repeat("a", n)}, {`(?:a|a|a)(?:a|a|a)(?:a|a|a)a*b`, strings.Repeat("a", n)},
		{`[ab]*[ab]*a*c`, strings.Repeat("ab", n)}, {`a*?a*?b`, strings.Repeat("a", n)}, {`a++b|a`, strings.Repeat("a", n)}, {`a*(?!a)(?!b)c|.`, strings.Repeat("ab", n)},
		{`[ab]*a[ab]{1,20}c`, strings.Repeat("ab", n)}, {`\s*[\r\n]+x`, strings.Repeat(" ", n)}, {`\s*\s*(?!\s)\s*x`, strings.Repeat(" \n", n)}, {`(?:a*|b*)(?:a*|b*)(?:a*|b*)c`, strings.Repeat("aab", n)},
		{o200kPattern, strings.Repeat("A", n)}, {o200kPattern, strings.Repeat("A'", n)},
	} {
		began := time.Now()
		engineOf(t, c.pattern)(c.text, func(span) {})
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", c.pattern, took)
		}
	}
}

// TestRandomPatterns compares engines on patterns that nobody would write.
func TestRandomPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for range 1500 {
		pattern := randomPattern(random, 3)
		re, err := new(patterns).parse(pattern)
		if err != nil {
			continue
		}
		tried++
		other, err := regexp2.Compile(pattern, regexp2.Unicode)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		for range 20 {
			var b strings.Builder
			for range random.IntN(12) {
				b.WriteByte("aaabbc"[random.IntN(6)])
			}
			if got, want := spansOf(re.find, b.String()), regexp2Spans(other, b.String()); !slices.Equal(got, want) {
				t.Fatalf("%s of %q: got %v, want %v", pattern, b.String(), got, want)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d patterns could be read", tried)
	}
}

func randomPattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		switch k := r.IntN(10); {
		case k < 2 && depth > 0:
			b.WriteString("(?:" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")" + []string{"", "?"}[r.IntN(2)])
		case k == 2 && depth > 0:
			b.WriteString([]string{"(?=", "(?!"}[r.IntN(2)] + []string{"a", "b", "[bc]c", "a|bb"}[r.IntN(4)] + ")")
		default:
			b.WriteString([]string{"a", "b", "[ab]", "[^a]", "."}[r.IntN(5)] + []string{"", "", "*", "+", "?", "*?", "+?", "{1,2}", "{0,3}?"}[r.IntN(9)])
		}
	}
	return b.String()
}

func frozenTexts(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts struct {
		Strings []string `json:"strings"`
	}
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	return texts.Strings
}
