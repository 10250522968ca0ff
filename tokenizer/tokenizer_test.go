package tokenizer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"molt/tokenizer"
)

func TestLookup(t *testing.T) {
	tok := load(t, read(t, "testdata/trained.json"))
	if tok.VocabSize() != 512 {
		t.Errorf("vocabulary of %d, want 512", tok.VocabSize())
	}
	for id := range int32(tok.VocabSize()) {
		if got, ok := tok.ID(tok.Token(id)); !ok || got != id {
			t.Errorf("token %q of id %d has id %d", tok.Token(id), id, got)
		}
	}
	end, _ := tok.ID("<|im_end|>")
	call, _ := tok.ID("<tool_call>")
	if !tok.IsSpecial(end) || tok.IsSpecial(call) || !tok.IsControl(end) || !tok.IsControl(call) || tok.IsControl(65) {
		t.Error("special or control is wrong")
	}
	if _, ok := tok.ID("no such token"); ok || tok.Token(-1) != "" || tok.Token(1<<20) != "" {
		t.Error("ids outside the vocabulary must have no token")
	}
	if got := tok.DecodeVisible([]int32{end, 'h', 'i', call, end}); got != "hi<tool_call>" {
		t.Errorf("visible: %q", got)
	}
	if got := tok.Decode([]int32{'h', -1, 1 << 20}); got != "h\ufffd\ufffd" {
		t.Errorf("ids outside the vocabulary: %q", got)
	}
	for id, want := range map[int32]string{'A': "A", ' ': " ", '\n': "\n", 0xE2: "<0xE2>", end: "<|im_end|>", -7: "<id -7>"} {
		if got := tok.Piece(id); got != want {
			t.Errorf("piece %d: got %q, want %q", id, got, want)
		}
	}
	sentence := load(t, read(t, "testdata/sentence.json"))
	the, _ := sentence.ID("the▁")
	if got := sentence.Piece(the); got != "the " {
		t.Errorf("piece: %q", got)
	}
}

