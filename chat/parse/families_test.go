package parse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFamilies: what each family writes, its hazards, and the known bugs of other parsers (wires.md 2.1).
func TestFamilies(t *testing.T) {
	for _, c := range []struct{ family, name, text, want string }{
		{"plain", "no family still reads reasoning", "<think>a</think>b <tool_call>{}", `reasoning "a"|content "b <tool_call>{}"`},

		{"qwen3-coder", "one call", "<think>\nhm\n</think>\n\nI look.\n\n<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n<parameter=s>\n2\n</parameter>\n</function>\n</tool_call>",
			`reasoning "hm"|content "I look."|call f {"x":1,"s":"2"}`},
		{"qwen3-coder", "lines, braces and tags inside a value", "<tool_call>\n<function=f>\n<parameter=s>\nmkdir -p test/{a,b\n<parameter>\n</tool_call>\n</parameter>\n</function>\n</tool_call>",
			`call f {"s":"mkdir -p test/{a,b\n<parameter>\n</tool_call>"}`},
		{"qwen3-coder", "only one line end is the syntax's", "<tool_call>\n<function=f>\n<parameter=s>\n\n a \n\n</parameter>\n</function>\n</tool_call>", `call f {"s":"\n a \n"}`},
		{"qwen3-coder", "types of the schema", "<tool_call><function=f><parameter=o>{\"a\": [1]}</parameter><parameter=b>True</parameter><parameter=n>1.0</parameter><parameter=l>[1</parameter></function></tool_call>",
			`call f {"o":{"a":[1]},"b":true,"n":1.0,"l":"[1"}`},
		{"qwen3-coder", "an unknown tool's values are text", "<tool_call><function=g><parameter=x>1</parameter></function></tool_call>", `call g {"x":"1"}`},
		{"qwen3-coder", "no parameters", "<tool_call>\n<function=f>\n</function>\n</tool_call>", `call f {}`},
		{"qwen3-coder", "parallel", "<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call>\n<function=f>\n<parameter=x>\n2\n</parameter>\n</function>\n</tool_call>", `call f {}|call f {"x":2}`},
		{"qwen3-coder", "without the outer tag", "Now.\n<function=f>\n</function>", `content "Now."|call f {}`},
		{"qwen3-coder", "cut inside a value", "<tool_call>\n<function=f>\n<parameter=s>\nab", `content "<tool_call>\n<function=f>\n<parameter=s>\nab"|malformed "<tool_call>\n<function=f>\n<parameter=s>\nab"`},
		{"qwen3-coder", "Hermes JSON is none", "<tool_call>\n{\"name\": \"f\"}\n</tool_call>", `content "<tool_call>\n{\"name\": \"f\"}\n</tool_call>"|malformed "<tool_call>\n"`},
		{"qwen3-coder", "a parameter twice", "<tool_call><function=f><parameter=x>1</parameter><parameter=x>2</parameter></function></tool_call>a",
			`content "<tool_call><function=f><parameter=x>1</parameter><parameter=x>2</parameter></function></tool_call>a"|malformed "<tool_call><function=f><parameter=x>1</parameter><parameter=x>2</parameter></function></tool_call>"`},
		{"qwen3-coder", "inside thinking", "<think><tool_call><function=f></function></tool_call></think>a", `reasoning "<tool_call><function=f></function></tool_call>"|content "a"`},
		{"seed-oss", "one call", "<seed:think>hm</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=x>1</parameter>\n</function>\n</seed:tool_call>", `reasoning "hm"|call f {"x":1}`},

		{"llama3-json", "one call", `{"name": "f", "parameters": {"x": 1}}`, `call f {"x":1}`},
		{"llama3-json", "behind the tag", `<|python_tag|>{"type": "function", "name": "f", "parameters": {}}`, `call f {}`},
		{"llama3-json", "several", `{"name": "f", "parameters": {}}; {"name": "g", "parameters": {"a": ";"}}`, `call f {}|call g {"a":";"}`},
		{"llama3-json", "an answer in JSON", `{"a": {"name": "f"}} b`, `content "{\"a\": {\"name\": \"f\"}} b"`},
		{"llama3-json", "JSON later is text", `See {"name": "f", "parameters": {}}`, `content "See {\"name\": \"f\", \"parameters\": {}}"`},
		{"llama3-json", "cut", `{"name": "f", "parameters": {"x`, `content "{\"name\": \"f\", \"parameters\": {\"x"|malformed "{\"name\": \"f\", \"parameters\": {\"x"`},
		{"llama3-json", "code is no call", `<|python_tag|>print(1)`, `content "<|python_tag|>print(1)"|malformed "<|python_tag|>"`},

		{"llama-pythonic", "two calls", `[f(x=1, s='it\'s'), g(l=[1, 2.5], d={"a": None}, b=True)]`, `call f {"x":1,"s":"it's"}|call g {"l":[1,2.5],"d":{"a":null},"b":true}`},
		{"llama-pythonic", "within tags", "<|python_start|>[f(x=-1)]<|python_end|>", `call f {"x":-1}`},
		{"llama-pythonic", "brackets in strings", `[f(s="a)]b")]`, `call f {"s":"a)]b"}`},
		{"llama-pythonic", "escapes", `[f(s="\u00e9\n\x41\q")]`, `call f {"s":"é\nA\\q"}`},
		{"llama-pythonic", "a list is text", `[1, 2] and [f(x=1)]`, `content "[1, 2] and [f(x=1)]"`},
		{"llama-pythonic", "a positional argument", `[f(1)]`, `content "[f(1)]"|malformed "[f(1)]"`},
		{"llama-pythonic", "cut", `[f(x=1), g(y=`, `content ", g(y="|call f {"x":1}|malformed ", g(y="`},
		{"llama-pythonic", "JSON", `<|python_start|><|python_end|>{"name": "f", "parameters": {"x": 1}}`, `call f {"x":1}`},
		{"lfm2", "a line end in a string", "<|tool_call_start|>[f(s='a\nb')]<|tool_call_end|>", `call f {"s":"a\nb"}`},
		{"lfm2", "one call", `<|tool_call_start|>[f(x=1)]<|tool_call_end|>Wait.`, `content "Wait."|call f {"x":1}`},
		{"lfm2", "no list outside the tags", `[f(x=1)]`, `content "[f(x=1)]"`},
		{"olmo3", "two calls", "<function_calls>f(x=1)\ng()</function_calls>", `call f {"x":1}|call g {}`},

		{"mistral", "old form", `[TOOL_CALLS][{"name": "f", "arguments": {"x": 1}, "id": "123456789"}, {"name": "g", "arguments": {}}]`, `call f 123456789 {"x":1}|call g {}`},
		{"mistral", "new form", `ok[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g[ARGS]{}`, `content "ok"|call f {"x":1}|call g {}`},
		{"mistral", "with ids", `[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{}`, `call f abcdefghi {}`},
		{"mistral", "without [ARGS]", `[TOOL_CALLS]f{"x": "[TOOL_CALLS]"}`, `call f {"x":"[TOOL_CALLS]"}`},
		{"mistral", "reasoning", "[THINK]hm[/THINK]4", `reasoning "hm"|content "4"`},
		{"mistral", "cut", `[TOOL_CALLS]f[ARGS]{"x"`, `content "[TOOL_CALLS]f[ARGS]{\"x\""|malformed "[TOOL_CALLS]f[ARGS]{\"x\""`},
		{"mistral", "a list that is not closed", `[TOOL_CALLS][{"name": "f", "arguments": {}}`, `call f {}`},

		{"deepseek", "V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"x\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `call f {"x":1}|call g {}`},
		{"deepseek", "V3.1", "<think>hm</think>a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"x\": \"```\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "reasoning \"hm\"|content \"a\"|call f {\"x\":\"```\"}"},
		{"deepseek", "no call in the section", "<｜tool▁calls▁begin｜>a", `content "<｜tool▁calls▁begin｜>a"|malformed "<｜tool▁calls▁begin｜>"`},
		{"deepseek-dsml", "two calls", "a\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"x\" string=\"false\">[1]</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
			`content "a"|call f {"s":"1","x":[1]}|call g {}`},
		{"deepseek-dsml", "V4's name for the section", "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>", `call f {}`},
		{"deepseek-v4.1", "one call", "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"s\" string=\"true\">1</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", `call f {"s":"1"}`},
		{"minimax", "one call", "<think>\nhm\n</think>\n\n<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"x\">1</parameter>\n<parameter name=\"s\">2</parameter>\n</invoke>\n</minimax:tool_call>", `reasoning "hm"|call f {"x":1,"s":"2"}`},

		{"hermes", "escapes", `<tool_call>{"name": "f", "arguments": {"s": "\u00e9\ud83d\ude42\/\n"}}</tool_call>`, `call f {"s":"é🙂/\n"}`},
		{"hermes", "half a character", `<tool_call>{"name": "f", "arguments": {"s": "\ud83d"}}</tool_call>`, `content "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"\\ud83d\"}}</tool_call>"|malformed "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"\\ud83d\"}}</tool_call>"`},
		{"hermes", "arguments that are a list", `<tool_call>{"name": "f", "arguments": [1]}</tool_call>`, `content "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>"|malformed "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>"`},
		{"hermes", "white space everywhere", "<tool_call> \t\n {\n\"name\" : \"f\" , \"arguments\" : {\n} } \n\n </tool_call> \n", "content \" \\n\"|call f {}"},
		{"mistral", "arguments that are a list", "[TOOL_CALLS]f[ARGS][1]", `content "[TOOL_CALLS]f[ARGS][1]"|malformed "[TOOL_CALLS]f[ARGS][1]"`},
		{"kimi-k2", "arguments that are text", `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"{}"<|tool_call_end|>`, `content "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>\"{}\"<|tool_call_end|>"|malformed "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>\"{}\"<|tool_call_end|>"`},

		{"glm", "one call", "\n<think>hm</think>\nok\n<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>\n<arg_value>a\nb</arg_value>\n</tool_call>", `reasoning "hm"|content "ok"|call f {"x":1,"s":"a\nb"}`},
		{"glm", "without line ends", "<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call><tool_call>g</tool_call>", `call f {"x":1}|call g {}`},
		{"glm", "a tag that is talked about", "Use <tool_call> tags.\n<tool_call>f</tool_call>", `content "Use <tool_call> tags."|call f {}|malformed "<tool_call> tags."`},

		{"kimi-k2", "ids", "hm<|tool_calls_section_begin|><|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{\"x\": 1}<|tool_call_end|><|tool_call_begin|>functions.a.b:4<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
			`content "hm"|call f functions.f:3 {"x":1}|call a.b functions.a.b:4 {}`},

		{"kimi-k3", "reasoning, text, calls", `<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>ok<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a&quot;b" type="string"<|sep|>1<|close|>argument<|sep|><|open|>argument key="x" type="number"<|sep|>1.0<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="g" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>`,
			`reasoning "hm"|content "ok"|call f {"a\"b":"1","x":1.0}|call g {}`},
		{"kimi-k3", "a block", `<|open|>call tool="f" index="1"<|sep|><|open|>json type="object"<|sep|>{"x": [1]}<|close|>json<|sep|><|close|>call<|sep|>`, `call f {"x":[1]}`},

		{"harmony", "reasoning, call", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"x\": \"<|end|>\"}", `reasoning "hm"|call f {"x":"<|end|>"}`},
		{"harmony", "the recipient first", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", `call f {}`},
		{"harmony", "final", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>4", `reasoning "hm"|content "4"`},
		{"harmony", "a preamble", "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>", `content "I look."|call f {}`},
		{"harmony", "two calls", "<|channel|>commentary to=functions.f<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.g<|message|>{}<|call|>", `call f {}|call g {}`},
		{"harmony", "reasoning to the end", "<|channel|>analysis<|message|>hm", `reasoning "hm"|unclosed`},
		{"harmony", "two thoughts", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|>", `reasoning "a\nb"`},
		{"harmony", "cut inside a header", "<|channel|>comm", `content "<|channel|>comm"|malformed "<|channel|>comm"`},
		{"harmony", "plain text", "Hello.", `content "Hello."`},

		{"gemma4", "one call", `<|channel>thought` + "\nhm\n<channel|>ok<|tool_call>call:f{s:<|\"|>a{,}b<|\"|>,x:1.50,l:[true,null],o:{k:<|\"|><|\"|>}}<tool_call|>", `reasoning "hm"|content "ok"|call f {"s":"a{,}b","x":1.50,"l":[true,null],"o":{"k":""}}`},
		{"gemma4", "no arguments", "<|tool_call>call:f{}<tool_call|><|tool_call>call:g{}<tool_call|>", `call f {}|call g {}`},

		{"granite", "a list", `<|tool_call|>[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]`, `call f {"x":1}|call g {}`},
		{"phi4-mini", "a list", `<|tool_call|>[{"name": "f", "arguments": {"x": "]"}}]<|/tool_call|>`, `call f {"x":"]"}`},
		{"nemotron", "a list", `<think>hm</think><TOOLCALL>[{"name": "f", "arguments": {}}]</TOOLCALL>`, `reasoning "hm"|call f {}`},
		{"nemotron", "one good, one bad", `<TOOLCALL>[{"name": "f", "arguments": {}}, {"name": 1}]</TOOLCALL>a`, `content ", {\"name\": 1}a"|call f {}|malformed ", {\"name\": 1}"`},
		{"jamba", "a list", "<tool_calls>[\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n]</tool_calls>", `call f {"x":1}`},
		{"jamba", "lines", "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": {}}\n</tool_calls>a", `content "a"|call f {}|call g {}`},
		{"command", "action", "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"x\": 1}}\n]<|END_ACTION|>", `reasoning "hm"|call f 0 {"x":1}`},
		{"command", "response", "<|START_RESPONSE|>4<|END_RESPONSE|>", `content "4"`},
	} {
		t.Run(c.family+": "+c.name, func(t *testing.T) {
			got := family(t, c.family).Read(c.text, "", offered)
			if diff := cmp.Diff(c.want, strings.ReplaceAll(strings.TrimSuffix(said(got), "\n"), "\n", "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsIgnoredIsCounted(t *testing.T) {
	for _, c := range []struct {
		family, text string
		want         int
	}{
		{"hermes", "<think>perhaps <tool_call>, or <tool_call></think>", 2},
		{"plain", "<tool_call>{}</tool_call> [TOOL_CALLS]", 2},
		{"hermes", `<tool_call>{"name": "f"}</tool_call>`, 0},
	} {
		if r := family(t, c.family).Read(c.text, "", nil); r.Ignored != c.want {
			t.Errorf("%s ignores %d openings in %q; want %d", c.family, r.Ignored, c.text, c.want)
		}
	}
}

// TestWhereAnItemEnds: a client that goes away after an item gets the tokens up to its end.
func TestWhereAnItemEnds(t *testing.T) {
	p := family(t, "kimi-k2").New("", nil)
	for _, token := range []string{"<think>", "h", "m", "</think>", "o", "k", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.f:0", "<|tool_call_argument_begin|>", "{}", "<|tool_call_end|>",
		"<|tool_call_begin|>", "functions.g:1", "<|tool_call_argument_begin|>", "{}", "<|tool_call_end|>", "<|tool_calls_section_end|>"} {
		p.Write(token, 1)
	}
	p.Close()
	var got []string
	r := p.Reply()
	for _, item := range r.Items {
		got = append(got, fmt.Sprintf("%s %d", item.Kind, item.Tokens))
	}
	if diff := cmp.Diff([]string{"reasoning 4", "content 6", "call end 12", "call end 17"}, got); diff != "" || r.Tokens != 18 {
		t.Errorf("of %d tokens: %s", r.Tokens, diff)
	}
}

// TestHostileTextsTakeLinearTime: texts made to be read again and again.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time, which the race detector changes")
	}
	for _, f := range Families() {
		for _, piece := range fragments[f.Name] {
			for _, text := range []string{strings.Repeat(piece, 1<<17/len(piece)), strings.Repeat(piece+`"`, 1<<17/len(piece)), piece + strings.Repeat("{", 1<<17), piece + strings.Repeat("[", 1<<17)} {
				start := time.Now()
				f.Read(text, "", nil)
				if d := time.Since(start); d > 5*time.Second {
					t.Errorf("%s: %q and so on take %s", f.Name, text[:40], d)
				}
			}
		}
	}
}

func BenchmarkParser(b *testing.B) {
	text := "<think>\n" + strings.Repeat("some words ", 200) + "</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": \"" + strings.Repeat("y", 500) + "\"}}\n</tool_call>"
	f := family(b, "hermes")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p := f.New("", nil)
		for i := 0; i < len(text); i += 4 {
			p.Write(text[i:min(len(text), i+4)], 1)
		}
		p.Close()
	}
}
