// Calls as <invoke> elements:
//
//	DeepSeek-V3.2, V4:  <｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="x" string="false">1</｜DSML｜parameter>\n
//	                    </｜DSML｜invoke>\n</｜DSML｜function_calls>; V4 calls the outer element tool_calls
//	DeepSeek-V4.1:      the same within <｜DSML｜ calls>, and a space behind the second bar everywhere
//	MiniMax-M2:         <minimax:tool_call>\n<invoke name="f">\n<parameter name="x">1</parameter>\n</invoke>\n</minimax:tool_call>
//
// DSML says which values are text; MiniMax leaves the types to the tool's schema.

package parse

import (
	"strings"

	"molt/chat"
)

// invoke holds the tags of one dialect.
type invoke struct {
	open, end, parameter, parameterEnd string
	next                               tags
	sections                           []string // what announces calls
}

func deepseekDSML() *Family {
	const dsml = "｜DSML｜"
	return invokes("deepseek-dsml", "<"+dsml, "</"+dsml, "<"+dsml+"function_calls>", "<"+dsml+"tool_calls>")
}

func deepseekSpaced() *Family {
	const dsml = "｜DSML｜ "
	return invokes("deepseek-v4.1", "<"+dsml, "</"+dsml, "<"+dsml+"calls>")
}

func minimax() *Family { return invokes("minimax", "<", "</", "<minimax:tool_call>") }

func invokes(name, open, end string, sections ...string) *Family {
	d := invoke{open: open + `invoke name="`, end: end + "invoke>", parameter: open + `parameter name="`, parameterEnd: end + "parameter>", sections: sections}
	d.next = newTags(d.parameter, d.end)
	f := &Family{
		Name:   name,
		Form:   sections[0] + d.open + `NAME">` + d.parameter + `KEY">VALUE` + d.parameterEnd + d.end,
		think:  think,
		opens:  newTags(append([]string{d.open}, sections...)...),
		closes: newTags(d.end),
		call:   section(newTags(d.open), d.name),
	}
	var ends []string
	for _, s := range sections {
		ends = append(ends, "</"+s[1:])
	}
	f.drops = newTags(ends...)
	return f
}

var quoteEnd, tagEnd = newTags(`"`, "\n"), newTags(">", "\n")

func (d invoke) name(p *Parser) state {
	name, tag, found := p.field(quoteEnd)
	switch {
	case !found:
		return p.more()
	case tag == "\n" || !isName(name):
		return lost("the name of the tool is not closed")
	}
	p.named(name, "")
	return d.nameEnd
}

func (d invoke) nameEnd(p *Parser) state {
	rest, _, found := p.field(tagEnd)
	switch {
	case !found:
		return p.more()
	case strings.TrimSpace(rest) != "":
		return lost("more than a name in the tag of a call")
	}
	return d.body
}

func (d invoke) body(p *Parser) state {
	tag, instead, ok := p.want(d.next, "text between parameters")
	if !ok {
		return instead
	}
	if tag == d.end {
		p.endMembers()
		p.finish()
		return content
	}
	return d.key
}

func (d invoke) key(p *Parser) state {
	key, tag, found := p.field(quoteEnd)
	switch {
	case !found:
		return p.more()
	case tag == "\n":
		return lost("the name of a parameter is not closed")
	}
	p.call.key = key
	return d.attributes
}

func (d invoke) attributes(p *Parser) state {
	text, tag, found := p.field(tagEnd)
	switch {
	case !found:
		return p.more()
	case tag == "\n":
		return lost("the tag of a parameter is not closed")
	}
	p.call.attribute = strings.TrimSpace(text)
	return d.value
}

func (d invoke) value(p *Parser) state {
	text, _, found := p.field(newTags(d.parameterEnd))
	if !found {
		return p.more()
	}
	value := chat.String(text)
	switch p.call.attribute {
	case `string="true"`:
	case `string="false"`:
		var err error
		if value, err = chat.ParseValue([]byte(text)); err != nil {
			return lost("the parameter " + p.call.key + " is no JSON")
		}
	case "":
		value = p.typed(p.call.key, text)
	default:
		return lost("unknown attributes of the parameter " + p.call.key)
	}
	if !p.member(p.call.key, value) {
		return lost("the parameter " + p.call.key + " is given twice")
	}
	return d.body
}
