// Calls that a client demands. The beginning of a call is shown to the policy as if it had said so: it is observation, not
// trained on, and what the policy goes on with is its own.

package capture

import (
	"molt/chat"
	"molt/chat/parse"
	"molt/gateway/wire"
	"molt/tokenizer"
)

// opening is how a family begins a call: what comes before the tool's name and behind it.
type opening struct {
	before, behind string
	json           bool // the name stands in a JSON string
	closing        string
}

const closeThought = "\n</think>\n\n"

var openings = map[string]opening{
	"hermes":      {"<tool_call>\n{\"name\": \"", "\", \"arguments\": ", true, closeThought},
	"qwen3-coder": {"<tool_call>\n<function=", ">\n", false, closeThought},
	"seed-oss":    {"<seed:tool_call>\n<function=", ">\n", false, "\n</seed:think>\n\n"},
	"glm":         {"<tool_call>", "\n", false, closeThought},
	"llama3-json": {"{\"name\": \"", "\", \"parameters\": ", true, closeThought},
	"mistral":     {"[TOOL_CALLS]", "[ARGS]", false, closeThought},
	"deepseek":    {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁sep｜>", false, closeThought},
}

// force renders the beginning of a reply that calls a tool. Reasoning that the prompt leaves open is closed first.
func (g *Gateway) force(c wire.Choice, prompt string) (text string, ids []int32, problem *wire.Problem) {
	if c.Mode != wire.Required && c.Mode != wire.Named {
		return "", nil, nil
	}
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
	o, ok := openings[family.Name]
	if !ok {
		return nil, false
	}
	if opens := family.Read("x", prompt, nil); opens.Unclosed {
		parts = append(parts, tokenizer.Part{Text: o.closing})
	}
	parts = append(parts, tokenizer.Part{Text: o.before})
	if c.Mode == wire.Named {
		name := c.Name
		if o.json {
			quoted := chat.String(name).String()
			name = quoted[1 : len(quoted)-1]
		}
		parts = append(parts, tokenizer.Part{Text: name, Ordinary: true}, tokenizer.Part{Text: o.behind})
	}
	return parts, true
}
