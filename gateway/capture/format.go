// Replies in a format: the engine may sample only what keeps them on the way to a conforming value. Such a turn is kept and
// exported, and does not train.

package capture

import (
	"molt/chat/grammar"
	"molt/engine"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// format is what the replies to one request conform to.
type format struct {
	grammar *grammar.Grammar
	words   *grammar.Vocabulary
	ends    []int32 // tokens that end a turn
	lifts   []int32 // tokens that begin a call instead
}

// begin makes the constraint of one reply that has sampled these ids.
func (f *format) begin(sampled []engine.Token) engine.Constraint {
	w := f.grammar.Walk(f.words, f.ends, f.lifts)
	for _, t := range sampled {
		w.Take(t.ID)
	}
	return w
}

// format compiles what a request demands of its replies; nil for text, and where a call is demanded instead.
func (g *Gateway) format(r *wire.Request) (*format, *wire.Problem) {
	o := &r.Options
	if o.Format.Param == "" || o.Choose.Mode == wire.Required || o.Choose.Mode == wire.Named {
		return nil, nil
	}
	refuse := func(why string) (*format, *wire.Problem) {
		return nil, wire.Badf(o.Format.Param, "cannot be kept here, because %s; leave it out, or offer a tool with that schema", why)
	}
	words := g.words()
	switch {
	case !g.config.Generator.Capabilities().Constrained:
		return refuse("the engine does not constrain replies")
	case words == nil:
		return refuse("the model's tokens have no spelling of their own")
	case len(g.config.Sampling.StopTokens) == 0:
		return refuse("the model has no token that ends a turn")
	}
	f := &format{grammar: grammar.Object(), words: words, ends: g.config.Sampling.StopTokens}
	opening, known := openings[g.config.Family.Name]
	if !known && g.config.Family.Name != "plain" {
		return refuse("a reply of this model does not begin with its text")
	}
	if len(r.Tools) > 0 && o.Choose.Mode != wire.None {
		tok := g.config.Renderer.Tokenizer()
		ids := tok.EncodeSpecial(opening.before)
		if len(ids) == 0 || !tok.IsControl(ids[0]) {
			return refuse("tools are offered, and the model's calls cannot be told from text by their first token")
		}
		f.lifts = ids[:1]
	}
	if o.Format.Schema != nil {
		var err error
		if f.grammar, err = grammar.Schema(o.Format.Schema); err != nil {
			return nil, wire.Badf(o.Format.Param, "is not understood: %v", err)
		}
	}
	return f, nil
}

// newWords reads the vocabulary; nil where ids have no spelling of their own. Control tokens are no part of a value.
func newWords(tok *tokenizer.Tokenizer, size int) *grammar.Vocabulary {
	spell, ok := tok.Spells()
	if !ok {
		return nil
	}
	return grammar.NewVocabulary(size, func(id int32) []byte {
		if tok.IsControl(id) || tok.IsSpecial(id) {
			return nil
		}
		return spell(id)
	})
}

// closeFor ends reasoning that the prompt leaves open, so that the reply is its text.
func (g *Gateway) closeFor(prompt string) (text string, ids []int32) {
	if !g.config.Family.Read("x", prompt, nil).Unclosed {
		return "", nil
	}
	text = openings[g.config.Family.Name].closing
	return text, g.config.Renderer.Tokenizer().EncodeSpecial(text)
}
