// GLM-4.5 to 4.7 and 5: <tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>; newer ones without the
// line ends. What a turn ends with is the token of the next role, which the caller has taken off.

package parse

import "strings"

var (
	glmNameEnd = newTags("\n", "<arg_key>", "</tool_call>", "<tool_call>")
	glmNext    = newTags("<arg_key>", "</tool_call>")
	glmKeyEnd  = newTags("</arg_key>")
	glmValue   = newTags("<arg_value>")
	glmEnd     = newTags("</arg_value>")
)

func glm() *Family {
	return &Family{
		Name:   "glm",
		Form:   "<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>",
		think:  think,
		opens:  newTags("<tool_call>"),
		closes: newTags("</tool_call>"),
		drops:  newTags("<|user|>", "<|observation|>"),
		call:   glmName,
	}
}

func glmName(p *Parser) state {
	if len(p.call.part) == 0 {
		p.swallow(len(p.rest) - len(strings.TrimLeft(p.rest, "\n")))
	}
	name, tag, found := p.field(glmNameEnd)
	if !found {
		return p.more()
	}
	name = strings.TrimRight(name, spaces)
	if !isName(name) || tag == "<tool_call>" {
		p.unfield(tag)
		p.fail("it does not begin with the name of a tool")
		return content
	}
	p.named(name, "")
	if tag != "\n" {
		return glmTag(p, tag)
	}
	return glmBody
}

func glmBody(p *Parser) state {
	tag, instead, ok := p.want(glmNext, "text between arguments")
	if !ok {
		return instead
	}
	return glmTag(p, tag)
}

func glmTag(p *Parser, tag string) state {
	if tag == "<arg_key>" {
		return glmKey
	}
	p.endMembers()
	p.finish()
	return content
}

func glmKey(p *Parser) state {
	key, _, found := p.field(glmKeyEnd)
	if !found {
		return p.more()
	}
	p.call.key = strings.TrimSpace(key)
	return glmSep
}

func glmSep(p *Parser) state {
	if _, instead, ok := p.want(glmValue, "an argument without a value"); !ok {
		return instead
	}
	return glmArgument
}

func glmArgument(p *Parser) state {
	value, _, found := p.field(glmEnd)
	if !found {
		return p.more()
	}
	if !p.member(p.call.key, p.typed(p.call.key, value)) {
		return lost("the argument " + p.call.key + " is given twice")
	}
	return glmBody
}

// IsName reports whether a text can be the name of a tool where calls are not written in JSON.
func IsName(s string) bool { return isName(s) }

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.:/", c) >= 0) {
			return false
		}
	}
	return s != ""
}
