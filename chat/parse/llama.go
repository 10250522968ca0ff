// Llama-3.1 to 3.3: the turn is {"name": "f", "parameters": {…}}, perhaps behind <|python_tag|>; some models write several,
// separated by semicolons. A turn that begins with any other object is an answer in JSON.

package parse

var llamaKeys = &keys{name: []string{"name"}, args: []string{"parameters", "arguments"}, ignored: []string{"type"}}

var semicolon = newTags(";")

func llama3() *Family {
	return &Family{
		Name:  "llama3-json",
		Form:  `{"name": …, "parameters": {…}}`,
		think: think,
		opens: newTags("<|python_tag|>"),
		body:  llamaStart,
		call:  llamaCall,
	}
}

// llamaStart: a call may begin without a tag where content begins.
func llamaStart(p *Parser) state {
	return p.bare('{', llamaCall)
}

func llamaCall(p *Parser) state {
	switch p.json(llamaKeys) {
	case whole:
		return llamaWhole
	case goOn:
		if !p.final {
			return nil
		}
	}
	return llamaNone(p, "it is no JSON object")
}

func llamaWhole(p *Parser) state {
	if _, _, _, err := llamaKeys.read(p.call.object.text); err != nil {
		return llamaNone(p, err.Error())
	}
	p.finishJSON(llamaKeys)
	return llamaNext
}

// llamaNone: what has no tag and was not named yet is text.
func llamaNone(p *Parser, reason string) state {
	if p.call.bare && p.call.index < 0 && p.call.object.name == "" {
		return p.unopen()
	}
	p.fail(reason)
	return content
}

func llamaNext(p *Parser) state {
	tag, undecided := p.after(semicolon)
	switch {
	case undecided:
		return nil
	case tag != "":
		p.open(tag)
		return llamaCall
	}
	return content
}