// TestBrokenUTF8 is read as U+FFFD, once for each maximal broken sequence.
func TestBrokenUTF8(t *testing.T) {
	tok := load(t, read(t, "testdata/trained.json"))
	for in, want := range map[string]string{
		"a\xffb": "a\ufffdb", "\xe2\x82": "\ufffd", "\xe2\x82x": "\ufffdx", "\xf0\x9f\x98": "\ufffd", "\xc0\x80": "\ufffd\ufffd",
		"\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xf4\x90\x80\x80": "\ufffd\ufffd\ufffd\ufffd", "\x80": "\ufffd", "\xe0\x80\x80": "\ufffd\ufffd\ufffd",
	} {
		if got := tok.Decode(tok.EncodeSpecial(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestStreamHoldsBack: nothing that is shown is ever taken back, and nothing waits without need.
func TestStreamHoldsBack(t *testing.T) {
	tok := load(t, read(t, "testdata/trained.json"))
	s := tok.NewStream(false)
	got := []string{}
	for _, b := range []byte("é\xf0\x9f\x98\x80\xe2\x82!\xe2") {
		got = append(got, s.Push(int32(b)))
	}
	got = append(got, s.Flush())
	want := []string{"", "é", "", "", "", "😀", "", "", "\ufffd!", "", "\ufffd"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	sentence := load(t, read(t, "testdata/sentence.json"))
	s = sentence.NewStream(true)
	got = got[:0]
	for _, token := range []string{"<s>", "▁", "a", "<0xC3>", "<0xA9>", "a", "<0xC3>", "a", "</s>"} {
		id, ok := sentence.ID(token)
		if !ok {
			t.Fatal(token)
		}
		got = append(got, s.Push(id))
	}
	want = []string{"", "", "a", "", "", "éa", "", "\ufffda", ""}
	if !slices.Equal(got, want) || s.Flush() != "" {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTrain(t *testing.T) {
	texts := slices.Values([]string{"aaab aaab", "<x>aaab 12 12", "12<x>é"})
	tok, err := tokenizer.Train(texts, 300, []string{"<x>"}, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// By hand: the pieces are aaab twice, Ġaaab once, digits and single spaces. Pairs: aa 6, ab 3, Ġa 1. After aa: aa+a 3 and
	// ab 3; the ids of ab are smaller. Then aa+ab 3. What is left occurs once.
	got := []string{}
	for id := int32(256); id < int32(tok.VocabSize()); id++ {
		got = append(got, tok.Token(id))
	}
	if want := []string{"aa", "ab", "aaab", "<x>"}; !slices.Equal(got, want) {
		t.Errorf("merged %q, want %q", got, want)
	}
	if tok.VocabSize() >= 300 {
		t.Errorf("vocabulary of %d, but merges should have run out", tok.VocabSize())
	}
	for id := int32(256); id < int32(tok.VocabSize()); id++ {
		if p := tok.Token(id); strings.ContainsAny(p, "0123456789") || p != "<x>" && strings.ContainsAny(p, "<>") {
			t.Errorf("merged %q: digits stay single and control strings are not learned from", p)
		}
	}
	again, err := tokenizer.Train(texts, 300, []string{"<x>"}, tokenizer.TrainOptions{})
	if err != nil || string(again.JSON()) != string(tok.JSON()) {
		t.Errorf("training again gives another file (%v)", err)
	}
}

func TestTrainRefusals(t *testing.T) {
	texts := slices.Values([]string{"x"})
	for _, c := range []struct {
		size     int
		specials []string
		want     string
	}{
		{256, []string{"<a>"}, "need at least 257"},
		{1 << 30, nil, "at most"},
		{300, []string{""}, "empty content"},
		{300, []string{"<a>", "<a>"}, "is listed twice"},
		{300, []string{"A"}, "model.vocab says"},
	} {
		if _, err := tokenizer.Train(texts, c.size, c.specials, tokenizer.TrainOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %q: got %v, want %q", c.size, c.specials, err, c.want)
		}
	}
	tok, err := tokenizer.Train(func(func(string) bool) {}, 300, nil, tokenizer.TrainOptions{})
	if err != nil || tok.VocabSize() != 256 {
		t.Errorf("no texts must leave the 256 bytes, got %v", err)
	}
}

// TestNearLinear: one piece of two million characters must not take quadratic time (that would be hours).
func TestNearLinear(t *testing.T) {
	all := sources(t)
	for _, c := range []struct {
		source, unit string
		times        int
	}{
		{"trained", "ab", 1_000_000}, {"gemma", "ab", 1_000_000},
		{"trained", " ", 200_000}, {"trained", " x\n", 200_000}, {"flags", "\u00a0<mask>", 50_000}, {"nfc", "\u0301", 200_000},
		{"sentence", "<s", 200_000}, {"metaspace", "  ", 200_000}, {"deepseek", "!", 200_000}, {"o200k", "Aa", 200_000},
	} {
		tok := load(t, all[c.source])
		text := strings.Repeat(c.unit, c.times)
		began := time.Now()
		ids := tok.EncodeOrdinary(text)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %d × %q took %v", c.source, c.times, c.unit, took)
		}
		if len(ids) == 0 {
			t.Errorf("%s: %d × %q gave no ids", c.source, c.times, c.unit)
		}
	}
}

// TestMergesOfBytes: a merge may join a byte's piece with the word behind it, which cutting text into words must respect.
func TestMergesOfBytes(t *testing.T) {
	vocab := []string{`"▁":0`, `"a":1`, `"▁a":2`, `"<0x0A>▁a":3`, `"<u>":4`, `"<u>▁a":5`}
	for b := range 256 {
		vocab = append(vocab, fmt.Sprintf(`"<0x%02X>":%d`, b, 6+b))
	}
	for _, c := range []struct {
		fallback bool
		text     string
		want     []int32
	}{{true, "a\n a a", []int32{1, 3, 2}}, {false, "a\n a a", []int32{1, 5, 2}}} {
		tok := load(t, fmt.Appendf(nil, `{"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},"decoder":{"type":"Fuse"},"added_tokens":[],
			"model":{"type":"BPE","byte_fallback":%v,"unk_token":"<u>","vocab":{%s},"merges":[["▁","a"],["<0x0A>","▁a"],["<u>","▁a"]]}}`, c.fallback, strings.Join(vocab, ",")))
		if got := tok.EncodeSpecial(c.text); !slices.Equal(got, c.want) {
			t.Errorf("fallback %v: got %v, want %v", c.fallback, got, c.want)
		}
	}
}

// TestConcurrentUse lets the race detector look at a shared tokenizer.
func TestConcurrentUse(t *testing.T) {
	tok := load(t, read(t, "testdata/trained.json"))
	want := fmt.Sprint(tok.EncodeSpecial("What do 3 pens cost?<|im_end|>"))
	done := make(chan string)
	for range 4 {
		go func() { done <- fmt.Sprint(tok.EncodeSpecial("What do 3 pens cost?<|im_end|>")) }()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// FuzzNew: hostile files are refused or give a tokenizer that works.
func FuzzNew(f *testing.F) {
	all := sources(f)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.Add(all[name])
	}
	f.Add([]byte(forging))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := tokenizer.New(data)
		if err != nil {
			return
		}
		checkUse(t, tok, "Hi <|im_end|> 12\n<s>é😀")
		for id := range int32(min(tok.VocabSize(), 1000)) {
			tok.Piece(id)
		}
	})
}

// FuzzEncode: text survives, streams equal the whole, ordinary text holds no control token.
func FuzzEncode(f *testing.F) {
	for _, text := range hostile(f) {
		f.Add(text)
	}
	all := sources(f)
	toks := map[string]*tokenizer.Tokenizer{}
	for name, source := range all {
		toks[name] = load(f, source)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range toks {
			checkUse(t, tok, text)
		}
		exact := toks["trained"]
		if want := valid(t, text); exact.Decode(exact.EncodeOrdinary(text)) != want || exact.Decode(exact.EncodeSpecial(text)) != want {
			t.Errorf("%q does not round-trip", want)
		}
	})
}

// valid is the text that broken UTF-8 is read as.
func valid(t *testing.T, text string) string {
	if utf8.ValidString(text) {
		return text
	}
	tok, err := tokenizer.Train(func(func(string) bool) {}, 256, nil, tokenizer.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, len(text)) // an untrained tokenizer's ids are the bytes
	for i := range ids {
		ids[i] = int32(text[i])
	}
	return tok.Decode(ids)
}

func checkUse(t *testing.T, tok *tokenizer.Tokenizer, text string) {
	t.Helper()
	unknown, hasUnknown := tok.ID("<unk>")
	for _, id := range tok.EncodeOrdinary(text) {
		if tok.IsControl(id) && !(hasUnknown && id == unknown) && tok.Token(id) != "<unk>" {
			t.Errorf("ordinary %q holds control token %q", text, tok.Token(id))
		}
	}
	ids := tok.EncodeSpecial(text)
	for _, id := range ids {
		if id < 0 || int(id) >= tok.VocabSize() {
			t.Fatalf("id %d of %q is outside the vocabulary", id, text)
		}
	}
	if got, want := streamed(tok, ids), tok.Decode(ids); got != want {
		t.Errorf("stream of %q: got %q, want %q", text, got, want)
	}
	cut := rand.New(rand.NewPCG(uint64(len(text)), 1)).IntN(len(text) + 1)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if utf8.ValidString(text) {
		if got := tok.EncodeParts(tokenizer.Part{Text: text[:cut]}, tokenizer.Part{Text: text[cut:]}); !slices.Equal(got, ids) {
			t.Errorf("%q cut at %d: got %v, want %v", text, cut, got, ids)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := load(b, read(b, "testdata/trained.json"))
	text := string(read(b, "testdata/corpus.txt"))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		tokens += len(tok.EncodeSpecial(text))
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkDecode(b *testing.B) {
	tok := load(b, read(b, "testdata/trained.json"))
	ids := tok.EncodeSpecial(string(read(b, "testdata/corpus.txt")))
	b.ReportAllocs()
	for b.Loop() {
		tok.Decode(ids)
	}
	b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkTrain(b *testing.B) {
	corpus := string(read(b, "testdata/corpus.txt"))
	for b.Loop() {
		if _, err := tokenizer.Train(slices.Values([]string{corpus}), 512, nil, tokenizer.TrainOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
