package facts

import (
	"cmp"
	"fmt"
	"strings"

	"molt/chat"
	"molt/chat/parse"
)

// Facts are what a user should know about a template.
type Facts struct {
	Family *parse.Family // by whose syntax replies are read
	Why    string        // what it was found by; "" for the plain one

	End      string // what follows at once behind what an assistant says; "" when nothing does
	Tools    bool   // tools on offer reach the prompt
	Opens    bool   // a prompt leaves reasoning open
	Turns    []Turn // in the order of turns below
	Local    bool   // what stands between two turns depends on nothing before them
	LocalWhy string // of a template that is not: the first turn that shows it
}

// Turn is what happens with one kind of turn.
type Turn struct {
	Name   string
	Growth Growth // of the prompt, from before the turn to behind what follows it
	Why    string // of one that does not extend: where the texts part, or the template's error
	Reads  Reads
	Read   string // of one that is read differently: what the parser made of it
}

// Growth is how the template shows a turn later.
type Growth uint8

const (
	Extends  Growth = iota // the next prompt begins with the last, and with the turn as the template writes it
	Rewrites               // it does not: earlier turns are shown differently by now
	Fails                  // the template refuses the conversation
)

func (g Growth) String() string { return [...]string{"extends", "rewrites", "fails"}[g] }

// Reads is whether the parser understands the turn as the template writes it.
type Reads uint8

const (
	Same      Reads = iota // the turn comes back as it went in
	Different              // it does not
	Unwritten              // the template does not write all of the turn, such as reasoning or calls
)

func (r Reads) String() string { return [...]string{"same", "different", "unwritten"}[r] }

// turns are tried behind a question, each with what follows it.
var turns = []struct {
	name string
	said chat.Message
	next []chat.Message
}{
	{"answer, question", chat.Message{Content: "It is warm."}, []chat.Message{question}},
	{"thought and answer, question", chat.Message{Reasoning: "It is summer.", Content: "It is warm."}, []chat.Message{question}},
	{"call, result", chat.Message{ToolCalls: calls[:1]}, results[:1]},
	{"thought and call, result", chat.Message{Reasoning: "I must look.", ToolCalls: calls[:1]}, results[:1]},
	{"text and two calls, results", chat.Message{Content: "I look.", ToolCalls: calls}, results},
}

var (
	question = chat.Message{Role: chat.User, Content: "And tomorrow?"}
	calls    = []chat.ToolCall{
		{ID: "call00001", Name: "get_weather", Arguments: value(`{"city": "Genève", "days": 3, "exact": true, "note": "line \"1\"\nline 2"}`)},
		{ID: "call00002", Name: "search", Arguments: value(`{"query": "warm {places}"}`)},
	}
	results = []chat.Message{
		{Role: chat.Tool, ToolCallID: "call00001", Name: "get_weather", Content: "28"},
		{Role: chat.Tool, ToolCallID: "call00002", Name: "search", Content: "the sea"},
	}
	tools = []chat.ToolSpec{
		chat.NewToolSpec("get_weather", "The weather of a city.", value(`{"type": "object", "properties": {"city": {"type": "string", "description": "its name"}, "days": {"type": "integer", "description": "how many"},
			"exact": {"type": "boolean", "description": "whether"}, "note": {"type": "string", "description": "more"}}, "required": ["city"]}`)),
		chat.NewToolSpec("search", "Searches.", value(`{"type": "object", "properties": {"query": {"type": "string", "description": "what"}}, "required": ["query"]}`)),
	}
	start = chat.Conversation{Messages: []chat.Message{{Role: chat.User, Content: "Weather?"}}, Tools: tools}
)

