// A JSON object read byte by byte, far enough to know where it ends and which of its members are a call's.

package parse

import (
	"fmt"
	"slices"
	"strings"

	"molt/chat"
)

// keys names the members of a call that is written as one JSON object.
type keys struct {
	name, args, id []string
	ignored        []string // members that say nothing, such as "type"
}

// object follows one JSON object. Its members are known as soon as they end, and args as soon as they begin.
type object struct {
	text            []byte
	depth           int // open braces and brackets
	quoted, escaped bool
	done            bool // the object has ended
	start           int  // where it begins, behind whitespace

	value bool   // behind the colon of a member
	from  int    // where the key or value being read begins
	key   string // of the value being read

	name, id         string
	argsFrom, argsTo int // of the arguments, when they are an object; 0 until they begin and end
}

// verdict is what the text so far is.
type verdict uint8

const (
	goOn     verdict = iota // the beginning of an object
	whole                   // an object
	notACall                // something else
	breaks                  // an object that cannot go on like this
)

// next takes a byte. A byte that breaks the object, or begins something else, is not taken.
func (o *object) next(c byte, k *keys) verdict {
	at := len(o.text)
	switch {
	case o.escaped:
		o.escaped = false
	case o.quoted:
		switch {
		case c == '\\':
			o.escaped = true
		case c == '"':
			o.quoted = false
		case c < ' ':
			return breaks
		}
	case strings.IndexByte(spaces, c) >= 0:
	case o.depth == 0 && c != '{':
		return notACall
	case c == '<':
		return breaks
	case c == '"':
		o.quoted = true
	case c == '{' || c == '[':
		o.depth++
		if o.depth == 1 {
			o.start, o.from = at, at+1
		} else if o.depth == 2 && k != nil && o.value && slices.Contains(k.args, o.key) && c == '{' && o.argsFrom == 0 {
			o.argsFrom = at
		}
	case c == '}' || c == ']':
		o.depth--
		if o.done = o.depth == 0; o.done {
			o.endMember(at, k)
		}
	case o.depth == 1 && c == ',':
		o.endMember(at, k)
	case o.depth == 1 && c == ':' && !o.value:
		o.key, o.value, o.from = unquoted(o.text[o.from:at]), true, at+1
	}
	o.text = append(o.text, c)
	if o.done {
		return whole
	}
	return goOn
}

// endMember keeps what the member that ends at an offset says.
func (o *object) endMember(at int, k *keys) {
	if k != nil && o.value {
		switch {
		case slices.Contains(k.name, o.key):
			o.name = unquoted(o.text[o.from:at])
		case slices.Contains(k.args, o.key):
			o.argsTo = at
		case slices.Contains(k.id, o.key) && (o.name == "" || o.argsFrom == 0): // otherwise the call has been announced
			o.id = unquoted(o.text[o.from:at])
		}
	}
	o.value, o.key, o.from = false, "", at+1
}

// unquoted is the text of a JSON string, and "" of anything else.
func unquoted(literal []byte) string {
	v, err := chat.ParseValue(literal)
	if err != nil {
		return ""
	}
	return v.Text()
}

// json reads an object into the call: with keys it is the whole call, without it is the arguments.
func (p *Parser) json(k *keys) verdict {
	o := &p.call.object
	v, n := goOn, 0
	for v == goOn && n < len(p.rest) {
		if v = o.next(p.rest[n], k); v == goOn || v == whole {
			n++
		}
	}
	p.swallow(n)
	switch {
	case v == notACall || o.depth == 0 && !o.done:
	case k == nil:
		p.argue(string(o.text[o.start+len(p.call.args):]))
	case o.name != "" && o.argsFrom > 0:
		if p.call.index < 0 {
			p.named(o.name, o.id)
		}
		to := o.argsTo
		if to == 0 {
			to = len(o.text)
		}
		if from := o.argsFrom + len(p.call.args); from < to {
			p.argue(string(o.text[from:to]))
		}
	}
	return v
}

// finishJSON ends a call that was read as one object.
func (p *Parser) finishJSON(k *keys) {
	name, id, arguments, err := k.read(p.call.object.text)
	switch {
	case err != nil:
		p.fail(err.Error())
		return
	case p.call.index < 0:
		p.named(name, id)
		p.argue(arguments.String())
	}
	p.call.id = id
	p.finish()
}

// read reads a whole call. Arguments may be missing: then there are none.
func (k *keys) read(text []byte) (name, id string, arguments chat.Value, err error) {
	v, err := chat.ParseValue(text)
	if err != nil {
		return "", "", v, err
	}
	arguments = chat.Object()
	for _, m := range v.Members() {
		switch {
		case slices.Contains(k.name, m.Name):
			name = m.Value.Text()
		case slices.Contains(k.args, m.Name):
			arguments = m.Value
		case slices.Contains(k.id, m.Name):
			id = m.Value.Text()
		case !slices.Contains(k.ignored, m.Name):
			return "", "", v, fmt.Errorf("unexpected key %.60q", m.Name)
		}
	}
	if name == "" {
		return "", "", v, fmt.Errorf("it has no name")
	}
	if arguments.Kind() != chat.KindObject {
		return "", "", v, fmt.Errorf("arguments are of type %s; want an object", arguments.Kind())
	}
	return name, id, arguments, nil
}
