// gpt-oss (harmony): messages in channels, of which one turn may hold several. The prompt ends with <|start|>assistant.
//
//	<|channel|>analysis<|message|>reasoning<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}<|call|>
//	<|channel|>final<|message|>content<|return|>
//
// The recipient may also stand before the channel, as the template writes it. Commentary to nobody is content.

package parse

import "strings"

var (
	harmonyStart  = newTags("<|start|>assistant", "<|start|>", "<|channel|>", " to=", "<|message|>")
	harmonyHeader = newTags("<|message|>", "<|end|>", "<|call|>", "<|return|>")
	harmonyBody   = newTags("<|end|>", "<|call|>", "<|return|>", "<|start|>")
)

func harmony() *Family {
	return &Family{
		Name:   "harmony",
		Form:   "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>",
		opens:  newTags("<|start|>assistant", "<|channel|>"),
		closes: newTags("<|call|>", "<|end|>", "<|return|>"),
		drops:  newTags("<|end|>", "<|call|>", "<|return|>"),
		body:   harmonyFirst,
		call:   harmonyMessage,
	}
}

// harmonyFirst: the prompt has opened the first message; its header comes at once, or the model writes plain text.
func harmonyFirst(p *Parser) state {
	tag, undecided := longest(p.rest, harmonyStart.all, p.final)
	switch {
	case undecided:
		return nil
	case tag == "":
		return content
	}
	p.open("")
	if tag == "<|start|>assistant" {
		p.swallow(len(tag))
	}
	return harmonyMessage
}

// harmonyMessage reads a header and decides whose the body is.
func harmonyMessage(p *Parser) state {
	_, tag, found := p.field(harmonyHeader)
	switch {
	case !found && !p.final:
		return nil
	case !found || tag != "<|message|>":
		p.fail("a message without a body")
		return content
	}
	channel, recipient := readHeader(string(p.call.raw))
	name := strings.TrimPrefix(recipient, "functions.")
	switch {
	case recipient != "" && name == "":
		return lost("it has no name")
	case recipient != "":
		p.named(name, "")
		return harmonyArguments
	}
	p.flow.started = false
	if channel == "analysis" {
		return harmonyText(Reasoning)
	}
	return harmonyText(Content)
}

// readHeader finds the channel and the recipient, wherever they stand.
func readHeader(raw string) (channel, recipient string) {
	if at := strings.Index(raw, "<|channel|>"); at >= 0 {
		channel = firstWord(raw[at+len("<|channel|>"):])
	}
	if at := strings.Index(raw, " to="); at >= 0 {
		recipient = firstWord(raw[at+len(" to="):])
	}
	if recipient == "assistant" || recipient == "user" || recipient == "all" {
		recipient = ""
	}
	return channel, recipient
}

func firstWord(s string) string {
	if end := strings.IndexAny(s, " <\n\t"); end >= 0 {
		s = s[:end]
	}
	return s
}

func harmonyText(kind Kind) state {
	return func(p *Parser) state {
		from := p.at
		before, tag, found := p.until(harmonyBody)
		p.write(kind, before, from)
		switch {
		case !found:
			p.reply.Unclosed = p.final && kind == Reasoning
			if p.final {
				p.say(kind, p.flow.newlines, p.at)
				p.flow.newlines = ""
			}
			return nil
		case tag == "<|start|>":
			p.back(tag)
		}
		p.endStretch()
		return content
	}
}

func harmonyArguments(p *Parser) state {
	switch p.json(nil) {
	case whole:
		return harmonyEnd
	case goOn:
		return p.more()
	}
	return lost("its arguments are no JSON object")
}

// harmonyEnd: the closing tag is usually the end of the turn, which the caller has taken off.
func harmonyEnd(p *Parser) state {
	tag, undecided := p.expect(p.family.closes)
	switch {
	case undecided:
		return nil
	case tag == "" && p.rest != "":
		return lost(behindArguments)
	}
	p.finish()
	return content
}
