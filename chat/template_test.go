package chat

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// conversationCase is an entry of testdata/conversations.json.
type conversationCase struct {
	Name     string `json:"name"`
	Messages Value  `json:"messages"`
	Tools    Value  `json:"tools"`
	Kwargs   Value  `json:"kwargs"`
}

func (c conversationCase) conversation(t testing.TB) Conversation {
	t.Helper()
	texts, parts := withoutImages(c.Messages)
	messages, err := DecodeMessages(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if parts[i] != nil {
			messages[i].Put(parts[i]...)
		}
	}
	tools, err := DecodeTools(c.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return Conversation{messages, tools}
}

// withoutImages takes lists of parts out of messages, which data files do not have.
func withoutImages(messages Value) (Value, [][]Part) {
	parts := make([][]Part, len(messages.Items()))
	var rest []Value
	for i, m := range messages.Items() {
		var kept []Member
		for _, member := range m.Members() {
			if member.Name != "content" || member.Value.Kind() != KindArray {
				kept = append(kept, member)
				continue
			}
			for _, p := range member.Value.Items() {
				if text, ok := p.Get("text"); ok {
					parts[i] = append(parts[i], Part{Text: text.Text()})
				} else {
					parts[i] = append(parts[i], Part{Image: &Image{}})
				}
			}
		}
		rest = append(rest, Object(kept...))
	}
	return Array(rest...), parts
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readTemplate(t testing.TB, file string, o JinjaOptions) *Jinja {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := NewJinja(string(source), o)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// TestTemplatesLikePython compares with what transformers rendered (scripts/goldens/chat/run.sh).
func TestTemplatesLikePython(t *testing.T) {
	goldens := readGoldens(t, "testdata/goldens.jsonl.gz")
	n := compare(t, "testdata/templates", goldens)
	if n.cases < 600 || n.same < 550 {
		t.Errorf("the goldens are too few: %+v", n)
	}
	t.Logf("%+v", n)
}

func TestNumbersKeepTheirKind(t *testing.T) {
	tmpl, err := NewJinja("{{ tools[0].function | tojson }}", JinjaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const spec = `{"name": "f", "i": 1, "f": 1.0, "e": 1e+20, "n": 123456789012345678901234567890, "z": -0.5}`
	tools, err := DecodeTools(parse(t, "["+spec+"]"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tmpl.Render(Conversation{Tools: tools}, true); err != nil || got != spec {
		t.Errorf("got %s, %v; want %s", got, err, spec)
	}
	tools, err = DecodeTools(parse(t, `[{"name":"f","n":1e999}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tmpl.Render(Conversation{Tools: tools}, true); err == nil || !strings.Contains(err.Error(), "does not fit into 64 bits") {
		t.Errorf("got %v", err)
	}
}

func TestTemplateGivesTheDate(t *testing.T) {
	const format = "%Y-%m-%d %d %b %B %A %a %j %H:%M:%S %I %p %y %-d %-m %e %% %f"
	tmpl, err := NewJinja("{{ strftime_now('"+format+"') }}", JinjaOptions{Now: pinned})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tmpl.Render(Conversation{}, false); got != "2024-07-26 26 Jul July Friday Fri 208 09:05:03 09 AM 24 26 7 26 % 000000" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, c := range []struct {
		format string
		now    time.Time
		want   string
	}{{"%Y", time.Time{}, "asks for the date, which is not given"}, {"%Q", pinned, "%Q is not known"}} {
		tmpl, err := NewJinja("{{ strftime_now('"+c.format+"') }}", JinjaOptions{Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tmpl.Render(Conversation{}, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.format, err, c.want)
		}
	}
}

func TestTemplateIsSafeForConcurrentUse(t *testing.T) {
	tmpl := Builtin()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := strings.Repeat("x", i)
			for range 50 {
				got, err := tmpl.Render(Conversation{Messages: []Message{{Role: User, Content: want}}}, false)
				if err != nil || got != "<|im_start|>user\n"+want+"<|im_end|>\n" {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
