// Which family a model speaks: what its chat template shows it, and the special tokens it has.

package parse

import "strings"

// evidence is a row of the table that Detect reads from the top: the first family all of whose marks are in the template
// is the model's.
type evidence struct {
	family string
	marks  []string
}

var table = []evidence{
	{"harmony", []string{"<|channel|>", "<|message|>"}},
	{"gemma4", []string{"<|tool_call>", "call:"}},
	{"kimi-k2", []string{"<|tool_call_argument_begin|>"}},
	{"kimi-k3", []string{"<|open|>", "<|close|>", "<|sep|>"}},
	{"deepseek-v4.1", []string{"<｜DSML｜ calls>"}},
	{"deepseek-dsml", []string{"｜DSML｜"}},
	{"deepseek", []string{"<｜tool▁call▁begin｜>"}},
	{"minimax", []string{"<minimax:tool_call>", "<invoke name="}},
	{"seed-oss", []string{"<seed:tool_call>"}},
	{"glm", []string{"<arg_key>", "<arg_value>", "<tool_call>"}},
	{"qwen3-coder", []string{"<function=", "<parameter=", "<tool_call>"}},
	{"mistral", []string{"[TOOL_CALLS]"}},
	{"command", []string{"<|START_ACTION|>", "tool_name"}},
	{"lfm2", []string{"<|tool_call_start|>"}},
	{"lfm2", []string{"<|tool_list_start|>"}},
	{"olmo3", []string{"<function_calls>", "</function_calls>"}},
	{"granite", []string{"<|tool_call|>", "<|start_of_role|>"}},
	{"phi4-mini", []string{"<|tool|>", "<|/tool|>"}},
	{"nemotron", []string{"<TOOLCALL>"}},
	{"jamba", []string{"<tool_calls>", "</tool_calls>"}},
	{"llama-pythonic", []string{"<|python_start|>"}},
	{"llama-pythonic", []string{"<|header_start|>", "[func_name1(params_name1=params_value1"}},
	{"llama3-json", []string{"<|python_tag|>", `"parameters": `}},
	{"llama3-json", []string{"<|start_header_id|>", `"parameters": `, `"name": `}},
	{"plain", []string{"]<]minimax[>["}}, // syntaxes that no family here reads, and that a later row would take for its own
	{"plain", []string{"<tool_sep"}},
	{"plain", []string{"<function name="}},
	{"hermes", []string{"<tool_call>"}},
}

// tokens is the table for templates that show no call: a special token that only one family has.
var tokens = []evidence{
	{"harmony", []string{"<|channel|>", "<|call|>"}},
	{"gemma4", []string{"<|tool_call>", "<tool_call|>"}},
	{"kimi-k2", []string{"<|tool_call_argument_begin|>"}},
	{"deepseek", []string{"<｜tool▁call▁begin｜>"}},
	{"mistral", []string{"[TOOL_CALLS]"}},
	{"lfm2", []string{"<|tool_call_start|>"}},
	{"command", []string{"<|START_ACTION|>"}},
	{"granite", []string{"<|tool_call|>", "<|start_of_role|>"}},
	{"phi4-mini", []string{"<|tool_call|>", "<|/tool_call|>"}},
	{"hermes", []string{"<tool_call>", "</tool_call>"}},
}

// Detect finds the family of a model, and says by what. template is its chat template as its authors wrote it; has reports
// whether a text is one of its special tokens, and may be nil. A model of no known family gets the plain one, and "" unless
// its syntax is known to be another.
func Detect(template string, has func(token string) bool) (f *Family, why string) {
	in := func(mark string) bool { return strings.Contains(template, mark) }
	if f, marks := first(table, in); f != nil {
		why := "the template writes " + strings.Join(marks, " and ")
		if !f.CallsTools() {
			why += ", which no family reads"
		}
		return f, why
	}
	if has != nil {
		if f, marks := first(tokens, has); f != nil {
			return f, "there are tokens " + strings.Join(marks, " and ")
		}
	}
	return families[0], ""
}

func first(rows []evidence, holds func(string) bool) (*Family, []string) {
	for _, row := range rows {
		all := true
		for _, mark := range row.marks {
			all = all && holds(mark)
		}
		if all {
			f, _ := Named(row.family) // a test reads the table
			return f, row.marks
		}
	}
	return nil, nil
}
