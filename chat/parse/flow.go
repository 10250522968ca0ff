// Reasoning and content, the two kinds of running text, and the way from one to the other.
//
// Line ends where a stretch begins, and those just before a tag, belong to the syntax and are dropped: templates put them
// there. Line ends at the end of the turn stay. A second stretch of content, behind a call, begins on its own line.

package parse

import "strings"

// flow is where the running text stands.
type flow struct {
	started  bool    // the current stretch has begun: its leading line ends are behind us
	between  bool    // the stretch resumes behind something else: a line end joins it to what came before
	said     [2]bool // there is reasoning, there is content
	newlines string  // not yet written: a tag may follow
}

// start: reasoning begins with the first thing that is no whitespace, or not at all.
func start(p *Parser) state {
	text := strings.TrimLeft(p.rest, spaces)
	open := p.family.think.open
	switch {
	case open != "" && strings.HasPrefix(text, open):
		p.take(len(p.rest) - len(text) + len(open))
		return reasoning
	case open != "" && strings.HasPrefix(open, text) && !p.final:
		return nil
	}
	p.flow.started = true
	return p.family.body
}

func reasoning(p *Parser) state {
	from := p.at
	before, tag, found := p.until(p.family.inReasoning)
	p.write(Reasoning, before, from)
	switch {
	case !found:
		p.reply.Unclosed = p.final
		return nil
	case tag != p.family.think.close: // a call that is only thought of
		p.reply.Ignored++
		p.write(Reasoning, tag, p.at-len(tag))
		return reasoning
	}
	p.endStretch()
	return p.family.body
}

// endStretch ends running text with its closing tag, which was just read.
func (p *Parser) endStretch() {
	if n := len(p.items); n > 0 && p.items[n-1].Kind <= Content {
		p.items[n-1].end = p.at
	}
	p.flow = flow{between: true, said: p.flow.said}
}

func content(p *Parser) state {
	from := p.at
	before, tag, found := p.until(p.family.inContent)
	p.write(Content, before, from)
	switch {
	case found && p.family.Dropped(tag) == tag:
		if !p.flow.said[Content] {
			return p.family.body
		}
		return content
	case found:
		p.open(tag)
		return p.family.call
	case p.final:
		p.say(Content, p.flow.newlines, p.at)
		p.flow.newlines = ""
	}
	return nil
}

// write says a stretch of running text that begins at an offset, but for the line ends that may belong to the syntax.
func (p *Parser) write(kind Kind, text string, from int) {
	f := &p.flow
	end := from + len(text)
	if !f.started {
		text = strings.TrimLeft(text, "\n")
		f.started = text != ""
	}
	body := strings.TrimRight(text, "\n")
	waiting := text[len(body):]
	if body != "" {
		body, f.newlines = f.newlines+body, ""
		if f.between && f.said[kind] {
			body = "\n" + body
		}
		f.between = false
	}
	f.newlines += waiting
	p.say(kind, body, end-len(waiting))
}

// say adds text, which ends at an offset, to the events and to the last item or a new one.
func (p *Parser) say(kind Kind, text string, end int) {
	if text == "" {
		return
	}
	p.flow.said[kind] = true
	p.events = append(p.events, Event{Kind: kind, Text: text})
	if n := len(p.items); n == 0 || p.items[n-1].Kind != kind {
		p.items = append(p.items, item{Item: Item{Kind: kind}})
	}
	last := &p.items[len(p.items)-1]
	last.text, last.end = append(last.text, text...), end
}
