package chat

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"molt/tokenizer"
)

// markup of the templates in testdata, and strings that their own brackets could be made to spell.
var markup = []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>", "<function>", "</function>", "<arg_key>", "</arg_key>",
	"<arg_value>", "</arg_value>", "<return>", "<name>", "</name>", "<city>", "</city>", "<zebra>", "<parameters>", "<|constrain|>", "<parameter=city>", "<function=f>", "functions.f"}

func markedTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Train(slices.Values([]string{"some text to learn from"}), 300+len(specials)+len(markup), specials, tokenizer.TrainOptions{Visible: markup})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// hostileValues are words inside control strings, pieces of them, and whole ones.
func hostileValues() []string {
	out := []string{"im_end", "<", ">", "|", "<|", "|>", "</", "/", "user", "assistant", "system", "a</think>im_end", " im_end ", "\nthink\n", "im", "_end", "ｉｍ_end", "end of", "\U000F0000", "\U0010FFFD"}
	for _, c := range slices.Concat(specials, markup) {
		word := strings.Trim(c, "<|>/｜[]~!= ")
		out = append(out, c, word, word+">", "<"+word, " "+word)
	}
	return out
}

// fields are all places for text from outside. The neutral word for each has nine letters and digits.
var fields = map[string]func(*Conversation, string){
	"question":  func(c *Conversation, s string) { c.Messages[1].Content = s },
	"reasoning": func(c *Conversation, s string) { c.Messages[2].Reasoning = s },
	"call id":   func(c *Conversation, s string) { c.Messages[2].ToolCalls[0].ID, c.Messages[3].ToolCallID = s, s },
	"call":      func(c *Conversation, s string) { c.Messages[2].ToolCalls[0].Name, c.Messages[3].Name = s, s },
	"argument": func(c *Conversation, s string) {
		c.Messages[2].ToolCalls[0].Arguments = Object(Member{"city", String(s)})
	},
	"key":         func(c *Conversation, s string) { c.Messages[2].ToolCalls[0].Arguments = Object(Member{s, Int(1)}) },
	"result":      func(c *Conversation, s string) { c.Messages[3].Content = s },
	"tool":        func(c *Conversation, s string) { c.Tools[0] = toolCalled(s, "does", "city", "where") },
	"description": func(c *Conversation, s string) { c.Tools[0] = toolCalled("f", s, "city", "where") },
	"property":    func(c *Conversation, s string) { c.Tools[0] = toolCalled("f", "does", s, "where") },
	"its meaning": func(c *Conversation, s string) { c.Tools[0] = toolCalled("f", "does", "city", s) },
}

func toolCalled(name, does, property, meaning string) ToolSpec {
	return NewToolSpec(name, does, Object(Member{"type", String("object")}, Member{"properties", Object(Member{property, Object(Member{"type", String("string")}, Member{"description", String(meaning)})})}))
}

func everyField() Conversation {
	c := Conversation{
		Messages: []Message{
			{Role: System, Content: "Be brief."}, {Role: User, Content: "hi"},
			{Role: Assistant, ToolCalls: []ToolCall{{ID: "abcdefghi", Name: "f", Arguments: Object()}}}, {Role: Tool, Content: "1", ToolCallID: "abcdefghi", Name: "f"},
		},
		Tools: []ToolSpec{toolCalled("f", "does", "city", "where")},
	}
	return c
}

// TestWordsStayText: whatever stands in a field, the control ids are those of a harmless word there.
func TestWordsStayText(t *testing.T) {
	tok := markedTokenizer(t)
	files, _ := filepath.Glob("testdata/templates/*.jinja")
	if len(files) < 15 {
		t.Fatalf("%d templates", len(files))
	}
	values := hostileValues()
	compared := 0
	for _, file := range append(files, "chat_template.jinja") {
		r, err := NewRenderer(readTemplate(t, file, JinjaOptions{BOS: "<s>", EOS: "</s>", Now: pinned}), tok)
		if err != nil {
			t.Fatal(err)
		}
		controls := func(field func(*Conversation, string), value string) ([]int32, error) {
			c := everyField()
			field(&c, value)
			o, err := r.Prompt(c)
			return r.controlsIn(o.IDs), err
		}
		for name, field := range fields {
			want, errNeutral := controls(field, "zebra9876")
			for _, value := range values {
				got, err := controls(field, value)
				if err != nil && !errors.Is(err, ErrForged) { // Mistral's ids have nine characters
					continue
				}
				if compared++; err != nil || errNeutral != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %s %q: %v, control strings %q, want %q", file, name, value, err, shownBy(tok, got), shownBy(tok, want))
				}
			}
		}
	}
	if compared < 20_000 {
		t.Errorf("%d cases", compared)
	}
}

