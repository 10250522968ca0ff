// How families write calls: what chat/parse reads, in the spelling of each model's own template. A ↵ is a line end, and a ␣ a
// space, that may be left out.

package shape

import (
	"strings"

	"molt/chat"
	"molt/chat/grammar"
	"molt/chat/parse"
)

// form is one way to write calls.
type form struct {
	section, end string              // around the calls of a reply; "" where each stands alone
	open         string              // of a call, up to its name
	name         func(string) string // the name as it is written; nil for as it is
	middle       string              // between the name and the arguments
	style        *grammar.Style      // of the arguments; nil for one JSON object
	close        string              // of a call
	between      string              // two calls
	once         bool                // the end of a call is the end of the turn
	begins       bool                // calls have no tag: they begin the reply, or are none
	tagged       bool                // the arguments are a JSON object that a tag ends, wherever it comes
	digits       bool                // a number stands between the name and middle
}

// quoted is a name inside a JSON string.
func quoted(name string) string {
	text := chat.String(name).String()
	return text[1 : len(text)-1]
}

// attribute is a name inside an attribute of Kimi-K3.
func attribute(name string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(name)
}

// object is a call that is one JSON object.
func object(open, name, arguments, end string) form {
	return form{open: open + `{"` + name + `":␣"`, name: quoted, middle: `",␣"` + arguments + `":␣`, close: "}" + end}
}

// listed is a section that holds a JSON list of such objects.
func listed(section, name, arguments, end string) form {
	f := object("", name, arguments, "")
	f.section, f.end, f.between = section+"↵[↵", "↵]"+end, ",␣↵"
	return f
}

// tagged are arguments between tags, one by one, with types from the schema.
func tagged(before func(name, kind string) string, after, stop, end string) *grammar.Style {
	return &grammar.Style{Before: before, After: after, Text: true, Stops: []string{stop}, Close: end, Name: plainName(stop)}
}

// plainName reports whether a name can stand inside a tag.
func plainName(stop string) func(string) bool {
	return func(name string) bool {
		return name != "" && strings.TrimSpace(name) == name && !strings.ContainsAny(name, "<>\"\n") && !strings.Contains(name, stop)
	}
}

func functions(open, end string) []form {
	before := func(name, _ string) string { return "<parameter=" + name + ">\n" }
	return []form{{
		open: open + "↵<function=", middle: ">↵", close: end, between: "↵",
		style: tagged(before, "\n</parameter>\n", "</parameter>", "</function>\n"),
	}}
}

// invokes are calls as <invoke> elements. typed says that an attribute tells text from JSON.
func invokes(dsml, section string, typed bool) []form {
	before := func(name, kind string) string {
		tag := "<" + dsml + `parameter name="` + name + `"`
		switch {
		case typed && kind == "string":
			tag += ` string="true"`
		case typed:
			tag += ` string="false"`
		}
		return tag + ">"
	}
	end := "</" + dsml + "parameter>"
	return []form{{
		section: "<" + section + ">↵", end: "</" + section + ">", between: "↵",
		open: "<" + dsml + `invoke name="`, middle: `">↵`, close: "↵",
		style: tagged(before, end+"\n", end, "</"+dsml+"invoke>"),
	}}
}

// pythonic are calls in Python: JSON is read there as well.
func pythonic(section, end string) form {
	return form{section: section, end: end, middle: "(", between: ",␣", style: &grammar.Style{
		Before: func(name, _ string) string { return name + "=" }, Between: ", ", Close: ")", Name: isWord,
	}}
}

func isWord(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9' && i > 0) {
			return false
		}
	}
	return name != ""
}

