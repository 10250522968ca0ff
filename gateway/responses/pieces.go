// The input: a list of typed items. What an assistant says in one turn is several of them, and two turns may stand next to
// each other: after a broken stream a client keeps the items that were finished and asks for more.

package responses

import (
	"molt/chat"
	"molt/gateway/wire"
)

// rank orders the pieces of one turn.
type rank uint8

const (
	notAssistant rank = iota
	reasoning
	message
	call
	reference // to one of these
)

// piece is an item of the input as it was parsed.
type piece struct {
	rank    rank
	message chat.Message
	handles []string
	turn    string     // whose piece it is, when its id is ours
	id      string     // of a reference
	item    *chat.Item // of what is not the assistant's
	hosted  bool       // a call that the vendor would have run
}

func readInput(r *wire.Request, b wire.Body, seen *wire.Seen, lookup Lookup) *wire.Problem {
	if instructions := b.Rest.Text("instructions"); instructions != "" {
		r.Items = append(r.Items, chat.NewItem(chat.Message{Role: chat.System, Content: instructions}))
	}
	if b.List == nil {
		v, err := chat.ParseValue(b.Single)
		if err != nil || v.Kind() != chat.KindString {
			return wire.Badf("input", "want a string or an array of items")
		}
		r.Items = append(r.Items, chat.NewItem(chat.Message{Role: chat.User, Content: v.Text()}))
		return b.Rest.Problem
	}
	m := merger{request: r, lookup: lookup}
	if p := b.Each("input", func(span []byte) *wire.Problem {
		p, problem := wire.Remember(seen, 'r', span, readItem)
		if problem != nil {
			return problem
		}
		return m.add(p)
	}); p != nil {
		return p
	}
	if p := m.flush(); p != nil {
		return p
	}
	if len(r.Items) == 0 && r.Previous == "" {
		return wire.Badf("input", "is empty")
	}
	return b.Rest.Problem
}

// merger joins the pieces of each turn.
type merger struct {
	request *wire.Request
	lookup  Lookup
	turn    piece // being joined; rank notAssistant when there is none
}

func (m *merger) add(p piece) *wire.Problem {
	if p.rank == reference {
		found, ok := m.look(p.id)
		if !ok {
			return wire.Badf("id", "refers to %.60q, which is not stored here", p.id)
		}
		p = found
	}
	switch {
	case p.hosted:
		return nil
	case p.rank == notAssistant:
		if problem := m.flush(); problem != nil {
			return problem
		}
		return m.request.Add(p.item)
	case m.turn.rank != notAssistant && !m.continues(p):
		if problem := m.flush(); problem != nil {
			return problem
		}
	}
	t := &m.turn
	t.message.Role = chat.Assistant
	t.message.Reasoning += p.message.Reasoning
	t.message.Content += p.message.Content
	t.message.ToolCalls = append(t.message.ToolCalls, p.message.ToolCalls...)
	t.handles = append(t.handles, p.handles...)
	t.rank = p.rank
	if t.turn == "" {
		t.turn = p.turn
	}
	return nil
}

// continues reports whether a piece belongs to the turn being joined: by its id when it is ours, else by the order in which
// a turn has its pieces.
func (m *merger) continues(p piece) bool {
	if p.turn != "" && m.turn.turn != "" {
		return p.turn == m.turn.turn
	}
	return p.rank > m.turn.rank || p.rank == call && m.turn.rank == call
}

func (m *merger) flush() *wire.Problem {
	t := m.turn
	m.turn = piece{}
	if t.rank == notAssistant {
		return nil
	}
	return m.request.Add(chat.NewItem(t.message, t.handles...))
}

func (m *merger) look(id string) (piece, bool) {
	if m.lookup == nil {
		return piece{}, false
	}
	said, ok := m.lookup(id)
	if !ok {
		return piece{}, false
	}
	p := piece{message: said, handles: []string{id}, rank: message}
	p.turn, _ = wire.TurnOf(id)
	switch {
	case len(said.ToolCalls) > 0:
		p.rank = call
	case said.Reasoning != "":
		p.rank = reasoning
	}
	return p, true
}

