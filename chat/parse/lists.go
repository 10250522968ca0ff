// Calls as a JSON list behind a tag:
//
//	Granite-3:     <|tool_call|>[{"name": "f", "arguments": {…}}]
//	Phi-4-mini:    <|tool_call|>[{"name": "f", "arguments": {…}}]<|/tool_call|>
//	Nemotron:      <TOOLCALL>[{"name": "f", "arguments": {…}}]</TOOLCALL>
//	Jamba:         <tool_calls>[{"name": "f", "arguments": {…}}]</tool_calls>; MiniMax-M1 writes one object a line, and no list
//	Command:       <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {…}}]<|END_ACTION|>
//
// One object may stand in place of a list of one.

package parse

import "strings"

var listKeys = &keys{name: []string{"name"}, args: []string{"arguments", "parameters"}, id: []string{"id"}, ignored: []string{"type"}}

func granite() *Family {
	return list("granite", think, listKeys, newTags("<|tool_call|>", "<tool_call>"), newTags("<|/tool_call|>", "</tool_call>"), false)
}

func phi4Mini() *Family {
	return list("phi4-mini", think, listKeys, newTags("<|tool_call|>"), newTags("<|/tool_call|>"), true)
}

func nemotron() *Family {
	return list("nemotron", think, listKeys, newTags("<TOOLCALL>"), newTags("</TOOLCALL>"), true)
}

func jamba() *Family {
	return list("jamba", think, listKeys, newTags("<tool_calls>"), newTags("</tool_calls>"), true)
}

func command() *Family {
	k := &keys{name: []string{"tool_name"}, args: []string{"parameters"}, id: []string{"tool_call_id"}}
	f := list("command", pair{"<|START_THINKING|>", "<|END_THINKING|>"}, k, newTags("<|START_ACTION|>"), newTags("<|END_ACTION|>"), true)
	f.drops = newTags("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>")
	return f
}

func list(name string, think pair, k *keys, opens, closes tags, closed bool) *Family {
	form := opens.all[0] + `[{"` + k.name[0] + `": …, "` + k.args[0] + `": {…}}]`
	if closed {
		form += closes.all[0]
	}
	return &Family{Name: name, Form: form, think: think, opens: opens, closes: closes, call: listStart(k)}
}

var (
	bracket  = newTags("[")
	listNext = newTags(",", "]")
)

func listStart(k *keys) state {
	return func(p *Parser) state {
		tag, undecided := p.expect(bracket)
		switch {
		case undecided:
			return nil
		case tag == "":
			return listItem(k, false)
		}
		return listItem(k, true)
	}
}

// listItem reads one call. inList says that a bracket was opened.
func listItem(k *keys, inList bool) state {
	return func(p *Parser) state {
		v := p.json(k)
		switch {
		case v == goOn:
			return p.more()
		case v == breaks || v == notACall && inList:
			return lost("")
		case v == notACall:
			p.fail("it does not begin with a JSON object")
			return content
		}
		p.finishJSON(k)
		if inList {
			return listAfter(k)
		}
		return objectAfter(k)
	}
}

// objectAfter: behind an object that stands in no list another may follow.
func objectAfter(k *keys) state {
	return func(p *Parser) state {
		switch text := strings.TrimLeft(p.rest, spaces); {
		case text == "" && !p.final:
			return nil
		case strings.HasPrefix(text, "{"):
			p.open("")
			p.swallow(p.blanks())
			return listItem(k, false)
		}
		return listEnd
	}
}

func listAfter(k *keys) state {
	return func(p *Parser) state {
		tag, undecided := p.after(listNext)
		switch {
		case undecided:
			return nil
		case tag == ",":
			p.open(",")
			return listItem(k, true)
		case tag == "]" || p.rest == "":
			return listEnd
		}
		p.open("")
		return lost("text between two calls")
	}
}

// listEnd takes the closing tag, if there is one.
func listEnd(p *Parser) state {
	tag, undecided := p.after(p.family.closes)
	if undecided {
		return nil
	}
	if tag != "" {
		p.items[len(p.items)-1].end = p.at
	}
	return content
}
