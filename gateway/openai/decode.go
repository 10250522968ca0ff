// Requests of Chat Completions.

package openai

import (
	"slices"

	"molt/chat"
	"molt/gateway/wire"
)

// Decode reads a request. Keys that say nothing about the reply are ignored, whatever they are.
func Decode(body []byte, seen *wire.Seen) (*wire.Request, *wire.Problem) {
	b, p := wire.Cut(body, "messages", "tools")
	if p != nil {
		return nil, p
	}
	r := &wire.Request{Names: wire.Names{}}
	if p := readMessages(r, b, seen); p != nil {
		return nil, p
	}
	if p := r.ReadOffer(b.Large["tools"], seen, 't', readTools); p != nil {
		return nil, p
	}
	if p := readOptions(r, b.Rest); p != nil {
		return nil, p
	}
	return r, nil
}

func readMessages(r *wire.Request, b wire.Body, seen *wire.Seen) *wire.Problem {
	if len(b.List) == 0 {
		return wire.Badf("messages", "want an array of at least one message")
	}
	return b.Each("messages", func(span []byte) *wire.Problem {
		parsed, p := wire.Remember(seen, 'c', span, readMessage)
		if p != nil {
			return p
		}
		return r.Add(parsed)
	})
}

func readMessage(v chat.Value) (*chat.Item, *wire.Problem) {
	f := wire.Read(v, "")
	m := chat.Message{Name: f.Text("name")}
	var handles []string
	var pieces wire.Pieces
	p := readContent(f, &pieces)
	switch role := f.Need("role"); role {
	case "system", "developer":
		m.Role = chat.System
	case "user":
		m.Role = chat.User
	case "tool":
		m.Role, m.ToolCallID = chat.Tool, f.Text("tool_call_id")
	case "assistant":
		m.Role = chat.Assistant
		m.Reasoning = f.Text("reasoning_content")
		if m.Reasoning == "" {
			m.Reasoning = f.Text("reasoning")
		}
		if p == nil {
			m.ToolCalls, handles, p = readCalls(f)
		}
		if _, legacy := f.Get("function_call"); legacy && p == nil {
			p = wire.Badf("function_call", "is not understood; send tool_calls")
		}
	default:
		if f.Problem == nil {
			p = wire.Badf("role", "is %.40q; want system, developer, user, assistant or tool", role)
		}
	}
	if p == nil {
		p = f.Problem
	}
	if misplaced := pieces.Into(&m, "content"); p == nil {
		p = misplaced
	}
	return chat.NewItem(m, handles...), p
}

// readContent reads a string, null, or an array of parts.
func readContent(f *wire.Fields, pieces *wire.Pieces) *wire.Problem {
	v, _ := f.Value.Get("content")
	switch v.Kind() {
	case chat.KindNull:
	case chat.KindString:
		pieces.Text(v.Text())
	case chat.KindArray:
		for i, item := range v.Items() {
			if p := readPart(wire.Read(item, wire.Index("content", i)), pieces); p != nil {
				return p
			}
		}
	default:
		return wire.Badf("content", "is of type %s; want a string, null or an array of parts", v.Kind())
	}
	return nil
}

func readPart(f *wire.Fields, pieces *wire.Pieces) *wire.Problem {
	switch kind := f.Need("type"); {
	case f.Problem != nil:
	case kind == "text":
		pieces.Text(f.Text("text"))
	case kind == "refusal":
		pieces.Text(f.Text("refusal"))
	case kind == "image_url":
		link, _ := f.Get("image_url")
		url := wire.Read(link, f.At("image_url"))
		if detail := url.Text("detail"); !slices.Contains(details, detail) {
			return wire.Badf(url.At("detail"), "is %.40q; want auto, low or high", detail)
		}
		pieces.URL(url, "url")
		return url.Problem
	default:
		return wire.Badf(f.At("type"), "is %.40q; want text or image_url", kind)
	}
	return f.Problem
}

// details say how closely a vendor's model looks at an image. Here a model looks at all of it.
var details = []string{"", "auto", "low", "high", "original"}

func readCalls(f *wire.Fields) (calls []chat.ToolCall, handles []string, p *wire.Problem) {
	for i, item := range f.Items("tool_calls") {
		path := wire.Index("tool_calls", i)
		c := wire.Read(item, path)
		call := chat.ToolCall{ID: c.Text("id")}
		if custom, ok := c.Get("custom"); ok {
			inner := wire.Read(custom, wire.Join(path, "custom"))
			call.Name = inner.Need("name")
			call.Arguments = chat.Object(chat.Member{Name: chat.FreeText, Value: chat.String(inner.Text("input"))})
			p = inner.Problem
		} else {
			function, _ := c.Get("function")
			inner := wire.Read(function, wire.Join(path, "function"))
			call.Name = inner.Need("name")
			call.Arguments, p = wire.Arguments(inner.Text("arguments"), inner.At("arguments"))
			if inner.Problem != nil {
				p = inner.Problem
			}
		}
		if p == nil {
			p = c.Problem
		}
		if p != nil {
			return nil, nil, p
		}
		calls = append(calls, call)
		if call.ID != "" {
			handles = append(handles, call.ID)
		}
	}
	return calls, handles, nil
}

func readTools(o *wire.Offer, tools []chat.Value) *wire.Problem {
	for i, item := range tools {
		f := wire.Read(item, wire.Index("tools", i))
		kind, free := "function", f.Text("type") == "custom"
		if free {
			kind = "custom"
		}
		inner, _ := f.Get(kind)
		spec := wire.Read(inner, f.At(kind))
		name := spec.Need("name")
		if p := first(f.Problem, spec.Problem); p != nil {
			return p
		}
		o.Add(wire.Tool{Name: name, Free: free, Strict: spec.Flag("strict", false)}, spec.Text("description"), inner, "parameters")
	}
	return nil
}

// allowedTools is where a choice among some tools stands.
func allowedTools(choice *wire.Fields) *wire.Fields {
	inner, _ := choice.Get("allowed_tools")
	return wire.Read(inner, choice.At("allowed_tools"))
}

// toolName is the name of a tool that is spelt as it is offered.
func toolName(f *wire.Fields) string {
	kind := f.Text("type")
	inner, _ := f.Get(kind)
	return wire.Read(inner, f.At(kind)).Text("name")
}

func first(a, b *wire.Problem) *wire.Problem {
	if a != nil {
		return a
	}
	return b
}

func readOptions(r *wire.Request, f *wire.Fields) *wire.Problem {
	o := &r.Options
	f.Common(r)
	if n := f.Int("n", 1, wire.MaxChoices); n != nil {
		o.Choices = int(*n)
	}
	for _, name := range []string{"max_completion_tokens", "max_tokens"} {
		if n := f.Int(name, 1, 1<<31-1); n != nil && o.MaxTokens == 0 {
			o.MaxTokens = int(*n)
		}
	}
	o.Stop = f.Stops("stop")
	o.Logprobs = f.Flag("logprobs", false)
	o.Single = !f.Flag("parallel_tool_calls", true)
	f.Alternatives(o)
	o.Effort = f.Text("reasoning_effort")
	if s, ok := f.Get("stream_options"); ok {
		o.Usage = wire.Read(s, "stream_options").Flag("include_usage", false)
	}
	o.Format = f.ReadFormat("response_format")
	for _, legacy := range []string{"functions", "function_call"} {
		if v, ok := f.Get(legacy); ok && v.Text() != "auto" {
			return wire.Badf(legacy, "is not understood; send tools and tool_choice")
		}
	}
	if p := f.ReadChoice(r, toolName, allowedTools); p != nil {
		return p
	}
	return f.Problem
}