func value(text string) chat.Value {
	v, err := chat.ParseValue([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// Describe tries a template. source is its text; has reports whether a text is one of the model's special tokens, and may
// be nil.
func Describe(t chat.Template, source string, has func(token string) bool) Facts {
	f := Facts{}
	f.Family, f.Why = parse.Detect(source, has)
	f.End = end(t, f.Family)
	prompt, err := t.Render(start, true)
	if err == nil {
		f.Tools = strings.Contains(prompt, "get_weather")
		f.Opens = opens(f.Family, prompt)
	}
	for _, turn := range turns {
		turn.said.Role = chat.Assistant
		f.Turns = append(f.Turns, describe(t, &f, turn.name, turn.said, turn.next))
	}
	f.Local, f.LocalWhy = local(t)
	return f
}

// opens reports whether a text that is neither is read as reasoning.
func opens(family *parse.Family, prompt string) bool {
	r := family.Read("x", prompt, nil)
	return r.Unclosed
}

const word = "Zqmark"

// end is the first tag behind an assistant's words that ends more than the words. White space in front does not count.
func end(t chat.Template, family *parse.Family) string {
	text, err := t.Render(chat.Conversation{Messages: []chat.Message{start.Messages[0], {Role: chat.Assistant, Content: word}}, Tools: tools}, false)
	_, tail, ok := strings.Cut(text, word)
	if err != nil || !ok {
		return ""
	}
	first := ""
	for {
		tail = strings.TrimLeft(tail, " \n")
		tag := family.Dropped(tail)
		if tag == "" {
			return cmp.Or(nextTag(tail), first)
		}
		first = cmp.Or(first, tag)
		tail = tail[len(tag):]
	}
}

// nextTag is <…>, or whatever else comes before white space or such a tag.
func nextTag(s string) string {
	end := len(s)
	if at := strings.IndexAny(s, " \n"); at >= 0 {
		end = at
	}
	if strings.HasPrefix(s, "<") {
		if at := strings.IndexByte(s[:end], '>'); at >= 0 {
			end = at + 1
		}
	} else if at := strings.IndexByte(s[:end], '<'); at > 0 {
		end = at
	}
	return s[:end]
}

func describe(t chat.Template, f *Facts, name string, said chat.Message, next []chat.Message) Turn {
	turn := Turn{Name: name, Reads: Unwritten}
	with := chat.Conversation{Messages: append(start.Messages[:1:1], said), Tools: tools}
	before, err := t.Render(start, true)
	if err != nil {
		return turn.failed(err)
	}
	shown, err := t.Render(with, false)
	if err != nil {
		return turn.failed(err)
	}
	turn.read(f, before, shown, said)
	with.Messages = append(with.Messages, next...)
	after, err := t.Render(with, true)
	if err != nil {
		return turn.failed(err)
	}
	whole := strings.TrimRight(shown, "\n")
	if f.End != "" {
		if at := strings.LastIndex(whole, f.End); at >= 0 {
			whole = whole[:at]
		}
	}
	for _, text := range []string{before, whole} {
		if !strings.HasPrefix(after, text) {
			turn.Growth, turn.Why = Rewrites, parting(text, after)
			return turn
		}
	}
	return turn
}

func (t Turn) failed(err error) Turn {
	t.Growth = Fails
	t.Why = strings.TrimPrefix(err.Error(), "chat: rendering the chat template: ")
	return t
}

// parting shows where a text stops to begin another.
func parting(text, whole string) string {
	at := 0
	for at < len(text) && at < len(whole) && text[at] == whole[at] {
		at++
	}
	cut := func(s string) string {
		s = strings.ToValidUTF8(s[max(0, at-12):min(len(s), at+24)], "")
		return strings.ReplaceAll(s, "\n", "⏎")
	}
	return fmt.Sprintf("%q became %q", cut(text), cut(whole))
}

// read gives the turn as the template writes it to the parser.
func (t *Turn) read(f *Facts, prompt, shown string, said chat.Message) {
	text, prompt, ok := f.turn(prompt, shown)
	for _, part := range []string{said.Content, said.Reasoning} {
		ok = ok && strings.Contains(text, part)
	}
	for _, call := range said.ToolCalls {
		ok = ok && strings.Contains(text, call.Name)
	}
	if !ok {
		return
	}
	reply := f.Family.Read(text, prompt, tools)
	m := reply.Message()
	if t.Reads = Same; !m.SameTurn(&said) || strings.TrimSpace(m.Reasoning) != said.Reasoning {
		t.Reads = Different
		t.Read = fmt.Sprintf("%.300q read as reasoning %q, content %q, calls %v, %d malformed", text, m.Reasoning, m.Content, m.ToolCalls, reply.Count(parse.Malformed))
	}
}

// turn is what the assistant says: it begins where the prompt ends, or, as some prompts open or skip reasoning and the
// template does not write that again, at the tag where the two part.
// It ends where the template ends turns.
func (f *Facts) turn(prompt, shown string) (text, behind string, ok bool) {
	n := 0
	for n < len(prompt) && n < len(shown) && prompt[n] == shown[n] {
		n++
	}
	if open := strings.LastIndexByte(prompt[:n], '<'); n < len(prompt) && open >= 0 && !strings.Contains(prompt[open:n], ">") {
		n = open
	}
	text = strings.TrimRight(shown[n:], "\n ")
	if f.End != "" {
		text, _, _ = strings.Cut(text, f.End)
	}
	if n < len(prompt) {
		if open, closing := f.Family.Think(); !strings.HasSuffix(strings.TrimRight(prompt[:n], "\n "), open) {
			text = strings.TrimPrefix(text, closing)
		}
	}
	return text, prompt[:n], len(strings.TrimSpace(prompt[n:])) <= 32
}

// local compares what stands between two turns behind a long conversation and behind a short one.
func local(t chat.Template) (bool, string) {
	short := []chat.Message{{Role: chat.User, Content: "x"}}
	long := []chat.Message{{Role: chat.System, Content: "Be kind."}, {Role: chat.User, Content: "y"}, {Role: chat.Assistant, Content: "z", ToolCalls: calls[:1]}, results[0],
		{Role: chat.Assistant, Content: "z"}, {Role: chat.User, Content: "x"}}
	for _, turn := range turns {
		turn.said.Role, turn.said.Content = chat.Assistant, word
		a, errA := behind(t, chat.Conversation{Messages: append(short[:1:1], turn.said)}, turn.next)
		b, errB := behind(t, chat.Conversation{Messages: append(long[:len(long):len(long)], turn.said), Tools: tools}, turn.next)
		switch {
		case (errA == nil) != (errB == nil):
			return false, fmt.Sprintf("%s: only one of two renders: %v, %v", turn.name, errA, errB)
		case a != b:
			return false, turn.name + ": " + parting(a, b)
		}
	}
	return true, ""
}

// behind is the text from the words of a turn to the end of the next prompt.
func behind(t chat.Template, c chat.Conversation, next []chat.Message) (string, error) {
	c.Messages = append(c.Messages, next...)
	text, err := t.Render(c, true)
	if err != nil {
		return "", err
	}
	_, tail, ok := strings.Cut(text, word)
	if !ok {
		return "", fmt.Errorf("the words of the turn are not shown")
	}
	return tail, nil
}
