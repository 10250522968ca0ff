// Requests of the Messages API.

package anthropic

import (
	"strings"

	"molt/chat"
	"molt/gateway/wire"
)

// Decode reads a request. Keys and beta flags that say nothing about the reply are ignored, whatever they are.
func Decode(body []byte, seen *wire.Seen) (*wire.Request, *wire.Problem) {
	b, p := wire.Cut(body, "messages", "system", "tools")
	if p != nil {
		return nil, p
	}
	r := &wire.Request{Names: wire.Names{}}
	if p := r.ReadOffer(b.Large["tools"], seen, 'A', readTools); p != nil {
		return nil, p
	}
	if p := readOptions(r, b.Rest); p != nil {
		return nil, p
	}
	if p := readSystem(r, b.Large["system"], seen); p != nil {
		return nil, p
	}
	if p := readMessages(r, b, seen); p != nil {
		return nil, p
	}
	return r, nil
}

func readSystem(r *wire.Request, span []byte, seen *wire.Seen) *wire.Problem {
	if len(span) == 0 {
		return nil
	}
	parsed, p := wire.Remember(seen, 's', span, func(v chat.Value) ([]*chat.Item, *wire.Problem) {
		var b blocks
		if p := b.content(v, "system", chat.System); p != nil {
			return nil, p
		}
		if !b.pieces.Any() {
			return nil, nil
		}
		p := b.flush(chat.System)
		return b.items, p
	})
	if p != nil {
		return p
	}
	return r.Add(parsed...)
}

func readMessages(r *wire.Request, b wire.Body, seen *wire.Seen) *wire.Problem {
	if len(b.List) == 0 {
		return wire.Badf("messages", "at least one message is required")
	}
	if p := b.Each("messages", func(span []byte) *wire.Problem {
		parsed, p := wire.Remember(seen, 'a', span, readMessage)
		if p != nil {
			return p
		}
		return r.Add(parsed...)
	}); p != nil {
		return p
	}
	if n := len(r.Items); n > 0 && r.Items[n-1].Message.Role == chat.Assistant {
		return wire.Badf("messages", "this model does not support assistant message prefill; the conversation must end with a user message")
	}
	return nil
}

// hosted begin the types of tools that the vendor runs; nobody here does, so they are left out.
var hosted = []string{"web_search_", "web_fetch_", "code_execution_", "tool_search_", "mcp_toolset"}

func readTools(o *wire.Offer, tools []chat.Value) *wire.Problem {
	for i, item := range tools {
		f := wire.Read(item, wire.Index("tools", i))
		kind := f.Text("type")
		if isHosted(kind) {
			continue
		}
		if _, ok := f.Get("input_schema"); !ok && kind != "" && kind != "custom" {
			return wire.Badf(f.At("type"), "is %.40q, whose schema only the vendor's models know; give an input_schema", kind)
		}
		name := f.Need("name")
		if f.Problem != nil {
			return f.Problem
		}
		o.Add(wire.Tool{Name: name, Strict: f.Flag("strict", false)}, f.Text("description"), item, "input_schema")
	}
	return nil
}

func isHosted(kind string) bool {
	for _, h := range hosted {
		if strings.HasPrefix(kind, h) {
			return true
		}
	}
	return false
}

func readOptions(r *wire.Request, f *wire.Fields) *wire.Problem {
	o := &r.Options
	f.Common(r)
	if n := f.Int("max_tokens", 1, 1<<31-1); n != nil {
		o.MaxTokens = int(*n)
	}
	o.Stop = f.Stops("stop_sequences")
	if t, ok := f.Get("thinking"); ok {
		kind := wire.Read(t, "thinking").Text("type")
		think := kind != "disabled"
		o.Hidden, o.Think = !think, &think
	}
	o.Format = f.ReadFormat("output_format")
	if v, ok := f.Get("output_config"); ok {
		c := wire.Read(v, "output_config")
		o.Effort = c.Text("effort")
		if _, ok := c.Get("format"); ok {
			o.Format = c.ReadFormat("format")
		}
		if c.Problem != nil {
			return c.Problem
		}
	}
	if p := readChoice(f, r); p != nil {
		return p
	}
	return f.Problem
}

func readChoice(f *wire.Fields, r *wire.Request) *wire.Problem {
	v, ok := f.Get("tool_choice")
	if !ok {
		return nil
	}
	c := wire.Read(v, "tool_choice")
	r.Options.Single = c.Flag("disable_parallel_tool_use", false)
	var choice wire.Choice
	switch kind := c.Text("type"); kind {
	case "auto":
	case "none":
		choice.Mode = wire.None
	case "any":
		choice.Mode = wire.Required
	case "tool":
		choice = wire.Choice{Mode: wire.Required, Only: []string{c.Text("name")}}
	default:
		return wire.Badf("tool_choice.type", "is %.40q; want auto, any, tool or none", kind)
	}
	return r.Choose(choice, "tool_choice")
}
