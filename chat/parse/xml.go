// Calls whose arguments are written one by one between tags, without types: the types come from the tool's schema.
//
//	Qwen3-Coder, Qwen3.5, Nemotron-3:  <tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>
//	Seed-OSS:                          the same with <seed:tool_call> and <seed:think>
//
// A model may leave out the outer tag; then <function=f> begins the call.

package parse

import "strings"

const functionOpen = "<function="

var (
	functionTag  = newTags(functionOpen)
	nameEnd      = newTags(">", "\n")
	parameterTag = newTags("<parameter=", "</function>")
	parameterEnd = newTags("</parameter>")
)

func qwen3Coder() *Family {
	return functions("qwen3-coder", think, "<tool_call>", "</tool_call>")
}

func seedOSS() *Family {
	return functions("seed-oss", pair{"<seed:think>", "</seed:think>"}, "<seed:tool_call>", "</seed:tool_call>")
}

func functions(name string, think pair, open, end string) *Family {
	return &Family{
		Name:   name,
		Form:   open + "<function=NAME><parameter=KEY>VALUE</parameter></function>" + end,
		think:  think,
		opens:  newTags(open, functionOpen),
		closes: newTags(end),
		call:   functionStart,
	}
}

func functionStart(p *Parser) state {
	if strings.HasSuffix(string(p.call.raw), functionOpen) {
		p.call.bare = true
		return functionName
	}
	tag, undecided := p.expect(functionTag)
	switch {
	case undecided:
		return nil
	case tag == "":
		p.fail("it does not begin with " + functionOpen)
		return content
	}
	return functionName
}

func functionName(p *Parser) state {
	name, tag, found := p.field(nameEnd)
	switch {
	case !found:
		return p.more()
	case tag == "\n" || !isName(strings.TrimSpace(name)):
		return lost("it has no name")
	}
	p.named(strings.TrimSpace(name), "")
	return functionBody
}

func functionBody(p *Parser) state {
	tag, instead, ok := p.want(parameterTag, "text between parameters")
	if !ok {
		return instead
	}
	if tag == "</function>" {
		p.endMembers()
		return functionEnd
	}
	return parameterKey
}

func parameterKey(p *Parser) state {
	key, tag, found := p.field(nameEnd)
	switch {
	case !found:
		return p.more()
	case tag == "\n":
		return lost("the name of a parameter is not closed")
	}
	p.call.key = strings.TrimSpace(key)
	return parameterValue
}

func parameterValue(p *Parser) state {
	value, _, found := p.field(parameterEnd)
	if !found {
		return p.more()
	}
	value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	if !p.member(p.call.key, p.typed(p.call.key, value)) {
		return lost("the parameter " + p.call.key + " is given twice")
	}
	return functionBody
}

// functionEnd wants the outer closing tag, unless the outer opening one was left out.
func functionEnd(p *Parser) state {
	if p.call.bare {
		p.finish()
		return content
	}
	if _, instead, ok := p.want(p.family.closes, "text behind the function"); !ok {
		return instead
	}
	p.finish()
	return content
}
