// Mistral, which closes no call:
//
//	until 2024:  [TOOL_CALLS][{"name": "f", "arguments": {…}, "id": "123456789"}]
//	since 2025:  [TOOL_CALLS]f[ARGS]{…}, some with [CALL_ID]123456789 before [ARGS]; the tag again for every call
//	reasoning:   [THINK]…[/THINK]

package parse

import "strings"

var (
	mistralNext  = newTags("[TOOL_CALLS]")
	mistralStart = newTags("[", "{")
	mistralEnd   = newTags("[ARGS]", "[CALL_ID]", "{")
	mistralArgs  = newTags("[ARGS]", "{")
)

func mistral() *Family {
	return &Family{
		Name:  "mistral",
		Form:  `[TOOL_CALLS]NAME[ARGS]{…}, or [TOOL_CALLS][{"name": …, "arguments": {…}}]`,
		think: pair{"[THINK]", "[/THINK]"},
		opens: mistralNext,
		call:  mistralCall,
	}
}

func mistralCall(p *Parser) state {
	tag, undecided := p.expect(mistralStart)
	switch {
	case undecided:
		return nil
	case tag == "[":
		return listItem(listKeys, true)
	case tag == "{":
		p.unfield(tag)
		return listItem(listKeys, false)
	}
	return mistralName
}

func mistralName(p *Parser) state {
	name, tag, found := p.field(mistralEnd)
	switch name = strings.TrimSpace(name); {
	case !found:
		return p.more()
	case !isName(name):
		return lost("it does not begin with the name of a tool")
	case tag == "[CALL_ID]":
		p.call.key = name
		return mistralID
	}
	p.named(name, "")
	if tag == "{" {
		p.unfield(tag)
	}
	return mistralArguments
}

func mistralID(p *Parser) state {
	id, tag, found := p.field(mistralArgs)
	if !found {
		return p.more()
	}
	p.named(p.call.key, strings.TrimSpace(id))
	if tag == "{" {
		p.unfield(tag)
	}
	return mistralArguments
}

func mistralArguments(p *Parser) state {
	switch p.json(nil) {
	case whole:
		p.finish()
		return content
	case goOn:
		return p.more()
	}
	return lost("its arguments are no JSON object")
}
