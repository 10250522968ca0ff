package jinja

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
	if testing.Short() {
		t.Skip("measures time and memory, which the race detector changes")
	}
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
		"doubling by format":      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = '{0}{0}'.format(ns.x) %}{% endfor %}",
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
		"many variables":          "{% for i in range(99999) %}" + manyVariables + "{% endfor %}",
		"many kinds of names":     "{% for i in range(99999) %}{% set ns = namespace(a=1, b=2, c=3) %}{{ dict(a=ns, b=ns) | length }}{% endfor %}",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			text, err := run(source)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("it rendered %d bytes", len(text))
			} else if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 512 {
				t.Errorf("it allocated %d MB in all", mb)
			}
			t.Logf("%v, %d MB, %.100v", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

var manyVariables = func() string {
	var b strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&b, "{%% set a%d=1 %%}", i)
	}
	return b.String()
}()

func TestErrorsAreOneSentence(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"raise_exception", "{{ raise_exception('roles must alternate') }}", "roles must alternate"},
		{"unclosed tag", "a\n{{ b", "line 2: the tag that starts here does not end"},
		{"unclosed block", "a\n{% if x %}", "endif is missing"},
		{"unopened block", "{% endif %}", "unexpected endif"},
		{"broken expression", "a\nb\n{{ 1 + }}", `line 3: unexpected the end of the tag`},
		{"unknown statement", "{% include 'x' %}", `the statement "include" is not supported`},
		{"unknown filter", "{{ 1 | nope }}", "the filter nope is not supported"},
		{"changing a list", "{{ messages.append(1) }}", `access to attribute "append" of a list is unsafe`},
		{"loop over a number", "{% for x in 5 %}{% endfor %}", `"int" object is not iterable`},
		{"inner workings", "{{ messages.__class__.__mro__ }}", `"__class__" is unsafe`},
		{"adding a mapping", "{{ 'a' + {'b': 1} }}", `unsupported operand types for +: "str" and "dict"`},
		{"adding nothing", "{{ 'a' + nope }}", `"nope" is undefined`},
		{"attribute of nothing", "{{ nope.a }}", `"nope" is undefined`},
		{"attribute of an attribute that is not there", "{{ {}.a.b }}", `"dict" object has no attribute "a"`},
		{"calling nothing", "{{ nope() }}", `"nope" is undefined`},
	} {
		_, err := run(c.source)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v; want one sentence with %q", c.name, err, c.want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{% for m in messages %}{{ m.content | trim }}{% endfor %}")
	f.Add("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1) }}")
	f.Add("{{ {'a': [1, 2.5]} | tojson(indent=2) }}{% set x = 1 if true else 2 %}")
	n := 0
	for c := range language(f) {
		if n++; n%40 == 0 {
			f.Add(c.source)
		}
	}
	f.Fuzz(func(t *testing.T, source string) {
		text, err := run(source)
		if err != nil && text != "" {
			t.Errorf("%q: both text and error", source)
		}
	})
}
