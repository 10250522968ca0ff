// Hermes, Qwen2.5, Qwen3, SmolLM3:
//
//	<think>…</think> text <tool_call>
//	{"name": "f", "arguments": {"x": 1}}
//	</tool_call>
//
// A closing tag inside a JSON string is part of an argument. A call without its closing tag is none.

package parse

const (
	hermesOpen  = "<tool_call>"
	hermesClose = "</tool_call>"
)

var hermesKeys = keys{name: []string{"name"}, args: []string{"arguments"}}

func hermes() *Family {
	return &Family{
		Name:   "hermes",
		Form:   `<tool_call>{"name": …, "arguments": {…}}</tool_call>`,
		think:  think,
		opens:  newTags(hermesOpen),
		closes: newTags(hermesClose),
		call:   hermesCall,
	}
}

func hermesCall(p *Parser) state {
	switch p.json(&hermesKeys) {
	case whole:
		return hermesEnd
	case notACall:
		p.fail("it does not begin with a JSON object")
		return content
	case breaks:
		return lost("")
	}
	return p.more()
}

func hermesEnd(p *Parser) state {
	tag, undecided := p.expect(p.family.closes)
	switch {
	case undecided:
		return nil
	case tag != "":
		p.finishJSON(&hermesKeys)
		return content
	case p.rest == "":
		return p.unended()
	}
	return lost("")
}
