package chat

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
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
	messages, err := DecodeMessages(c.Messages)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := DecodeTools(c.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return Conversation{messages, tools}
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

// TestTemplatesLikePython compares with what Python's jinja2 rendered (scripts/goldens/chat).
func TestTemplatesLikePython(t *testing.T) {
	var conversations []conversationCase
	readJSON(t, "testdata/conversations.json", &conversations)
	var goldens []struct {
		Template, Conversation, Text string
		Generate                     bool
	}
	readJSON(t, "testdata/goldens.json", &goldens)
	if len(conversations) < 8 || len(goldens) != 4*len(conversations) {
		t.Fatalf("%d conversations with %d goldens", len(conversations), len(goldens))
	}
	files := map[string]string{"qwen3": "testdata/templates/qwen3.jinja", "molt": "chat_template.jinja"}
	for i, g := range goldens {
		c := conversations[i%(2*len(conversations))/2]
		if c.Name != g.Conversation {
			t.Fatalf("golden %d is of %q, not %q", i, g.Conversation, c.Name)
		}
		tmpl := readTemplate(t, files[g.Template], JinjaOptions{BOS: "<s>", EOS: "</s>", Kwargs: c.Kwargs.Members()})
		got, err := tmpl.Render(c.conversation(t), g.Generate)
		if err != nil || got != g.Text {
			t.Errorf("%s, %s, generate %v:\n got %q, %v\nwant %q", g.Template, c.Name, g.Generate, got, err, g.Text)
		}
	}
}

func render(source string, messages ...Message) (string, error) {
	t, err := NewJinja(source, JinjaOptions{})
	if err != nil {
		return "", err
	}
	return t.Render(Conversation{Messages: messages}, false)
}

// TestTemplateLanguage pins what templates of other models use. Each expected text is Python's.
func TestTemplateLanguage(t *testing.T) {
	user := Message{Role: User, Content: "ab\ncd"}
	for _, c := range []struct{ name, source, want string }{
		{"one trailing newline goes", "a\n", "a"},
		{"only one", "a\n\n", "a\n"},
		{"blocks take their newline", "{% if true %}\nx\n{% endif %}\ny", "x\ny"},
		{"blocks take their indentation", "  {% if true %}x{% endif %}", "x"},
		{"expressions keep theirs", "  {{ 1 }}\n y", "  1\n y"},
		{"whitespace markers", "a  {{- 1 -}}  b {%- if true -%} c {%- endif %}", "a1bc"},
		{"a marker trims only what it touches", "a: {{ 1 }}{%- if true -%}{{ 2 }} b{% endif %}{%- if true %}\nc{% endif %}", "a: 12 bc"},
		{"a tag takes one newline, its own", "{% if true %}{% endif %}{% if true %}\n\nx{% endif %}", "\nx"},
		{"comments", "a{# {{ x }} #}b", "ab"},
		{"strings that hold delimiters", `{{ "}}" ~ '%}' }}`, "}}%}"},
		{"precedence", "{{ 1 + 2 * 3 ~ 'x' }}{{ not 1 == 2 }}{{ -2 | abs }}{{ 7 // 2 }}{{ -7 % 3 }}{{ 2 ** 3 }}", "7xTrue2328"},
		{"conditions", "{{ 'a' if false else 'b' if true else 'c' }}{{ 'x' if false }}", "b"},
		{"and, or give operands", "{{ '' or 'b' }}{{ 'a' and 'c' }}", "bc"},
		{"chained comparison", "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}", "TrueFalse"},
		{"tests", "{{ x is defined }}{{ messages is not none }}{{ 'a' is string }}{{ 4 is divisibleby 2 }}{{ 2 is in [1, 2] }}", "FalseTrueTrueTrueTrue"},
		{"slices", "{{ messages[0].content[1:-1] }}{{ [1,2,3][::-1] }}{{ 'abc'[-1] }}", "b\nc[3, 2, 1]c"},
		{"string methods", "{{ 'a-b'.split('-')[1] }}{{ ' x '.strip() }}{{ 'aXa'.replace('a', 'b', 1) }}{{ 'abc'.startswith('ab') }}", "bxbXaTrue"},
		{"filters", "{{ 'aXa' | replace('X', '--') }}{{ [1,2] | join(', ') }}{{ nope | default('d') }}{{ {'b': 1, 'a': 2.0} | tojson }}", `a--a1, 2d{"b": 1, "a": 2.0}`},
		{"tojson with indentation", "{{ {'a': [1]} | tojson(indent=2) }}", "{\n  \"a\": [\n    1\n  ]\n}"},
		{"selectattr", "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"},
		{"map", "{{ messages | map(attribute='role') | map('upper') | join }}", "USER"},
		{"namespace", "{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "6"},
		{"loop", "{% for m in [1,2,3] if m != 2 %}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %}", "1False2True"},
		{"loop over pairs", "{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}", "a=1"},
		{"break", "{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"},
		{"macro", "{% macro m(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(2, b=3) }}", "[1x][23]"},
		{"recursive macro", "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "3210"},
		{"block set", "{% set x %}a{{ 1 }}{% endset %}{{ x }}", "a1"},
		{"generation", "{% generation %}x{% endgeneration %}", "x"},
		{"filter block", "{% filter trim %} x {% endfilter %}", "x"},
		{"an entry named format", "{{ {'format': 'date'}.format }}", "date"},
		{"get", "{{ messages[0].get('nope', 7) }}{{ messages[0].get('role') }}", "7user"},
	} {
		if got, err := render(c.source, user); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestTemplateErrorsAreOneSentence(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"raise_exception", "{{ raise_exception('roles must alternate') }}", "roles must alternate"},
		{"unclosed tag", "a\n{{ b", "line 2: the tag that starts here does not end"},
		{"unclosed block", "a\n{% if x %}", "endif is missing"},
		{"unopened block", "{% endif %}", "unexpected endif"},
		{"broken expression", "a\nb\n{{ 1 + }}", `line 3: unexpected the end of the tag`},
		{"unknown statement", "{% include 'x' %}", `the statement "include" is not supported`},
		{"unknown filter, reached", "{{ 1 | nope }}", "the filter nope is not supported"},
		{"the date", "{{ strftime_now('%Y') }}", "asks for the date"},
		{"changing a list", "{{ messages.append(1) }}", "the method append is not supported"},
		{"loop over a number", "{% for x in 5 %}{% endfor %}", "no items"},
		{"private names", "{{ __iter(1, 2) }}", "the name __iter is not allowed"},
		{"dunder attributes", "{{ messages.__class__.__mro__ }}", "not allowed"},
		{"assigning our names", "{% set __iter = 1 %}", "cannot be assigned"},
		{"adding a mapping", "{{ 'a' + {'b': 1} }}", "a mapping cannot be added to a string"},
		{"adding nothing", "{{ 'a' + nope }}", "an undefined value cannot be added to a string"},
		{"calling nothing", "{{ nope() }}", "not callable"},
	} {
		_, err := render(c.source, Message{Role: User})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v; want one sentence with %q", c.name, err, c.want)
		}
	}
	if got, err := render("{% if false %}{{ 1 | nope }}{% endif %}ok"); got != "ok" || err != nil {
		t.Errorf("an unsupported filter that is not reached: %q, %v", got, err)
	}
}

func TestNumbersThatDoNotFit(t *testing.T) {
	tools, err := DecodeTools(parse(t, `[{"name":"f","n":123456789012345678901234567890}]`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Builtin().Render(Conversation{[]Message{{Role: User, Content: "x"}}, tools}, true)
	if err == nil || !strings.Contains(err.Error(), "does not fit into 64 bits") {
		t.Errorf("got %v", err)
	}
}

func TestTemplateGivesTheDate(t *testing.T) {
	tmpl, err := NewJinja("{{ strftime_now('%d %b') }}", JinjaOptions{Now: func(f string) string { return "<" + f + ">" }})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tmpl.Render(Conversation{}, false); got != "<%d %b>" || err != nil {
		t.Errorf("got %q, %v", got, err)
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
