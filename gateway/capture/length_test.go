package capture

import (
	"runtime"
	"strings"
	"testing"

	"molt/chat"
	"molt/gateway/wire"
)

// TestTooLongIsCheap: a message that cannot fit is refused for what its bytes say, on every way in, and leaves no trace.
func TestTooLongIsCheap(t *testing.T) {
	w := newWorld(t, inOrder("one"), nil)
	text := strings.Repeat("some words and 12 numbers\n", 20<<20/26)
	for name, r := range map[string]*wire.Request{
		"message": request([]chat.Message{user(text)}, nil),
		"tool":    request([]chat.Message{user("a"), tool("x", text)}, nil),
		"text":    {Text: text, Options: wire.Options{Choices: 1}},
		"ids":     {Prompt: make([]int32, 5<<20), Options: wire.Options{Choices: 1}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, p := w.session.Ask(t.Context(), r, Caller{})
		_, counted := w.session.Count(r)
		runtime.ReadMemStats(&after)
		if p == nil || p.Class != wire.Overflow || p.Tokens < p.Limit || counted == nil || counted.Class != wire.Overflow {
			t.Errorf("%s: %+v, counted %+v", name, p, counted)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 4*uint64(len(text)) {
			t.Errorf("%s: refusing it took %d bytes", name, spent)
		}
	}
	if w.session.kept != 0 || w.session.forest.Points() != 0 {
		t.Errorf("%d bytes and %d points are kept", w.session.kept, w.session.forest.Points())
	}
	w.ask([]chat.Message{user("a")}, nil)
}

// TestTheBoundIsOne: no text has fewer ids than the bound says.
func TestTheBoundIsOne(t *testing.T) {
	tok := testTokenizer()
	longest := longestPiece(tok)
	if longest < len("<|im_start|>") {
		t.Fatalf("the longest piece has %d bytes", longest)
	}
	for text, composed := range map[string]string{ // by NFC
		"user": "user", "lookup": "lookup", "<|im_end|>": "<|im_end|>", "pens and cups ": "pens and cups ", "日本": "日本",
		"A\u030a\u0301": "\u01fa", "E\u0302\u0301": "\u1ebe", "\u1112\u1161\u11ab": "\ud55c", "\u03b1\u0313\u0300\u0345": "\u1f82", "\u2126": "\u03a9",
	} {
		if least := leastBytes(text); least > len(composed) {
			t.Errorf("%q: at least %d bytes, and its composed form has %d", text, least, len(composed))
		}
		text = strings.Repeat(text, 1000)
		if n := len(tok.EncodeSpecial(text)); n < leastBytes(text)/longest {
			t.Errorf("%.20q: %d ids, and the bound says %d", text, n, leastBytes(text)/longest)
		}
	}
	if n := leastBytes(strings.Repeat(" ", 1000)); n != 0 {
		t.Errorf("spaces, which a template trims: %d", n)
	}
}
