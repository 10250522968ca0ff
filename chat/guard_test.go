package chat

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostileTemplatesEnd: each ends with an error within a second (measured with slack for a busy machine), and without
// taking much memory.
func TestHostileTemplatesEnd(t *testing.T) {
	double := strings.Repeat("{% set x = x ~ x %}", 60)
	nest := func(head, tail string, n int) string { return strings.Repeat(head, n) + strings.Repeat(tail, n) }
	for name, source := range map[string]string{
		"a long range":            "{% for i in range(10**9) %}{% endfor %}",
		"nested loops":            nest("{% for i in range(99999) %}", "{% endfor %}", 3),
		"nested loops with text":  nest("{% for i in range(3000) %}"+strings.Repeat("t", 5000), "{% endfor %}", 2),
		"nested loops, work":      nest("{% for i in range(9000) %}{{ (i * 7 + 3) % 11 }}", "{% endfor %}", 2),
		"doubling":                "{% set x = 'ab' %}" + double,
		"doubling by +":           "{% set x = 'ab' %}" + strings.ReplaceAll(double, "~", "+"),
		"doubling lists":          "{% set x = [1] %}" + strings.ReplaceAll(double, "~", "+"),
		"doubling in a loop":      "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
		"doubling by format":      "{% set x = 'ab' %}{% for i in range(9) %}{{ '{0}{0}'.format(x) }}{% endfor %}",
		"doubling by blocks":      "{% set x %}ab{% endset %}" + strings.Repeat("{% set x %}{{ x }}{{ x }}{% endset %}", 60),
		"shared lists":            "{% set l = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}", 60) + "{{ l }}",
		"shared lists as JSON":    "{% set l = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}", 60) + "{{ l | tojson }}",
		"shared lists, compared":  "{% set l = ['ab'] %}{% set k = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}{% set k = [k, k] %}", 60) + "{{ l == k }}",
		"shared lists, searched":  "{% set l = ['ab'] %}{% set k = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}{% set k = [k, k] %}", 60) + "{{ l in [k] }}",
		"shared lists, as a key":  "{% set l = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}", 60) + "{{ {l: 1} }}",
		"shared lists, tested":    "{% set l = ['ab'] %}{% set k = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}{% set k = [k, k] %}", 60) + "{{ l is eq(k) }}",
		"shared lists, unique":    "{% set l = ['ab'] %}{% set k = ['ab'] %}" + strings.Repeat("{% set l = [l, l] %}{% set k = [k, k] %}", 60) + "{{ [l, k] | unique }}",
		"a value inside itself":   "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
		"repeating":               "{{ 'x' * 10**9 }}",
		"repeating lists":         "{{ ([1] * 10**8) | length }}",
		"repeating often":         "{% for i in range(90) %}{{ ('x' * 3000000) | length }}{% endfor %}",
		"replacing":               "{% set x = 'a' * 20000 %}{{ x.replace('a', x) }}",
		"replacing by filter":     "{% set x = 'a' * 20000 %}{{ x | replace('a', x) }}",
		"replacing nothing":       "{% set x = 'a' * 20000 %}{{ x | replace('', x) }}",
		"joining":                 "{% set x = 'a' * 20000 %}{{ range(90000) | join(x) }}",
		"indenting":               "{{ 'a\\na' | indent(10**9) }}",
		"indenting JSON":          "{{ [1] | tojson(indent=10**9) }}",
		"indenting JSON by text":  "{% set x = 'a' * 200000 %}{{ range(90000) | tojson(indent=x) }}",
		"formatting":              "{{ '%999999d' % 1 }}",
		"recursion":               "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"recursion, doubling":     "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
		"broad recursion":         "{% macro m(n) %}{% if n %}{% for i in range(50) %}{{ m(n - 1) }}{% endfor %}{% endif %}{% endmacro %}{{ m(20) }}",
		"recursion of two":        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
		"recursion by name":       "{% macro m() %}{% set f = m %}{{ f() }}{% endmacro %}{{ m() }}",
		"recursion by namespace":  "{% set ns = namespace() %}{% macro m() %}{{ ns.strip() }}{% endmacro %}{% set ns.strip = m %}{{ m() }}",
		"recursion by a filter":   "{% macro m(x) %}{{ x | m }}{% endmacro %}{{ m(1) }}",
		"recursion by our errors": "{% macro m() %}{{ 1 | nope }}{% endmacro %}{% set raise_exception = m %}{{ m() }}",
		"recursion by a default":  "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
		"a macro named dict":      "{% macro dict() %}{{ dict() }}{% endmacro %}{{ dict() }}",
		"a recursive loop":        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"a 10 MB template":        strings.Repeat("x", 10<<20),
		"deep brackets":           "{{ " + nest("(", ")", 100_000) + " }}",
		"deep lists":              "{{ " + nest("[", "]", 500) + " }}",
		"deep blocks":             nest("{% if true %}", "{% endif %}", 5000),
		"a long sum":              "{{ 1" + strings.Repeat("+1", 50_000) + " }}",
		"many signs":              "{{ " + strings.Repeat("-", 100_000) + "1 }}",
		"many nots":               "{{ " + strings.Repeat("not ", 50_000) + "1 }}",
		"many conditions":         "{{ 1" + strings.Repeat(" if 1 else 1", 20_000) + " }}",
		"searching":               "{% set x = 'a' * 300000 %}{% for i in range(90000) %}{{ 'b' in x }}{% endfor %}",
		"slicing":                 "{% set x = 'é' * 300000 %}{% for i in range(90000) %}{{ x[1:2] }}{% endfor %}",
		"indexing":                "{% set x = 'é' * 300000 %}{% for i in range(90000) %}{{ x[1] }}{% endfor %}",
		"splitting":               "{% set x = 'a ' * 300000 %}{% for i in range(90000) %}{{ x.split(' ') | length }}{% endfor %}",
		"measuring":               "{% set x = 'é' * 300000 %}{% for i in range(90000) %}{{ x | length }}{% endfor %}",
		"sorting":                 "{% for i in range(900) %}{{ range(9000) | sort | length }}{% endfor %}",
		"selecting":               "{% set x = 'a' * 30000 %}{% for i in range(900) %}{{ range(9000) | select('in', x) | list | length }}{% endfor %}",
		"unique":                  "{{ range(99999) | unique | list | length }}",
		"many kinds of names":     "{% for i in range(99999) %}{% set ns = namespace(a=1, b=2, c=3) %}{{ dict(a=ns, b=ns) | length }}{% endfor %}",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			text, err := render(source, Message{Role: User, Content: "hi"})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("it rendered %d bytes", len(text))
			} else if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if took > 3*time.Second && !testing.Short() { // short runs are those of the race detector, which is slow
				t.Errorf("it took %v", took)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 512 {
				t.Errorf("it allocated %d MB in all", mb)
			}
			t.Logf("%v, %d MB, %.100v", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

// TestBudgetGrowsWithTheInput: long conversations are no attack.
func TestBudgetGrowsWithTheInput(t *testing.T) {
	tmpl := readTemplate(t, "testdata/templates/qwen3.jinja", JinjaOptions{})
	var c Conversation
	for i := range 2000 {
		c.Messages = append(c.Messages, Message{Role: User, Content: fmt.Sprint("question ", i, strings.Repeat(" word", 300))},
			Message{Role: Assistant, Reasoning: "hm", Content: strings.Repeat("answer ", 200)})
	}
	if _, err := tmpl.Render(c, true); err != nil {
		t.Errorf("4,000 messages, 6 MB: %v", err)
	}
	c.Messages = []Message{{Role: User, Content: "x"}}
	for range 5000 {
		c.Messages = append(c.Messages, Message{Role: Assistant, ToolCalls: []ToolCall{{Name: "f", Arguments: Object()}}}, Message{Role: Tool})
	}
	if _, err := tmpl.Render(c, true); err != nil {
		t.Errorf("10,000 short messages: %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{% for m in messages %}{{ m.content | trim }}{% endfor %}")
	f.Add("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1) }}")
	f.Add("{{ {'a': [1, 2.5]} | tojson(indent=2) }}{% set x = 1 if true else 2 %}")
	f.Fuzz(func(t *testing.T, source string) {
		text, err := render(source, Message{Role: User, Content: "a b"})
		if err != nil && text != "" {
			t.Errorf("%q: both text and error", source)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	tmpl := Builtin()
	c := Conversation{Messages: []Message{
		{Role: User, Content: "What do 3 pens and 2 cups cost?"},
		{Role: Assistant, ToolCalls: []ToolCall{{Name: "lookup", Arguments: Object(Member{"item", String("pen")})}}},
		{Role: Tool, Content: "4"},
	}}
	for b.Loop() {
		if _, err := tmpl.Render(c, true); err != nil {
			b.Fatal(err)
		}
	}
}
