// Calls that a client demands of an engine that keeps no constraints. The beginning of a call is shown to the policy as if it
// had said so: it is observation, not trained on, and what the policy goes on with is its own.

package capture

import (
	"molt/chat/parse"
	"molt/chat/shape"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// force renders the beginning of a reply that calls a tool. Reasoning that the prompt leaves open is closed first.
func (g *Gateway) force(c wire.Choice, prompt string) (text string, ids []int32, problem *wire.Problem) {
	parts, ok := forced(g.config.Family, c, prompt)
	if !ok {
		return "", nil, wire.Badf("tool_choice", "this model cannot be made to call a tool; leave it out, or say auto")
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, g.config.Renderer.Tokenizer().EncodeParts(parts...), nil
}

func forced(family *parse.Family, c wire.Choice, prompt string) (parts []tokenizer.Part, ok bool) {
	before, behind, name, ok := shape.Opening(family)
	if !ok {
		return nil, false
	}
	if family.Read("x", prompt, nil).Unclosed {
		_, closing := family.Think()
		parts = append(parts, tokenizer.Part{Text: "\n" + closing + "\n\n"})
	}
	parts = append(parts, tokenizer.Part{Text: before})
	if len(c.Only) == 1 {
		parts = append(parts, tokenizer.Part{Text: name(c.Only[0]), Ordinary: true}, tokenizer.Part{Text: behind})
	}
	return parts, true
}