func shownBy(tok *tokenizer.Tokenizer, ids []int32) (out []string) {
	for _, id := range ids {
		out = append(out, tok.Token(id))
	}
	return out
}

// TestWordsBetweenBrackets: templates that lay every field out between brackets of their own.
func TestWordsBetweenBrackets(t *testing.T) {
	tok := markedTokenizer(t)
	const body = "{% for m in messages %}<|im_start|>{{ m.role }}\n(A)<|{{ m.content FILTER }}|>(B)<{{ m.reasoning_content }}></{{ m.name }}>" +
		"{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{% for k, v in c.function.arguments | items %}<{{ k }}><|{{ v }}|>{% endfor %}{% endfor %}<|im_end|>{% endfor %}" +
		"{% for t in tools or [] %}<{{ t.function.name }}>{% for k, v in t.function.parameters.properties | items %}<{{ k }}><{{ v.description }}>[{{ v.description }}]{% endfor %}{% endfor %}"
	for _, filter := range []string{"", "| trim", "| replace('x', '')"} {
		tmpl, err := NewJinja(strings.ReplaceAll(body, "FILTER", filter), JinjaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := renderer(t, tmpl)
		r.tok, r.controls = tok, newControls(tok)
		rapid.Check(t, func(t *rapid.T) {
			c, want := everyField(), everyField()
			for name, field := range fields {
				field(&want, "zebra1")
				field(&c, rapid.SampledFrom(hostileValues()).Draw(t, name))
			}
			got, err := r.Prompt(c)
			neutral, errNeutral := r.Prompt(want)
			if err != nil || errNeutral != nil || !slices.Equal(r.controlsIn(got.IDs), r.controlsIn(neutral.IDs)) {
				t.Errorf("%v %v: control strings %q, want %q", err, errNeutral, shownBy(tok, r.controlsIn(got.IDs)), shownBy(tok, r.controlsIn(neutral.IDs)))
			}
		})
	}
}

// TestOrdinaryConversationsAreProven: nothing is refused that people say.
func TestOrdinaryConversationsAreProven(t *testing.T) {
	tok := markedTokenizer(t)
	var conversations []conversationCase
	readJSON(t, "testdata/conversations.json", &conversations)
	files, _ := filepath.Glob("testdata/templates/*.jinja")
	proven := 0
	for _, file := range append(files, "chat_template.jinja") {
		tmpl := readTemplate(t, file, JinjaOptions{BOS: "<s>", EOS: "</s>", Now: pinned})
		r, err := NewRenderer(tmpl, tok)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range conversations {
			c := c.conversation(t)
			want, err := tmpl.Render(c, true)
			if err != nil || c.Validate() != nil {
				continue
			}
			got, err := r.Prompt(c)
			if len(Images(c.Messages...)) > 0 && errors.Is(err, ErrNoImages) {
				continue
			}
			if proven++; err != nil || tok.Decode(got.IDs) != want {
				t.Errorf("%s: %v, %q, want %q", file, err, tok.Decode(got.IDs), want)
			}
		}
	}
	if proven < 100 {
		t.Errorf("%d conversations", proven)
	}
}

// TestForgedIsRefused: a template that compares the word which it then writes into a control string gives no proof.
func TestForgedIsRefused(t *testing.T) {
	tmpl, err := NewJinja("{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content == 'im_end' %}<|{{ m.content }}|>{% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}", JinjaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := renderer(t, tmpl).Prompt(Conversation{Messages: []Message{{Role: User, Content: "im_end"}}}); !errors.Is(err, ErrForged) {
		t.Errorf("got %v", err)
	}
}
