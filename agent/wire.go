// Messages as agents outside of this program read them.

package agent

import "molt/chat"

// Wire spells messages as OpenAI's Chat Completions do: arguments of calls are text. What is empty is left out, but for the
// content; images are data: URLs.
func Wire(messages []chat.Message) chat.Value {
	list := make([]chat.Value, len(messages))
	for i := range messages {
		list[i] = wire(&messages[i])
	}
	return chat.Array(list...)
}

func wire(m *chat.Message) chat.Value {
	members := []chat.Member{{Name: "role", Value: chat.String(string(m.Role))}, {Name: "content", Value: wireContent(m)}}
	for _, text := range []struct{ name, value string }{{"name", m.Name}, {"tool_call_id", m.ToolCallID}, {"reasoning_content", m.Reasoning}} {
		if text.value != "" {
			members = append(members, chat.Member{Name: text.name, Value: chat.String(text.value)})
		}
	}
	if len(m.ToolCalls) > 0 {
		members = append(members, chat.Member{Name: "tool_calls", Value: wireCalls(m.ToolCalls)})
	}
	return chat.Object(members...)
}

func wireContent(m *chat.Message) chat.Value {
	if !m.HasImages() {
		return chat.String(m.Content)
	}
	list := make([]chat.Value, len(m.Parts))
	for i, p := range m.Parts {
		kind, value := "text", chat.String(p.Text)
		if p.Image != nil {
			kind, value = "image_url", chat.Object(chat.Member{Name: "url", Value: chat.String(p.Image.DataURL())})
		}
		list[i] = chat.Object(chat.Member{Name: "type", Value: chat.String(kind)}, chat.Member{Name: kind, Value: value})
	}
	return chat.Array(list...)
}

func wireCalls(calls []chat.ToolCall) chat.Value {
	list := make([]chat.Value, len(calls))
	for i, c := range calls {
		function := chat.Object(chat.Member{Name: "name", Value: chat.String(c.Name)}, chat.Member{Name: "arguments", Value: chat.String(c.Arguments.String())})
		list[i] = chat.Object(chat.Member{Name: "id", Value: chat.String(c.ID)}, chat.Member{Name: "type", Value: chat.String("function")}, chat.Member{Name: "function", Value: function})
	}
	return chat.Array(list...)
}

// WireTools are the specifications as they stand.
func WireTools(tools []chat.ToolSpec) chat.Value {
	list := make([]chat.Value, len(tools))
	for i, t := range tools {
		list[i] = t.Spec
	}
	return chat.Array(list...)
}
