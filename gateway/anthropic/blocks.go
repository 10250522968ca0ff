// Messages of the Messages API are lists of blocks. One of a user may hold results of tools, in the order in which they came,
// and text around them: each becomes a message of its own.

package anthropic

import (
	"strings"

	"molt/chat"
	"molt/gateway/wire"
)

// billing begins a system block that is a header in disguise; in some builds it changes with every request.
const billing = "x-anthropic-billing-header:"

// blocks turns blocks into messages.
type blocks struct {
	pieces  wire.Pieces
	items   []*chat.Item
	said    chat.Message // of an assistant
	handles []string
}

func readMessage(v chat.Value) ([]*chat.Item, *wire.Problem) {
	f := wire.Read(v, "")
	var role chat.Role
	switch name := f.Need("role"); name {
	case "user":
		role = chat.User
	case "assistant":
		role = chat.Assistant
	case "system":
		role = chat.System
	default:
		if f.Problem == nil {
			return nil, wire.Badf("role", "is %.40q; want user, assistant or system", name)
		}
		return nil, f.Problem
	}
	content, _ := f.Value.Get("content")
	var b blocks
	if p := b.content(content, "content", role); p != nil {
		return nil, p
	}
	if role == chat.Assistant {
		b.said.Role = role
		if p := b.pieces.Into(&b.said, "content"); p != nil {
			return nil, p
		}
		b.items = append(b.items, chat.NewItem(b.said, b.handles...))
	} else if len(b.items) == 0 || b.pieces.Any() {
		if p := b.flush(role); p != nil {
			return nil, p
		}
	}
	return b.items, nil
}

// flush makes a message of the text and images so far.
func (b *blocks) flush(role chat.Role) *wire.Problem {
	m := chat.Message{Role: role}
	p := b.pieces.Into(&m, "content")
	b.items = append(b.items, chat.NewItem(m))
	b.pieces = wire.Pieces{}
	return p
}

// content reads a string or blocks.
func (b *blocks) content(v chat.Value, path string, role chat.Role) *wire.Problem {
	switch v.Kind() {
	case chat.KindString:
		b.text(v.Text(), role)
		return nil
	case chat.KindArray:
	default:
		return wire.Badf(path, "is of type %s; want a string or an array of blocks", v.Kind())
	}
	for i, item := range v.Items() {
		f := wire.Read(item, wire.Index(path, i))
		p := b.block(f, role)
		if p == nil {
			p = f.Problem
		}
		if p != nil {
			return p
		}
	}
	return nil
}

func (b *blocks) text(s string, role chat.Role) {
	if role == chat.System && strings.HasPrefix(s, billing) {
		_, s, _ = strings.Cut(s, "\n")
	}
	b.pieces.Text(s)
}

func (b *blocks) block(f *wire.Fields, role chat.Role) *wire.Problem {
	switch kind := f.Need("type"); {
	case f.Problem != nil:
		return f.Problem
	case kind == "text":
		b.text(f.Text("text"), role)
	case kind == "image" && role != chat.Assistant:
		return image(f, &b.pieces)
	case kind == "tool_result" && role == chat.User:
		return b.result(f)
	case role == chat.Assistant:
		return b.assistant(f, kind)
	default:
		return wire.Badf(f.At("type"), "is %.40q, which a %s message cannot have here", kind, role)
	}
	return nil
}

func (b *blocks) assistant(f *wire.Fields, kind string) *wire.Problem {
	switch kind {
	case "thinking":
		b.said.Reasoning += f.Text("thinking")
		b.handle(f.Text("signature"))
	case "redacted_thinking":
		b.handle(f.Text("data"))
	case "tool_use":
		input, _ := f.Get("input")
		if input.Kind() != chat.KindObject {
			return wire.Badf(f.At("input"), "is of type %s; want an object", input.Kind())
		}
		call := chat.ToolCall{ID: f.Need("id"), Name: f.Need("name"), Arguments: input}
		b.said.ToolCalls = append(b.said.ToolCalls, call)
		b.handle(call.ID)
	case "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result":
		// what the vendor ran and found is not part of what this model said
	default:
		return wire.Badf(f.At("type"), "is %.40q, which an assistant message cannot have", kind)
	}
	return nil
}

func (b *blocks) handle(name string) {
	if name != "" {
		b.handles = append(b.handles, name)
	}
}

// result makes a message of a tool's result, behind one of the text before it.
func (b *blocks) result(f *wire.Fields) *wire.Problem {
	if b.pieces.Any() {
		if p := b.flush(chat.User); p != nil {
			return p
		}
	}
	m := chat.Message{Role: chat.Tool, ToolCallID: f.Need("tool_use_id")}
	var inner blocks
	if v, ok := f.Get("content"); ok {
		if p := inner.content(v, f.At("content"), chat.Tool); p != nil {
			return p
		}
	}
	p := inner.pieces.Into(&m, f.At("content"))
	b.items = append(b.items, chat.NewItem(m))
	return p
}

func image(f *wire.Fields, pieces *wire.Pieces) *wire.Problem {
	v, _ := f.Get("source")
	source := wire.Read(v, f.At("source"))
	switch kind := source.Need("type"); {
	case source.Problem != nil:
	case kind == "base64":
		pieces.Base64(source, "data", "media_type")
	case kind == "url":
		return wire.Badf(source.At("url"), "is %.60q; images are not fetched: send base64", source.Text("url"))
	default:
		return wire.Badf(source.At("type"), "is %.40q; images are not fetched: send base64", kind)
	}
	return source.Problem
}
