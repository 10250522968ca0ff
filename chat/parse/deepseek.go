// DeepSeek-V3, R1 and V3.1:
//
//	V3, R1:  <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"x": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//	V3.1:    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"x": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>

package parse

import "strings"

var (
	deepseekCall  = newTags("<｜tool▁call▁begin｜>")
	deepseekSep   = newTags("<｜tool▁sep｜>", "<｜tool▁call▁end｜>")
	deepseekLine  = newTags("\n")
	deepseekFence = newTags("```json")
	closingFence  = newTags("```")
)

const behindArguments = "text behind the arguments"

func deepseek() *Family {
	return &Family{
		Name:   "deepseek",
		Form:   "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		think:  think,
		opens:  newTags("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
		closes: newTags("<｜tool▁call▁end｜>"),
		drops:  newTags("<｜tool▁calls▁end｜>"),
		call:   section(deepseekCall, deepseekName),
	}
}

// section is the state behind a tag that opens one call, or a section that must begin with the tag of a call.
func section(call tags, inside state) state {
	return func(p *Parser) state {
		if string(p.call.raw) == call.all[0] {
			return inside
		}
		tag, undecided := p.expect(call)
		switch {
		case undecided:
			return nil
		case tag == "":
			p.fail("no call follows")
			return content
		}
		return inside
	}
}

func deepseekName(p *Parser) state {
	name, tag, found := p.field(deepseekSep)
	switch name = strings.TrimSpace(name); {
	case !found:
		return p.more()
	case !isName(name) || tag != deepseekSep.all[0]:
		p.fail("it has no name")
		return content
	case name == "function":
		return deepseekFunction
	}
	p.named(name, "")
	return arguments(nil)
}

// deepseekFunction is the older form, in which the name stands on its own line and the arguments in a fence.
func deepseekFunction(p *Parser) state {
	name, _, found := p.field(deepseekLine)
	switch name = strings.TrimSpace(name); {
	case !found:
		return p.more()
	case !isName(name):
		return lost("it has no name")
	}
	p.named(name, "")
	return func(p *Parser) state {
		tag, undecided := p.expect(deepseekFence)
		switch {
		case undecided:
			return nil
		case tag == "":
			return lost("its arguments do not stand in a fence")
		}
		return arguments(&closingFence)
	}
}

// arguments reads arguments that are one JSON object, perhaps a closing fence, and the closing tag of the call.
func arguments(fence *tags) state {
	return func(p *Parser) state {
		switch p.json(nil) {
		case whole:
			return argumentsEnd(fence)
		case notACall:
			return lost("its arguments are no JSON object")
		case breaks:
			return lost("its arguments are no JSON")
		}
		return p.more()
	}
}

func argumentsEnd(fence *tags) state {
	closing := func(p *Parser) state {
		if _, instead, ok := p.want(p.family.closes, behindArguments); !ok {
			return instead
		}
		p.finish()
		return content
	}
	if fence == nil {
		return closing
	}
	return func(p *Parser) state {
		if _, instead, ok := p.want(*fence, behindArguments); !ok {
			return instead
		}
		return closing
	}
}
