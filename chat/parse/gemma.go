// Gemma 4: <|channel>thought\n…<channel|> text <|tool_call>call:f{s:<|"|>text<|"|>,x:1,l:[true],o:{k:null}}<tool_call|>

package parse

import (
	"errors"
	"strings"

	"molt/chat"
)

const gemmaQuote = `<|"|>`

var (
	gemmaEnd    = newTags("<tool_call|>")
	errGemma    = errors.New("its arguments are not written as Gemma writes them")
	gemmaNumber = "+-.0123456789eE"
)

func gemma() *Family {
	return &Family{
		Name:   "gemma4",
		Form:   `<|tool_call>call:NAME{KEY:<|"|>TEXT<|"|>,KEY:1}<tool_call|>`,
		think:  pair{"<|channel>thought", "<channel|>"},
		opens:  newTags("<|tool_call>"),
		closes: gemmaEnd,
		drops:  newTags("<|tool_response>"), // ends a turn with calls
		call:   gemmaCall,
	}
}

func gemmaCall(p *Parser) state {
	text, _, found := p.field(gemmaEnd)
	if !found {
		return p.more()
	}
	name, rest, ok := strings.Cut(strings.TrimSpace(text), "{")
	name, called := strings.CutPrefix(name, "call:")
	if !ok || !called || !isName(name) {
		p.fail("it does not begin with call:NAME{")
		return content
	}
	g := &gemmaText{"{" + rest}
	v, err := g.value(0)
	if err != nil || g.rest != "" {
		p.fail(errGemma.Error())
		return content
	}
	p.named(name, "")
	p.argue(v.String())
	p.finish()
	return content
}

// gemmaText reads values from the front of a text.
type gemmaText struct{ rest string }

func (g *gemmaText) accept(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(g.rest, spaces), s)
	if ok {
		g.rest = rest
	}
	return ok
}

func (g *gemmaText) value(depth int) (chat.Value, error) {
	switch {
	case depth > maxPython:
		return chat.Value{}, errGemma
	case g.accept("{"):
		return g.object(depth + 1)
	case g.accept("["):
		return g.array(depth + 1)
	case g.accept(gemmaQuote):
		s, rest, ok := strings.Cut(g.rest, gemmaQuote)
		if !ok {
			return chat.Value{}, errGemma
		}
		g.rest = rest
		return chat.String(s), nil
	}
	g.rest = strings.TrimLeft(g.rest, spaces)
	n := 0
	for n < len(g.rest) && (isName(g.rest[n:n+1]) && g.rest[n] != ':' || strings.IndexByte(gemmaNumber, g.rest[n]) >= 0) {
		n++
	}
	word := g.rest[:n]
	g.rest = g.rest[n:]
	if word == "None" {
		word = "null"
	}
	return chat.ParseValue([]byte(word))
}

func (g *gemmaText) array(depth int) (chat.Value, error) {
	var items []chat.Value
	for !g.accept("]") {
		v, err := g.value(depth)
		if err != nil {
			return v, err
		}
		items = append(items, v)
		if !g.accept(",") && !strings.HasPrefix(strings.TrimLeft(g.rest, spaces), "]") {
			return v, errGemma
		}
	}
	return chat.Array(items...), nil
}

func (g *gemmaText) object(depth int) (chat.Value, error) {
	var members []chat.Member
	seen := map[string]bool{}
	for !g.accept("}") {
		key, err := g.key()
		if err != nil || seen[key] {
			return chat.Value{}, errGemma
		}
		seen[key] = true
		v, err := g.value(depth)
		if err != nil {
			return v, err
		}
		members = append(members, chat.Member{Name: key, Value: v})
		if !g.accept(",") && !strings.HasPrefix(strings.TrimLeft(g.rest, spaces), "}") {
			return v, errGemma
		}
	}
	return chat.Object(members...), nil
}

// key takes a name, quoted or not, and its colon.
func (g *gemmaText) key() (string, error) {
	end := ":"
	if g.accept(gemmaQuote) {
		end = gemmaQuote + ":"
	}
	key, rest, ok := strings.Cut(g.rest, end)
	if !ok || key == "" || end == ":" && strings.ContainsAny(key, "{}[],") {
		return "", errGemma
	}
	g.rest = rest
	return strings.TrimSpace(key), nil
}
