// What each character is, all of them, as the Rust library says (scripts/goldens/tokenizer/tables.py).

package tokenizer

import (
	"encoding/json/v2"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// frozen returns the library's sets by name.
func frozen(t *testing.T) map[string]runeSet {
	t.Helper()
	data, err := os.ReadFile("testdata/unicode.json")
	if err != nil {
		t.Fatal(err)
	}
	var text map[string]string
	if err := json.Unmarshal(data, &text); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]runeSet)
	for name, s := range text {
		out[name] = parseSet(s)
	}
	return out
}

// everyRune yields all characters up to the last one assigned, and the tags of plane 14; what lies between has no properties.
func everyRune(yield func(rune) bool) {
	for r := rune(0); r < 0xE1000; r++ {
		if r == 0xD800 {
			r = 0xE000
		}
		if r == 0x34000 {
			r = 0xE0000
		}
		if !yield(r) {
			return
		}
	}
}

// where is the set of characters with a property.
func where(is func(rune) bool) runeSet {
	var out runeSet
	for r := range everyRune {
		if !is(r) {
			continue
		}
		if n := len(out); n > 0 && out[n-1][1] == r-1 {
			out[n-1][1] = r
		} else {
			out = append(out, [2]rune{r, r})
		}
	}
	return out
}

func (s runeSet) minus(t runeSet) runeSet { return s.intersection(t.complement()) }

func (s runeSet) String() string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%04X", r[0])
		if r[1] > r[0] {
			fmt.Fprintf(&b, "-%04X", r[1])
		}
	}
	return b.String()
}

// TestReferenceTables: reference.go holds exactly the differences between Go's tables and the library's.
func TestReferenceTables(t *testing.T) {
	want := frozen(t)
	var newer runeSet
	for name, set := range want {
		if table := unicode.Categories[name]; table != nil {
			newer = newer.union(tableSet(table).minus(set))
		}
	}
	lists := map[string]runeSet{"newerThanPatterns": newer.minus(runeSet{{'ʕ', 'ʕ'}}), "inertList": inertWanted(want)}
	for name, go17 := range map[string]runeSet{"punctuation": where(goPunctuation), "mark": tableSet(unicode.M), "word": where(goWord)} {
		lists[name+"Less"], lists[name+"More"] = go17.minus(want[name]), want[name].minus(go17)
	}
	var b strings.Builder
	b.WriteString("// Where the reference's tables of Unicode differ from Go's: ranges of characters. Written by TestReferenceTables -rewrite.\n\npackage tokenizer\n\n")
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		fmt.Fprintf(&b, "const %s = `%s`\n\n", name, wrapped(lists[name].String()))
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile("reference.go", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("reference.go")
	if err != nil || string(got) != text {
		t.Errorf("reference.go does not belong to testdata/unicode.json (%v)", err)
	}
}

// wrapped breaks a long list into lines.
func wrapped(list string) string {
	var b strings.Builder
	width := 0
	for f := range strings.FieldsSeq(list) {
		if width += len(f) + 1; width > 110 {
			b.WriteByte('\n')
			width = len(f) + 1
		}
		b.WriteString(f + " ")
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), " \n", "\n")
}

// inertWanted is what our forms know and the library's do not: decompositions, classes, and the characters that only
// compose in newer versions.
func inertWanted(want map[string]runeSet) runeSet {
	out := where(func(r rune) bool { return norm.NFKD.String(string(r)) != string(r) }).minus(want["NFKD"])
	for _, r := range where(func(r rune) bool { return norm.NFD.String(string(r)) != string(r) }).minus(want["NFD"]) {
		for x := r[0]; x <= r[1]; x++ {
			first, _ := utf8.DecodeRuneInString(norm.NFD.String(string(x)))
			out = out.union(runeSet{{first, first}})
		}
	}
	starters := where(func(r rune) bool { return norm.NFD.PropertiesString(string(r)).CCC() != 0 }).minus(want["nonstarter"]).minus(want["NFD"])
	return out.union(starters)
}

func goWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

func goPunctuation(r rune) bool {
	return r < utf8.RuneSelf && strings.IndexByte(asciiPunctuation, byte(r)) >= 0 || unicode.Is(unicode.P, r)
}

// TestCharactersLikeReference asks our own functions about every character.
func TestCharactersLikeReference(t *testing.T) {
	changed := func(n normalizer) runeSet { return where(func(r rune) bool { return n.text(string(r)) != string(r) }) }
	got := map[string]runeSet{
		"\\s": mustClass(t, `\s`), "\\d": mustClass(t, `\d`), "space": where(unicode.IsSpace), "number": where(unicode.IsNumber),
		"punctuation": where(punctuation), "word": where(wordRune), "mark": changed(eachRune(dropMarks)), "upper": changed(eachRune(lowercase)),
		"NFD": changed(unicodeForm(norm.NFD)), "NFKD": changed(unicodeForm(norm.NFKD)),
	}
	want := frozen(t)
	for name := range want {
		if unicode.Categories[name] != nil {
			got[name] = mustClass(t, `\p{`+name+`}`)
		}
	}
	delete(want, "nonstarter")
	for name := range want {
		if a, b := got[name].minus(want[name]), want[name].minus(got[name]); len(a)+len(b) > 0 {
			t.Errorf("%s: we add %v and lack %v", name, a, b)
		}
	}
}

// mustClass is the set that a pattern of one character matches.
func mustClass(t *testing.T, pattern string) runeSet {
	t.Helper()
	find, err := new(patterns).compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return where(func(r rune) bool {
		found := false
		find(string(r), func(span) { found = true })
		return found
	})
}

// TestFoldIsKept: normalizing a character never changes its fold, so a Guard sees what every normalizer can make.
func TestFoldIsKept(t *testing.T) {
	for _, source := range []string{
		`{"type":"NFC"}`, `{"type":"NFKC"}`, `{"type":"NFKD"}`, `{"type":"Lowercase"}`,
		`{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},{"type":"NFD"},{"type":"StripAccents"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]}`,
	} {
		n := normalizerReader{patterns: new(patterns)}
		if err := n.read("normalizer", []byte(source)); err != nil {
			t.Fatal(err)
		}
		f := n.folding()
		for r := range everyRune {
			if r > 0x3400 && r < 0xD800 && r%16 != 0 { // the big regular blocks
				continue
			}
			s := string(r)
			for _, step := range n.all {
				s = step.text(s)
			}
			if got, want := f.text(s), f.text(string(r)); got != want {
				t.Fatalf("%s: %q becomes %q, whose fold is %q instead of %q", source, r, s, got, want)
			}
		}
	}
}
