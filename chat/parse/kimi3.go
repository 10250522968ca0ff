// Kimi-K3:
//
//	<|open|>think<|sep|>…<|close|>think<|sep|><|open|>response<|sep|>text<|close|>response<|sep|><|open|>tools<|sep|>
//	<|open|>call tool="f" index="1"<|sep|><|open|>argument key="x" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>
//	<|close|>tools<|sep|><|close|>message<|sep|>
//
// Arguments may also stand in one <|open|>json type="object"<|sep|>{…}<|close|>json<|sep|>. Values but strings are JSON.

package parse

import (
	"strings"

	"molt/chat"
)

var (
	kimi3Sep      = newTags("<|sep|>")
	kimi3Next     = newTags("<|open|>argument ", "<|open|>json ", "<|close|>call<|sep|>")
	kimi3Argument = newTags("<|close|>argument<|sep|>")
	kimi3JSON     = newTags("<|close|>json<|sep|>")
)

func kimi3() *Family {
	return &Family{
		Name:   "kimi-k3",
		Form:   `<|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|><|close|>call<|sep|>`,
		think:  pair{"<|open|>think<|sep|>", "<|close|>think<|sep|>"},
		opens:  newTags("<|open|>call "),
		closes: newTags("<|close|>call<|sep|>"),
		drops:  newTags("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|open|>tools<|sep|>", "<|close|>tools<|sep|>", "<|close|>message<|sep|>"),
		call:   kimi3Call,
	}
}

func kimi3Call(p *Parser) state {
	text, _, found := p.field(kimi3Sep)
	if !found {
		return p.more()
	}
	name := attributes(text)["tool"]
	if name == "" {
		return lost("it has no name")
	}
	p.named(name, "")
	return kimi3Body
}

func kimi3Body(p *Parser) state {
	tag, instead, ok := p.want(kimi3Next, "text between arguments")
	if !ok {
		return instead
	}
	switch {
	case tag == "<|open|>argument ":
		return kimi3Key
	case tag == "<|open|>json ":
		return kimi3Block
	case len(p.call.args) == 0 || len(p.call.members) > 0:
		p.endMembers()
	}
	p.finish()
	return content
}

func kimi3Key(p *Parser) state {
	text, _, found := p.field(kimi3Sep)
	if !found {
		return p.more()
	}
	a := attributes(text)
	p.call.key, p.call.attribute = a["key"], a["type"]
	return kimi3Value
}

func kimi3Value(p *Parser) state {
	text, _, found := p.field(kimi3Argument)
	if !found {
		return p.more()
	}
	value := chat.String(text)
	if p.call.attribute != "string" {
		var err error
		if value, err = chat.ParseValue([]byte(text)); err != nil {
			return lost("the argument " + p.call.key + " is no JSON")
		}
	}
	if len(p.call.args) > 0 && len(p.call.members) == 0 || !p.member(p.call.key, value) {
		return lost("the argument " + p.call.key + " is given twice")
	}
	return kimi3Body
}

// kimi3Block reads arguments that stand in one block: its attributes say nothing new.
func kimi3Block(p *Parser) state {
	if _, _, found := p.field(kimi3Sep); !found {
		return p.more()
	}
	return func(p *Parser) state {
		text, _, found := p.field(kimi3JSON)
		switch {
		case !found:
			return p.more()
		case len(p.call.args) > 0 || strings.TrimSpace(text) == "":
			return lost("arguments are given twice, or not at all")
		}
		p.argue(text)
		return kimi3Body
	}
}

var unquote = strings.NewReplacer("&quot;", `"`, "&amp;", "&")

// attributes reads name="value" name="value".
func attributes(text string) map[string]string {
	out := map[string]string{}
	for {
		name, rest, ok := strings.Cut(text, `="`)
		value, after, okToo := strings.Cut(rest, `"`)
		if !ok || !okToo {
			return out
		}
		out[strings.TrimSpace(name)] = unquote.Replace(value)
		text = after
	}
}