func readItem(v chat.Value) (piece, *wire.Problem) {
	f := wire.Read(v, "")
	var p piece
	var problem *wire.Problem
	switch kind := f.Text("type"); kind {
	case "message", "":
		p, problem = readMessage(f)
	case "reasoning":
		p = readReasoning(f)
	case "function_call", "custom_tool_call":
		p, problem = readCall(f, kind == "custom_tool_call")
	case "function_call_output", "custom_tool_call_output":
		p, problem = readOutput(f)
	case "item_reference":
		p = piece{rank: reference, id: f.Need("id")}
	case "web_search_call", "file_search_call", "computer_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools":
		p = piece{hosted: true}
	default:
		problem = wire.Badf("type", "is %.40q, which is not understood", kind)
	}
	if problem == nil {
		problem = f.Problem
	}
	return p, problem
}

// own marks a piece of an assistant with its names.
func own(f *wire.Fields, p piece) piece {
	for _, name := range []string{"id", "encrypted_content", "call_id"} {
		handle := f.Text(name)
		if handle == "" {
			continue
		}
		p.handles = append(p.handles, handle)
		if turn, ok := wire.TurnOf(handle); ok && p.turn == "" {
			p.turn = turn
		}
	}
	return p
}

func readMessage(f *wire.Fields) (piece, *wire.Problem) {
	var pieces wire.Pieces
	if p := readContent(f, "content", &pieces); p != nil {
		return piece{}, p
	}
	var m chat.Message
	switch role := f.Need("role"); role {
	case "system", "developer":
		m.Role = chat.System
	case "user":
		m.Role = chat.User
	case "assistant":
		m.Role = chat.Assistant
		p := pieces.Into(&m, "content")
		return own(f, piece{rank: message, message: m}), p
	default:
		return piece{}, wire.Badf("role", "is %.40q; want system, developer, user or assistant", role)
	}
	p := pieces.Into(&m, "content")
	return piece{item: chat.NewItem(m)}, p
}

// readContent reads a string, or an array of parts.
func readContent(f *wire.Fields, name string, pieces *wire.Pieces) *wire.Problem {
	v, ok := f.Get(name)
	if !ok {
		return nil
	}
	if v.Kind() == chat.KindString {
		pieces.Text(v.Text())
		return nil
	}
	for i, item := range f.Items(name) {
		part := wire.Read(item, wire.Index(f.At(name), i))
		switch kind := part.Text("type"); kind {
		case "input_text", "output_text", "text", "summary_text", "reasoning_text":
			pieces.Text(part.Text("text"))
		case "refusal":
			pieces.Text(part.Text("refusal"))
		case "input_image":
			if file := part.Text("file_id"); file != "" {
				return wire.Badf(part.At("file_id"), "is %.40q; no files are kept here: send a data:image/…;base64 URL as image_url", file)
			}
			pieces.URL(part, "image_url")
		default:
			return wire.Badf(part.At("type"), "is %.40q; want text or an image", kind)
		}
		if part.Problem != nil {
			return part.Problem
		}
	}
	return f.Problem
}

func readReasoning(f *wire.Fields) piece {
	p := piece{rank: reasoning}
	for _, name := range []string{"summary", "content"} {
		if p.message.Reasoning != "" {
			break
		}
		for _, part := range f.Items(name) {
			p.message.Reasoning += wire.Read(part, f.At(name)).Text("text")
		}
	}
	return own(f, p)
}

func readCall(f *wire.Fields, free bool) (piece, *wire.Problem) {
	c := chat.ToolCall{ID: f.Need("call_id"), Name: f.Need("name")}
	if space := f.Text("namespace"); space != "" {
		c.Name = space + "." + c.Name
	}
	if free {
		c.Arguments = chat.Object(chat.Member{Name: chat.FreeText, Value: chat.String(f.Text("input"))})
	} else {
		var p *wire.Problem
		if c.Arguments, p = wire.Arguments(f.Text("arguments"), "arguments"); p != nil {
			return piece{}, p
		}
	}
	return own(f, piece{rank: call, message: chat.Message{ToolCalls: []chat.ToolCall{c}}}), nil
}

func readOutput(f *wire.Fields) (piece, *wire.Problem) {
	m := chat.Message{Role: chat.Tool, ToolCallID: f.Need("call_id")}
	var pieces wire.Pieces
	if p := readContent(f, "output", &pieces); p != nil {
		return piece{}, p
	}
	p := pieces.Into(&m, "output")
	return piece{item: chat.NewItem(m)}, p
}