// forms are the ways in which families write calls; a model takes the one that it knows.
var forms = map[string][]form{
	"hermes":      {between(object("<tool_call>↵", "name", "arguments", "↵</tool_call>"), "↵")},
	"qwen3-coder": functions("<tool_call>", "↵</tool_call>"),
	"seed-oss":    functions("<seed:tool_call>", "↵</seed:tool_call>"),
	"glm": {{open: "<tool_call>", middle: "↵", close: "</tool_call>", between: "↵", style: tagged(
		func(name, _ string) string { return "<arg_key>" + name + "</arg_key>\n<arg_value>" }, "</arg_value>\n", "</arg_value>", "")}},
	"llama3-json":    {bare(between(object("", "name", "parameters", ""), ";␣"))},
	"llama-pythonic": {bare(pythonic("[", "]"))},
	"lfm2":           {pythonic("<|tool_call_start|>[", "]<|tool_call_end|>")},
	"olmo3":          {between(pythonic("<function_calls>↵", "↵</function_calls>"), "\n")},
	"mistral": {
		{open: "[TOOL_CALLS]", middle: "[ARGS]"},
		listed("[TOOL_CALLS]", "name", "arguments", ""),
	},
	"deepseek": {
		{section: "<｜tool▁calls▁begin｜>", end: "<｜tool▁calls▁end｜>", open: "<｜tool▁call▁begin｜>", middle: "<｜tool▁sep｜>", close: "<｜tool▁call▁end｜>", between: "↵"},
		{section: "<｜tool▁calls▁begin｜>", end: "<｜tool▁calls▁end｜>", open: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", middle: "\n```json\n", close: "↵```<｜tool▁call▁end｜>", between: "↵"},
	},
	"deepseek-dsml": invokes("｜DSML｜", "｜DSML｜function_calls", true),
	"deepseek-v4.1": invokes("｜DSML｜ ", "｜DSML｜ calls", true),
	"minimax":       invokes("", "minimax:tool_call", false),
	"kimi-k2": {{section: "<|tool_calls_section_begin|>", end: "<|tool_calls_section_end|>", open: "<|tool_call_begin|>functions.", digits: true,
		middle: "<|tool_call_argument_begin|>", close: "<|tool_call_end|>"}},
	"kimi-k3": {{section: "<|open|>tools<|sep|>", end: "<|close|>tools<|sep|>", open: `<|open|>call tool="`, name: attribute, digits: true, tagged: true,
		middle: `"<|sep|><|open|>json type="object"<|sep|>`, close: "<|close|>json<|sep|><|close|>call<|sep|>"}},
	"harmony":   {{open: "<|channel|>commentary to=functions.", middle: " <|constrain|>json<|message|>", once: true}},
	"granite":   {listed("<|tool_call|>", "name", "arguments", "")},
	"phi4-mini": {listed("<|tool_call|>", "name", "arguments", "<|/tool_call|>")},
	"nemotron":  {listed("<TOOLCALL>", "name", "arguments", "</TOOLCALL>")},
	"jamba":     {listed("<tool_calls>", "name", "arguments", "</tool_calls>")},
	"command":   {listed("<|START_ACTION|>", "tool_name", "parameters", "<|END_ACTION|>")},
}

func between(f form, text string) form {
	f.between = text
	return f
}

func bare(f form) form {
	f.begins = true
	return f
}

// around is what stands around the text of a reply, where a family writes something.
var around = map[string][2]string{
	"harmony": {"<|channel|>final<|message|>", ""},
	"command": {"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
	"kimi-k3": {"<|open|>response<|sep|>", "<|close|>response<|sep|>"},
}

// thoughts are reasoning that is not between tags of its own, as parse.Family.Think has them: opening, end, what follows.
var thoughts = map[string][3]string{
	"harmony": {"<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant"},
}

// named reports whether a family's calls can name a tool.
func named(f *parse.Family, name string) bool {
	if f.Name == "llama-pythonic" || f.Name == "lfm2" || f.Name == "olmo3" {
		return isWord(strings.ReplaceAll(name, ".", "_"))
	}
	if forms[f.Name][0].name != nil {
		return name != ""
	}
	return parse.IsName(name)
}
