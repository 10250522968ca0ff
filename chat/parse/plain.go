// No known syntax: everything behind reasoning is content. Openings of calls as other families write them are counted, so
// that a run which offers tools can tell a model that calls nothing from a parser that reads nothing.

package parse

func plain() *Family {
	return &Family{
		Name:  "plain",
		think: think,
		opens: newTags("<tool_call>", "<|tool_call|>", "<|tool_call>", "<function=", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_calls_section_begin|>",
			"<｜tool▁calls▁begin｜>", "<｜DSML｜", "<|START_ACTION|>", "<tools>", "<minimax:tool_call>", "<seed:tool_call>", "<|channel|>commentary to="),
		call: plainCall,
	}
}

// plainCall keeps the tag as content.
func plainCall(p *Parser) state {
	p.reply.Ignored++
	tag := p.call.newlines + string(p.call.raw)
	p.flow.started = true
	p.write(Content, tag, p.at-len(tag))
	return content
}
