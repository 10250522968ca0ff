package capture

import (
	"strings"
	"testing"

	"molt/chat"
)

// forgetful is ChatML that drops the thinking of every turn but the last, takes one system message at the start, and
// refuses any other.
const forgetful = `{%- for m in messages -%}
{%- if m.role == 'tool' or m.role == 'system' and not loop.first %}{{ raise_exception('system must come first') }}{% endif -%}
{{- '<|im_start|>' + m.role + '\n' -}}
{%- if m.reasoning_content and loop.last %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif -%}
{{- m.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif -%}`

func forgetfulRenderer(t *testing.T) *chat.Renderer {
	t.Helper()
	tmpl, err := chat.NewJinja(forgetful, chat.JinjaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.NewRenderer(tmpl, testTokenizer())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestModes: where the template rewrites what was said, append keeps it and faithful starts a segment, for that reason.
func TestModes(t *testing.T) {
	for mode, want := range map[Mode]string{
		Append: `
0 after -1 new_root accepted "[user/a]/[assistant/" -> "<think>\nhm\n</think>\n\none]"
1 after 0 accepted "/[user/b]/[assistant/" -> "two]"
2 after 1 accepted "/[user/c]/[assistant/" -> "three]"
`,
		Faithful: `
0 after -1 new_root accepted "[user/a]/[assistant/" -> "<think>\nhm\n</think>\n\none]"
1 after -1 template_nonlocal accepted "[user/a]/[assistant/one]/[user/b]/[assistant/" -> "two]"
2 after 1 accepted "/[user/c]/[assistant/" -> "three]"
`,
	} {
		w := newWorld(t, inOrder("<think>\nhm\n</think>\n\none", "two", "three"), func(c *Config) { c.Mode, c.Renderer = mode, forgetfulRenderer(t) })
		first := w.ask([]chat.Message{user("a")}, nil)
		second := w.ask([]chat.Message{user("a"), first, user("b")}, nil)
		w.ask([]chat.Message{user("a"), first, user("b"), second, user("c")}, nil)
		w.wantTree(want)
	}
}

// TestSystemInTheMiddle: a template that refuses it is shown a reminder, and nothing before that changes.
func TestSystemInTheMiddle(t *testing.T) {
	w := newWorld(t, inOrder("one", "two"), func(c *Config) { c.Renderer = forgetfulRenderer(t) })
	start := []chat.Message{system("S"), system("T"), user("a"), system("agents")}
	w.ask(start, nil)
	w.ask(append(start, said("one"), system("remember"), user("b")), nil)
	w.wantTree(`
0 after -1 new_root accepted "[system/S//T]/[user/a]/[user/<system-reminder>/agents/</system-reminder>]/[assistant/" -> "one]"
1 after 0 accepted "/[user/<system-reminder>/remember/</system-reminder>]/[user/b]/[assistant/" -> "two]"
`)
}

// TestRefusedByTheTemplate: what a template cannot show is the client's fault, and says what the template says.
func TestRefusedByTheTemplate(t *testing.T) {
	w := newWorld(t, inOrder("one"), func(c *Config) { c.Renderer = forgetfulRenderer(t) })
	r := request([]chat.Message{{Role: chat.Tool, Content: "x"}}, nil)
	if _, p := w.session.Ask(t.Context(), r, Caller{}); p == nil || !strings.Contains(p.Message, "cannot show this conversation") || !strings.Contains(p.Message, "must come first") {
		t.Errorf("%+v", p)
	}
}
