// Conversations from data files: rows as Hugging Face data sets and OpenAI requests write them.

package chat

import (
	"fmt"
	"strings"
)

// DecodeMessages reads an array of {"role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name"}. Content
// is a string, null, or an array of {"type": "text", "text"} parts. A tool call is {"id", "name", "arguments"}, or the
// OpenAI form with these under "function"; arguments are an object or the JSON text of one. A key that is not understood
// is refused unless it is null: what is ignored silently is trained on silently.
func DecodeMessages(v Value) ([]Message, error) {
	return decodeMessages(v, decodeText)
}

// DecodeShown is DecodeMessages for a policy that may see: a part may also be
// {"type": "image_url", "image_url": {"url": "data:image/…;base64,…"}}.
func DecodeShown(v Value) ([]Message, error) {
	return decodeMessages(v, decodePart)
}

// partDecoder reads a part of content; false for one that it does not understand.
type partDecoder func(Value) (Part, bool, error)

func decodeMessages(v Value, part partDecoder) ([]Message, error) {
	if v.Kind() != KindArray {
		return nil, fmt.Errorf("chat: messages are of type %s; want an array", v.Kind())
	}
	messages := make([]Message, len(v.Items()))
	for i, item := range v.Items() {
		if err := decodeMessage(item, &messages[i], part); err != nil {
			return nil, fmt.Errorf("chat: message %d: %w", i, err)
		}
		if err := messages[i].validate(); err != nil {
			return nil, fmt.Errorf("chat: message %d: %w", i, err)
		}
	}
	return messages, nil
}

func decodeMessage(v Value, m *Message, part partDecoder) (err error) {
	if v.Kind() != KindObject {
		return fmt.Errorf("it is of type %s; want an object", v.Kind())
	}
	for _, f := range v.Members() {
		switch f.Name {
		case "role":
			m.Role, err = Role(f.Value.Text()), wantString(f)
		case "content":
			err = decodeContent(m, f.Value, part)
		case "reasoning_content", "reasoning":
			m.Reasoning, err = optionalText(f)
		case "tool_calls":
			m.ToolCalls, err = decodeCalls(f.Value)
		case "tool_call_id":
			m.ToolCallID, err = optionalText(f)
		case "name":
			m.Name, err = optionalText(f)
		default:
			err = unknownKey(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func unknownKey(f Member) error {
	if f.Value.Kind() == KindNull {
		return nil
	}
	return fmt.Errorf("key %q is not understood; remove it", f.Name)
}

func wantString(f Member) error {
	if f.Value.Kind() != KindString {
		return fmt.Errorf("%s is of type %s; want a string", f.Name, f.Value.Kind())
	}
	return nil
}

func optionalText(f Member) (string, error) {
	if f.Value.Kind() == KindNull {
		return "", nil
	}
	return f.Value.Text(), wantString(f)
}

func decodeContent(m *Message, v Value, decode partDecoder) error {
	switch v.Kind() {
	case KindNull:
		return nil
	case KindString:
		m.Content = v.Text()
		return nil
	case KindArray:
	default:
		return fmt.Errorf("content is of type %s; want a string, null or an array of parts", v.Kind())
	}
	var parts []Part
	var text strings.Builder
	for i, item := range v.Items() {
		part, ok, err := decode(item)
		if err != nil {
			return fmt.Errorf("content part %d %w", i, err)
		}
		if !ok {
			return fmt.Errorf(`content part %d is %.60s; only {"type": "text", "text": …} is understood`, i, item)
		}
		text.WriteString(part.Text)
		parts = append(parts, part)
	}
	if m.Put(parts...); !m.HasImages() {
		m.Content = text.String()
	}
	return nil
}

func decodeText(v Value) (Part, bool, error) {
	kind, _ := v.Get("type")
	text, ok := v.Get("text")
	return Part{Text: text.Text()}, kind.Text() == "text" && ok && text.Kind() == KindString, nil
}

func decodePart(v Value) (Part, bool, error) {
	kind, _ := v.Get("type")
	link, ok := v.Get("image_url")
	if kind.Text() != "image_url" || !ok {
		return decodeText(v)
	}
	url, _ := link.Get("url")
	image, err := DataURL(url.Text())
	return Part{Image: image}, true, err
}

func decodeCalls(v Value) ([]ToolCall, error) {
	if v.Kind() == KindNull {
		return nil, nil
	}
	if v.Kind() != KindArray {
		return nil, fmt.Errorf("tool_calls is of type %s; want an array", v.Kind())
	}
	var calls []ToolCall
	for i, item := range v.Items() {
		call, err := decodeCall(item)
		if err != nil {
			return nil, fmt.Errorf("tool call %d: %w", i, err)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func decodeCall(v Value) (call ToolCall, err error) {
	for _, f := range v.Members() {
		switch f.Name {
		case "id":
			call.ID, err = optionalText(f)
		case "type", "index":
		case "function":
			var inner ToolCall
			inner, err = decodeCall(f.Value)
			call.Name, call.Arguments = inner.Name, inner.Arguments
		case "name":
			call.Name, err = f.Value.Text(), wantString(f)
		case "arguments":
			call.Arguments, err = decodeArguments(f.Value)
		default:
			err = unknownKey(f)
		}
		if err != nil {
			return call, err
		}
	}
	return call, nil
}

func decodeArguments(v Value) (Value, error) {
	if v.Kind() != KindString {
		return v, nil
	}
	parsed, err := ParseValue([]byte(v.Text()))
	if err != nil {
		return v, fmt.Errorf("arguments: %w", err)
	}
	return parsed, nil
}

// DecodeTools reads an array of tool specifications: the OpenAI form, or its inner object alone.
func DecodeTools(v Value) ([]ToolSpec, error) {
	if v.Kind() == KindNull {
		return nil, nil
	}
	if v.Kind() != KindArray {
		return nil, fmt.Errorf("chat: tools are of type %s; want an array", v.Kind())
	}
	var tools []ToolSpec
	for i, spec := range v.Items() {
		function, wrapped := spec.Get("function")
		if !wrapped {
			function = spec
			spec = Object(Member{"type", String("function")}, Member{"function", spec})
		}
		name, _ := function.Get("name")
		if name.Text() == "" {
			return nil, fmt.Errorf("chat: tool %d has no name", i)
		}
		tools = append(tools, ToolSpec{name.Text(), spec})
	}
	return tools, nil
}
