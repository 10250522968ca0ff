// Kimi-K2: <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|>
// <|tool_calls_section_end|>. The id is in the text, counts over the whole conversation, and must come back in the result.

package parse

import "strings"

var (
	kimiCall      = newTags("<|tool_call_begin|>")
	kimiArguments = newTags("<|tool_call_argument_begin|>", "<|tool_call_end|>")
)

func kimi() *Family {
	return &Family{
		Name:   "kimi-k2",
		Form:   "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:INDEX<|tool_call_argument_begin|>{…}<|tool_call_end|><|tool_calls_section_end|>",
		think:  think,
		opens:  newTags("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
		closes: newTags("<|tool_call_end|>"),
		drops:  newTags("<|tool_calls_section_end|>"),
		call:   section(kimiCall, kimiName),
	}
}

func kimiName(p *Parser) state {
	id, tag, found := p.field(kimiArguments)
	if !found {
		return p.more()
	}
	id = strings.TrimSpace(id)
	name := strings.TrimPrefix(id, "functions.")
	if colon := strings.LastIndexByte(name, ':'); colon >= 0 {
		name = name[:colon]
	}
	if !isName(name) || tag != kimiArguments.all[0] {
		p.fail("it has no name")
		return content
	}
	p.named(name, id)
	return arguments(nil)
}
