// Text of several authors: borders change nothing in harmless text, and no ordinary text becomes a control token.

package tokenizer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"molt/tokenizer"
)

var harmless = []string{"a", "b", " ", "  ", "\n", "hello", " world", "é", "e\u0301", "\u0301", "世界", "ＡＢ", "ﬁ", "İ", "1", "23", "!", "'s", "😀", "\u200b", "▁", "\u1100", "\u1161", "ẞ", "\u00a0"}

// normalized are tokenizers with a normalizer, and added tokens that are searched in what it gives.
func normalized(t *testing.T) map[string]*tokenizer.Tokenizer {
	t.Helper()
	out := map[string]*tokenizer.Tokenizer{}
	for name, normalizer := range map[string]string{
		"none": `null`, "nfc": `{"type":"NFC"}`, "nfkc lower": `{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}`,
		"accents": `{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}`, "strip": `{"type":"Strip","strip_left":true,"strip_right":true}`,
		"replace": `{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":" "},"content":"▁"},{"type":"Replace","pattern":{"String":"\u200b"},"content":""}]}`,
	} {
		file := with(t, read(t, "testdata/trained.json"), "normalizer", normalizer)
		out[name] = load(t, []byte(strings.ReplaceAll(string(file), `"normalized":false`, `"normalized":true`)))
	}
	return out
}

func TestHarmlessPartsChangeNothing(t *testing.T) {
	all := normalized(t)
	for name, source := range sources(t) {
		all[name] = load(t, source)
	}
	delete(all, "flags") // it has a control token éé
	texts := rapid.SliceOfN(rapid.SampledFrom(harmless), 0, 8)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tok := all[name]
		rapid.Check(t, func(t *rapid.T) {
			var parts []tokenizer.Part
			var whole strings.Builder
			for range rapid.IntRange(0, 6).Draw(t, "parts") {
				p := tokenizer.Part{Text: strings.Join(texts.Draw(t, "text"), ""), Ordinary: rapid.Bool().Draw(t, "ordinary")}
				parts = append(parts, p)
				whole.WriteString(p.Text)
			}
			if got, want := tok.EncodeParts(parts...), tok.EncodeSpecial(whole.String()); !slices.Equal(got, want) {
				t.Fatalf("%s: %+v: got %v, want %v", name, parts, got, want)
			}
		})
	}
}

// TestOrdinaryPartsHoldNoControl: of template text and ordinary text in turns, the control ids are those of the template.
func TestOrdinaryPartsHoldNoControl(t *testing.T) {
	evil := append(slices.Clone(harmless), "<|im_end|>", "＜|im_end|＞", "<|IM_END|>", "<|ím_end|>", "<|im\u200b_end|>", "<|im_", "end|>", "<think>", "＜think＞", "<", "|>", "＜", "\u0338")
	texts := rapid.SliceOfN(rapid.SampledFrom(evil), 0, 8)
	for name, tok := range normalized(t) {
		end, _ := tok.ID("<|im_end|>")
		rapid.Check(t, func(t *rapid.T) {
			var parts []tokenizer.Part
			turns := rapid.IntRange(1, 4).Draw(t, "turns")
			for range turns {
				parts = append(parts, tokenizer.Part{Text: strings.Join(texts.Draw(t, "text"), ""), Ordinary: true}, tokenizer.Part{Text: "<|im_end|>"})
			}
			var got []int32
			for _, id := range tok.EncodeParts(parts...) {
				if tok.IsControl(id) {
					got = append(got, id)
				}
			}
			// A mark behind it joins the last character of a template's token; then the token is none.
			if want := slices.Repeat([]int32{end}, turns); !slices.Equal(got, want) && !(len(got) < turns && joins(parts)) {
				t.Fatalf("%s: %+v: control ids %v, want %v", name, parts, got, want)
			}
		})
	}
}

// joins reports whether an ordinary part begins with a character that combines with what stands before it.
func joins(parts []tokenizer.Part) bool {
	return slices.ContainsFunc(parts, func(p tokenizer.Part) bool {
		return p.Ordinary && (strings.HasPrefix(p.Text, "\u0338") || strings.HasPrefix(p.Text, "\u0301") || strings.HasPrefix(p.Text, "\u1161"))
	})
}

// TestGuardFindsWhatEncodingWouldTake: masking what a guard finds, as the chat room does, is enough.
func TestGuardFindsWhatEncodingWouldTake(t *testing.T) {
	evil := append(slices.Clone(harmless), "<|im_end|>", "＜|im_end|＞", "<|IM_END|>", "<|ím_end|>", "<|im\u200b_end|>", "<|im_", "end|>", "|im_end|", "<think>", "＜think＞", "<", "|>", "＜", "\u0338")
	texts := rapid.SliceOfN(rapid.SampledFrom(evil), 0, 8)
	for name, tok := range normalized(t) {
		guard := tok.NewGuard(false)
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(texts.Draw(t, "text"), "")
			border := rapid.SampledFrom([]string{"", "\n", "<", "<|", "|>"}).Draw(t, "border") // of the template
			parts := []tokenizer.Part{{Text: border}}
			done := 0
			for _, f := range guard.Find(text) {
				if f.From < done || f.To <= f.From || f.To > len(text) {
					t.Fatalf("%q: %v", text, f)
				}
				parts = append(parts, tokenizer.Part{Text: text[done:f.From]}, tokenizer.Part{Text: text[f.From:f.To], Ordinary: true})
				done = f.To
			}
			parts = append(parts, tokenizer.Part{Text: text[done:] + border})
			for _, id := range tok.EncodeParts(parts...) {
				if tok.IsControl(id) {
					t.Fatalf("%s: %q in %q: %q came through", name, text, border, tok.Token(id))
				}
			}
		})
	}
}
