package chat

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

func jsonValue(t *testing.T, text string) Value {
	t.Helper()
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestKeysSeeWhatIsSaid: what clients change on the way is no edit, and everything else is.
func TestKeysSeeWhatIsSaid(t *testing.T) {
	call := func(id, args string) []ToolCall {
		return []ToolCall{{ID: id, Name: "f", Arguments: jsonValue(t, args)}}
	}
	base := Message{Role: Assistant, Content: " hi\n", Reasoning: "hm", ToolCalls: call("a", `{"x":1.0,"y":[{"p":1,"q":"é"}]}`)}
	cases := []struct {
		name         string
		change       func(*Message)
		exact, loose bool // stays equal
	}{
		{"nothing", func(*Message) {}, true, true},
		{"call id", func(m *Message) { m.ToolCalls = call("b", `{"x":1.0,"y":[{"p":1,"q":"é"}]}`) }, true, true},
		{"order and spelling of arguments", func(m *Message) { m.ToolCalls = call("a", `{ "y": [{"q":"\u00e9","p":1}], "x": 1.0 }`) }, true, true},
		{"literal of a number", func(m *Message) { m.ToolCalls = call("a", `{"x":1,"y":[{"p":1,"q":"é"}]}`) }, false, false},
		{"reasoning dropped", func(m *Message) { m.Reasoning = "" }, false, true},
		{"text trimmed", func(m *Message) { m.Content = "hi" }, false, true},
		{"text changed", func(m *Message) { m.Content = "ho" }, false, false},
		{"calls dropped", func(m *Message) { m.ToolCalls = nil }, false, false},
		{"role", func(m *Message) { m.Role, m.Reasoning, m.ToolCalls = User, "", nil }, false, false},
	}
	a := NewItem(base)
	for _, c := range cases {
		m := base
		c.change(&m)
		b := NewItem(m)
		if (a.Exact == b.Exact) != c.exact || (a.Loose == b.Loose) != c.loose {
			t.Errorf("%s: exact equal %v, loose equal %v; want %v, %v", c.name, a.Exact == b.Exact, a.Loose == b.Loose, c.exact, c.loose)
		}
	}
	one, other := NewItem(Message{Role: User, Content: " x"}), NewItem(Message{Role: User, Content: "x"})
	if one.Loose == other.Loose {
		t.Error("whitespace of a user's message is not an edit")
	}
	image := NewItem(Message{Role: User, Content: "x", Parts: []Part{{Text: "x"}, {Image: &Image{Digest: "sha256:1"}}}})
	if image.Exact == other.Exact {
		t.Error("an image is not an edit")
	}
}

// TestKeysAreForever: a journal written by one process is read by another.
func TestKeysAreForever(t *testing.T) {
	k := NewItem(Message{Role: User, Content: "hello"}).Exact
	if got, want := hex.EncodeToString(k[:]), "6eab1c5dddce2dbd8b2c8f4a5bd4e875"; got != want {
		t.Errorf("the key of a message is %s; journals say %s", got, want)
	}
}

func TestFold(t *testing.T) {
	m := func(role Role, text string) Message { return Message{Role: role, Content: text} }
	for _, c := range []struct{ name, in, want string }{
		{"nothing to do", "Sa Ub Ac", "Sa Ub Ac"},
		{"leading ones are joined", "Sa Sb Uc", "Sa+b Uc"},
		{"a later one is a reminder", "Sa Ub Sc Ad Se", "Sa Ub Rc Ad Re"},
		{"none at the start", "Ub Sc", "Ub Rc"},
	} {
		var in []Message
		for _, w := range strings.Fields(c.in) {
			in = append(in, m(map[byte]Role{'S': System, 'U': User, 'A': Assistant}[w[0]], w[1:]))
		}
		var want []Message
		for _, w := range strings.Fields(c.want) {
			switch {
			case w == "Sa+b":
				want = append(want, m(System, "a\n\nb"))
			case w[0] == 'R':
				want = append(want, m(User, "<system-reminder>\n"+w[1:]+"\n</system-reminder>"))
			default:
				want = append(want, m(map[byte]Role{'S': System, 'U': User, 'A': Assistant}[w[0]], w[1:]))
			}
		}
		if got := Fold(in); !slices.EqualFunc(got, want, func(a, b Message) bool { return a.Equal(&b) }) {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
		for n := range in { // local: a conversation that grows keeps what was shown
			if short := Fold(in[:n]); n > 0 && in[n].Role != System && !slices.EqualFunc(short, Fold(in)[:len(short)], func(a, b Message) bool { return a.Equal(&b) }) {
				t.Errorf("%s: message %d changes what came before", c.name, n)
			}
		}
	}
}
