// Calls written in Python, as a list: [f(a=1), g(b="x")]
//
//	Llama-3.2, Llama-4:  the list is the turn, perhaps within <|python_start|> and <|python_end|>; Llama-4 also writes JSON
//	LFM2:                within <|tool_call_start|> and <|tool_call_end|>
//	Olmo-3:              within <function_calls> and </function_calls>, one call a line, no brackets
//
// Arguments are literals, and named. A turn that begins with a bracket but with no call is text.

package parse

import "strings"

func llamaPythonic() *Family {
	return &Family{Name: "llama-pythonic", Form: "[NAME(KEY=VALUE)], or as llama3-json", think: think, drops: newTags("<|python_start|>", "<|python_end|>"), body: pythonicBare}
}

func lfm2() *Family  { return pythonic("lfm2", "<|tool_call_start|>", "<|tool_call_end|>") }
func olmo3() *Family { return pythonic("olmo3", "<function_calls>", "</function_calls>") }

func pythonic(name, open, end string) *Family {
	return &Family{Name: name, Form: open + "[NAME(KEY=VALUE)]" + end, think: think, opens: newTags(open), closes: newTags(end), call: pythonicStart}
}

func pythonicBare(p *Parser) state {
	if strings.HasPrefix(strings.TrimLeft(p.rest, spaces), "{") {
		return llamaStart
	}
	return p.bare('[', pythonicStart)
}

func pythonicStart(p *Parser) state {
	tag, undecided := p.expect(bracket)
	if undecided {
		return nil
	}
	return pythonicCall(tag != "")
}

// pythonicCall reads up to the bracket that ends a call.
func pythonicCall(inList bool) state {
	return func(p *Parser) state {
		if len(p.call.python.text) == 0 {
			p.swallow(p.blanks())
		}
		n, ended, ok := p.call.python.follow(p.rest)
		p.swallow(n)
		switch {
		case p.call.bare && !p.call.python.opened && (!ok || p.final):
			return p.unopen() // text that begins like a list
		case !ok:
			return lost("it is no call in Python")
		case !ended:
			return p.more()
		}
		name, arguments, err := readPython(p.call.python.text)
		if err != nil {
			return lost(err.Error())
		}
		p.named(name, "")
		p.argue(arguments.String())
		p.finish()
		return pythonicAfter(inList)
	}
}

func pythonicAfter(inList bool) state {
	return func(p *Parser) state {
		t := listNext
		if !inList {
			t = p.family.closes
		}
		tag, undecided := p.after(t)
		switch {
		case undecided:
			return nil
		case tag == ",":
			p.open(",")
			return pythonicCall(true)
		case inList && (tag == "]" || p.rest == ""):
			return listEnd
		case tag != "" || p.rest == "":
			p.items[len(p.items)-1].end = p.at
			return content
		}
		p.open("")
		if inList {
			return lost("text between two calls")
		}
		return pythonicCall(false)
	}
}

// python follows a call far enough to know where it ends.
type python struct {
	text    []byte
	depth   int
	quote   byte // of the string being read
	escaped bool
	opened  bool // a name and its bracket were read
}

// follow takes bytes up to the closing bracket of the call. ok is false for what is no call: it does not begin with a name.
func (c *python) follow(rest string) (n int, ended, ok bool) {
	for n < len(rest) {
		b := rest[n]
		switch {
		case c.escaped:
			c.escaped = false
		case c.quote != 0:
			if b == '\\' {
				c.escaped = true
			} else if b == c.quote {
				c.quote = 0
			}
		case c.depth == 0 && b != '(':
			if !isName(string(b)) || len(c.text) == 0 && b <= '9' {
				return n, false, false
			}
		case b == '"' || b == '\'':
			c.quote = b
		case b == '(' || b == '[' || b == '{':
			if len(c.text) == 0 {
				return n, false, false
			}
			c.depth++
			c.opened = true
		case b == ')' || b == ']' || b == '}':
			c.depth--
		}
		c.text = append(c.text, b)
		n++
		if c.opened && c.depth == 0 {
			return n, true, true
		}
	}
	return n, false, true
}
